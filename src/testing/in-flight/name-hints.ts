import type { TokenRecord } from '../../contract/records.ts'
import { boundRunId, isRunBinding } from '../../contract/run-binding.ts'
import { runTokenId } from '../../contract/run-states.ts'
import { readQuestionKey } from '../../contract/question-keys.ts'
import type { RunInFlight } from './course.ts'
import { childQuestion, type InFlightQuestion, tokenQuestion } from './question.ts'

/** A task whose runs wait without names in flows side by side. */
export interface InFlightHint {
  readonly taskId: string
  /** How many of its runs do. */
  readonly runs: number
  /** The waits of one of them. */
  readonly waits: readonly InFlightQuestion[]
}

/** Finds waits without names that stand side by side: a change of code could take one for the other. */
export class NameHints {
  readonly #byTask = new Map<string, { runs: number; readonly waits: readonly InFlightQuestion[] }>()

  add(stored: RunInFlight): void {
    const waits = sideBySide(stored)
    if (waits.length < 2) return
    const { taskId } = stored.record
    const known = this.#byTask.get(taskId)
    if (known === undefined) this.#byTask.set(taskId, { runs: 1, waits })
    else known.runs += 1
  }

  get hints(): readonly InFlightHint[] {
    return [...this.#byTask].map(([taskId, { runs, waits }]) => ({ taskId, runs, waits }))
  }
}

/** The waits that a run has at once and that have no name. Sleeps are all alike: none is taken for another. */
function sideBySide({ asked, waits }: RunInFlight): readonly InFlightQuestion[] {
  const waited = new Set(waits.map(({ id }) => id))
  const isUnnamed = ({ key }: Pick<TokenRecord, 'key'>): boolean => readQuestionKey(key?.value) !== undefined
  const tokens = asked.tokens.filter((token) => token.kind === 'MANUAL' && waited.has(token.id))
  const bound = asked.tokens.filter(
    (token) => isRunBinding(token) && waited.has(runTokenId(boundRunId(token))),
  )
  const children = asked.runs.filter(({ id }) => waited.has(runTokenId(id)))
  return [
    ...[...tokens, ...bound].filter(isUnnamed).map(tokenQuestion),
    ...children.filter(isUnnamed).map(childQuestion),
  ]
}
