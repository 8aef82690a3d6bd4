import type { RunExplanation } from '../../api/explanation.ts'
import { WireRecord } from './record.ts'

/** The names of its instants, wherever they are. */
const INSTANT = /^(at|until|\w+At)$/

/** The explanation of a run, with its instants as dates. */
export function readExplanation(body: unknown): RunExplanation {
  new WireRecord(body, 'an explanation').requiredText('sentence')
  // A service of a newer version may have reasons that are not known here.
  return JSON.parse(JSON.stringify(body), (name, value: unknown) =>
    typeof value === 'string' && INSTANT.test(name) ? new Date(value) : value,
  ) as RunExplanation
}
