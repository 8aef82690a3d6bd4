import type { CliCommand } from '../../command.ts'
import { PLACE_OPTIONS, readPlace } from '../../reach/place.ts'
import { reaching } from '../../reach/reach.ts'
import { requireId, TOKEN_WORD } from '../../words.ts'
import { tellCompleted } from './shown.ts'

/** `waitpoint tokens complete`. */
export const completeTokenByHand: CliCommand = {
  name: 'tokens complete',
  summary: 'give a token its output: the run that waits for it goes on',
  words: [TOKEN_WORD],
  options: {
    ...PLACE_OPTIONS,
    by: { value: '<id>', says: 'the id of the one who answers (default: not known)' },
    output: { value: '<json>', says: `the output: '{"approved":true}' (default: none)` },
  },
  about:
    'The first completion counts. A token that was settled before stays as it is: then the exit code is 1.',
  async run(given, terminal) {
    const id = requireId(given.word('token'), 'token')
    const output = given.json('output')
    const place = readPlace(given, terminal.env)
    const by = given.option('by')
    const options = by === undefined ? {} : { by: { id: by, via: 'cli' } }
    const completed = await reaching(place, terminal, ({ wait }) => wait.completeToken(id, output, options))
    return tellCompleted(given, terminal, { id, done: 'is completed', completed })
  },
}
