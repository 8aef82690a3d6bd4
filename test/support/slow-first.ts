import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The usual order of the projects, and in each of them first what is slow: with nothing beside it, it would hold up the end. In a
 * clean checkout the runner does not know yet how long a file takes.
 */
export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const projects = new Map<string, TestSpecification[]>()
    for (const file of await super.sort(files)) {
      const { name } = file.project
      projects.set(name, [...(projects.get(name) ?? []), file])
    }
    return [...projects.values()].flatMap((those) => those.toSorted((a, b) => rank(a) - rank(b)))
  }
}

function rank({ moduleId }: TestSpecification): number {
  return moduleId.endsWith('.slow.test.ts') ? 0 : 1
}
