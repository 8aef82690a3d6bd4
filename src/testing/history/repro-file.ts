import { historyEnd } from './recorded-run.ts'
import type { RunHistory } from './shape.ts'

/** The modules that a test file imports. */
export interface ReproModules {
  /** It exports the tasks. */
  readonly tasks: string
  /** Its default export is the codec. */
  readonly codec?: string | undefined
}

/** The text of a test file that replays a history, and explores its neighbours. */
export function reproFile(history: RunHistory, { tasks, codec }: ReproModules): string {
  const { id, taskId } = history.run
  const [importCodec, options, option] =
    codec === undefined
      ? ['', '', '']
      : [`\nimport codec from ${JSON.stringify(codec)}`, ', { codec }', '\n    codec,']
  return `// What happened to run ${id} of task ${JSON.stringify(taskId)}, as its storage had it at ${history.readAt}.
import { expect, test } from 'vitest'
import { exploreHistory, replayHistory, type RunHistory } from 'waitpoint/testing'
import * as tasks from ${JSON.stringify(tasks)}${importCodec}

/** How the run ended. Is that the bug? Write here how it should end: the test fails until it does. */
const end = ${literal(historyEnd(history))}

test(${JSON.stringify(`run ${id} of task ${taskId}`)}, async () => {
  const replayed = await replayHistory(history, tasks${options})
  expect(replayed.departure?.message).toBeUndefined()
  expect(replayed.end).toEqual(end)
  // Then its neighbours, the schedules that depart once from this one: a run that is told the same must end the same.
  await exploreHistory(history, tasks, {${option}
    check: (neighbour) => {
      if (neighbour.isAnsweredAlike) expect(neighbour.end).toEqual(end)
    },
  })
})

const history: RunHistory = ${literal(history)}
`
}

/** A value as a literal of a program. */
function literal(value: unknown): string {
  // In a literal, unlike in JSON, this name would set the prototype.
  return JSON.stringify(value, undefined, 2).replaceAll(/^(\s*)"__proto__": /gmu, '$1["__proto__"]: ')
}
