import type { RunExplanation } from '../../../api/explanation.ts'
import type { CliCommand } from '../../command.ts'
import { EXIT } from '../../exit.ts'
import { oneLine } from '../../output/text.ts'
import type { Terminal } from '../../output/terminal.ts'
import { PLACE_OPTIONS, readPlace, type StoragePlace } from '../../reach/place.ts'
import { inspectPlace, reaching } from '../../reach/reach.ts'
import { livingOwners } from '../../doctor/findings.ts'
import { requireId, RUN_WORD } from '../../words.ts'

/** `waitpoint runs explain`. */
export const explainRunByHand: CliCommand = {
  name: 'runs explain',
  summary: 'say in one sentence why a run stands where it stands',
  words: [RUN_WORD],
  options: PLACE_OPTIONS,
  about:
    'Limits of queues and free slots are known to the engine that executes a run: with --url it is asked, and a queued run in a storage is told by its queue alone.',
  async run(given, terminal) {
    const id = requireId(given.word('run'), 'run')
    const place = readPlace(given, terminal.env)
    const explanation = await reaching(place, terminal, ({ runs }) => runs.explain(id))
    const told = place.kind === 'http' ? explanation : await fromOutside(explanation, place, terminal)
    if (given.has('json')) terminal.printJson(told)
    else terminal.print(oneLine(told.sentence))
    return EXIT.ok
  },
}

/** The engine that looks from outside knows no tasks: what it would say of itself is of no use. */
async function fromOutside(
  explanation: RunExplanation,
  place: StoragePlace,
  terminal: Terminal,
): Promise<RunExplanation> {
  if (explanation.reason !== 'unknown task') return explanation
  const living = livingOwners(await inspectPlace(place, terminal)).length
  const task = explanation.taskIdentifier
  const sentence =
    living === 0
      ? `The run waits for an engine that has task "${task}", and no engine is alive at this storage.`
      : `The run waits for a slot of an engine that has task "${task}": ${living === 1 ? 'one engine is' : `${living} engines are`} alive at this storage, which may have the task or not.`
  return { ...explanation, sentence }
}
