import type { CompletedToken } from '../../../api/token.ts'
import { messageOf } from '../../../primitives/message.ts'
import { parseDeadline } from '../../../primitives/duration.ts'
import type { CliCommand } from '../../command.ts'
import { UsageError } from '../../exit.ts'
import type { Given } from '../../given.ts'
import type { Terminal } from '../../output/terminal.ts'
import { present } from '../../present.ts'
import { PLACE_OPTIONS, readPlace } from '../../reach/place.ts'
import { reaching, type ReachedWait } from '../../reach/reach.ts'
import { requireId, TOKEN_WORD } from '../../words.ts'
import { tellCompleted } from './shown.ts'

interface ChangeCommand extends Pick<CliCommand, 'summary' | 'words'> {
  /** Beside those that say where the token is. */
  readonly options?: CliCommand['options']
  readonly name: string
  /** What has become of the token: `Token waitpoint_1 is …`. */
  readonly done: string
  /** What to do with the token. It checks the other words first. */
  readonly call: (
    given: Given,
    terminal: Terminal,
  ) => (wait: ReachedWait, id: string) => Promise<CompletedToken>
}

/** A command that changes a token which waits. */
function changeCommand({ name, done, call, words = [], options, ...help }: ChangeCommand): CliCommand {
  return {
    ...help,
    name: `tokens ${name}`,
    words: [TOKEN_WORD, ...words],
    options: { ...PLACE_OPTIONS, ...options },
    about: 'A token that was settled before stays as it is: then the exit code is 1.',
    async run(given, terminal) {
      const id = requireId(given.word('token'), 'token')
      const change = call(given, terminal)
      const place = readPlace(given, terminal.env)
      const completed = await reaching(place, terminal, ({ wait }) => change(wait, id))
      return tellCompleted(given, terminal, { id, done, completed })
    },
  }
}

/** The commands that change a token which waits, in the order of the help. */
export const TOKEN_CHANGE_COMMANDS: readonly CliCommand[] = [
  changeCommand({
    name: 'withdraw',
    summary: 'end the wait for a token without an answer',
    done: 'is withdrawn',
    options: {
      by: { value: '<id>', says: 'the id of the one who withdraws it (default: not known)' },
      reason: { value: '<text>', says: 'why, for people (default: none)' },
    },
    call(given) {
      const by = given.option('by')
      const withdrawal = present({
        reason: given.option('reason'),
        by: by === undefined ? undefined : { id: by, via: 'cli' },
      })
      return (wait, id) => wait.withdrawToken(id, withdrawal)
    },
  }),
  changeCommand({
    name: 'extend',
    summary: 'give a token that waits another deadline, later or earlier',
    words: [{ name: 'deadline', says: 'a duration from now (2d), or an ISO 8601 date' }],
    done: 'has the new deadline',
    call(given, { clock }) {
      const deadline = given.word('deadline')
      try {
        parseDeadline(deadline, { now: clock.now(), name: 'the deadline' })
      } catch (error) {
        throw new UsageError(messageOf(error))
      }
      return (wait, id) => wait.extendToken(id, deadline)
    },
  }),
  changeCommand({
    name: 'reassign',
    summary: 'give a token that waits other approvers, such as --to ann --to role:lead',
    options: { to: { value: '<id or role>', isRepeatable: true, says: 'one who may answer from now on' } },
    done: 'is for others to answer',
    call(given) {
      const approvers = given.list('to')
      if (approvers === undefined) throw new UsageError('--to is missing: who may answer from now on?')
      return (wait, id) => wait.reassignToken(id, approvers)
    },
  }),
]
