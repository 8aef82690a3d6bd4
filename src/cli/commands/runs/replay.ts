import type { CliCommand } from '../../command.ts'
import { EXIT } from '../../exit.ts'
import { replayOutside } from '../../reach/outside-runs.ts'
import { PLACE_OPTIONS, readPlace } from '../../reach/place.ts'
import { reaching } from '../../reach/reach.ts'
import { requireId, RUN_WORD } from '../../words.ts'

/** `waitpoint runs replay`. */
export const replayRunByHand: CliCommand = {
  name: 'runs replay',
  summary: 'start a new run with the payload, tags and queue of another one',
  words: [RUN_WORD],
  options: PLACE_OPTIONS,
  async run(given, terminal) {
    const original = requireId(given.word('run'), 'run')
    const place = readPlace(given, terminal.env)
    const { id } = await reaching(place, terminal, async ({ engine, runs }) =>
      engine === undefined ? runs.replay(original) : replayOutside(engine, original),
    )
    if (given.has('json')) terminal.printJson({ id, replayOf: original })
    else terminal.print(id)
    return EXIT.ok
  },
}
