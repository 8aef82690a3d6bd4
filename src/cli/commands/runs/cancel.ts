import { isFinal } from '../../../contract/run-states.ts'
import type { CliCommand } from '../../command.ts'
import { EXIT } from '../../exit.ts'
import { PLACE_OPTIONS, readPlace } from '../../reach/place.ts'
import { reaching } from '../../reach/reach.ts'
import { requireId, RUN_WORD } from '../../words.ts'

/** `waitpoint runs cancel`. */
export const cancelRunByHand: CliCommand = {
  name: 'runs cancel',
  summary: 'cancel a run, and the children that it waits for',
  words: [RUN_WORD],
  options: PLACE_OPTIONS,
  about: 'A run that has ended stays as it is: then the exit code is 1.',
  async run(given, terminal) {
    const id = requireId(given.word('run'), 'run')
    const place = readPlace(given, terminal.env)
    const { wasOver, status } = await reaching(place, terminal, async ({ runs }) => {
      const before = await runs.retrieve(id)
      if (!isFinal(before.status)) await runs.cancel(id)
      const after = await runs.retrieve(id)
      return { wasOver: isFinal(before.status), status: after.status }
    })
    const canceled = !wasOver && status === 'CANCELED'
    if (given.has('json')) terminal.printJson({ id, canceled, status })
    else if (canceled) terminal.print(`Run ${id} is canceled.`)
    else terminal.note(`Run ${id} had ended before: it is ${status}.`)
    return canceled ? EXIT.ok : EXIT.failed
  },
}
