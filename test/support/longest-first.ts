import { existsSync } from 'node:fs'
import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * What takes ten seconds or more in some project, and begins first: with nothing beside it, it would hold up the end. In a clean
 * checkout the runner does not know yet how long a file takes. What computes takes turns with what waits.
 */
const LONGEST: readonly string[] = [
  'test/documents.test.ts',
  'test/databases/postgres-silence.test.ts',
  'test/databases/postgres-js.test.ts',
  'test/databases/postgres-skew.test.ts',
  'test/bench/figures.test.ts',
  'test/databases/postgres-stopped.test.ts',
  'test/databases/postgres-conformance.test.ts',
  'test/databases/postgres-kill.test.ts',
  'test/databases/sqlite-conformance.test.ts',
  'test/databases/postgres-cut.test.ts',
  'test/cli/dev.test.ts',
  'test/bundles.test.ts',
  'test/databases/postgres-frozen.test.ts',
  'test/cli/storage.test.ts',
  'test/databases/sqlite-kill.test.ts',
  'test/databases/schedule-kill.test.ts',
  'test/databases/postgres-bad-days.test.ts',
  'test/clock/stall-watch.test.ts',
  'test/clients/judge.test.ts',
  'test/clients/task-files.test.ts',
  'test/testing/planted.test.ts',
  'test/scenarios/failing-calls.test.ts',
  'test/scenarios/random-programs.test.ts',
  'test/http/routes.test.ts',
  'test/scenarios/random-edits.test.ts',
  'test/testing/history/replay-programs.test.ts',
  'test/scenarios/http-stalled-reader.test.ts',
  'test/http/routes.property.test.ts',
  'test/core/schedules/schedules.test.ts',
  'test/scenarios/long-loops.test.ts',
]

/** The usual order of the projects, and in each of them first what takes the longest. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const gone = LONGEST.filter((path) => !existsSync(path))
    if (gone.length > 0) throw new Error(`Cannot begin with files that are not there: ${gone.join(', ')}`)
    const usual = await super.sort(files)
    const projects = new Map<string, TestSpecification[]>()
    for (const file of usual) {
      const { name } = file.project
      projects.set(name, [...(projects.get(name) ?? []), file])
    }
    return [...projects.values()].flatMap((those) => those.toSorted((a, b) => rank(a) - rank(b)))
  }
}

function rank({ moduleId }: TestSpecification): number {
  const at = LONGEST.indexOf(relative('.', moduleId))
  return at === -1 ? LONGEST.length : at
}
