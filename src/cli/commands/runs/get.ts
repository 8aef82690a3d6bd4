import type { CliCommand } from '../../command.ts'
import { EXIT } from '../../exit.ts'
import { runFacts } from '../../output/run-facts.ts'
import { PLACE_OPTIONS, readPlace } from '../../reach/place.ts'
import { reaching } from '../../reach/reach.ts'
import { requireId, RUN_WORD } from '../../words.ts'

/** `waitpoint runs get`. */
export const getRun: CliCommand = {
  name: 'runs get',
  summary: 'show one run: what it was given, what it waits for, how it ended',
  words: [RUN_WORD],
  options: PLACE_OPTIONS,
  async run(given, terminal) {
    const id = requireId(given.word('run'), 'run')
    const place = readPlace(given, terminal.env)
    const run = await reaching(place, terminal, ({ runs }) => runs.retrieve(id))
    if (given.has('json')) terminal.printJson(run)
    else terminal.print(runFacts(run, terminal.clock.now()))
    return EXIT.ok
  },
}
