import type { Inside } from '../core/inside.ts'
import { readBasePath } from '../http/create-handler.ts'
import { parseDuration } from '../primitives/duration.ts'
import { type OptionNames, requireFlag, requireFunction, requireOptions } from '../primitives/require.ts'
import { requirePerson } from '../questions/approvers.ts'
import type { Person } from '../api/question.ts'
import type { Duration } from '../api/token.ts'
import { Refused } from './refused.ts'

/**
 * What a visitor of the console wants to do: see anything at all, or change something. `replay` starts a run with the payload
 * of another one, `trigger` with any payload; `tag` adds tags to runs; `queue` pauses and resumes queues, and sets their limits. See docs/console-and-cli.md.
 */
export type ConsoleAction = 'read' | 'cancel' | 'replay' | 'trigger' | 'complete' | 'tag' | 'queue'

/** Options of `createConsole`; all have defaults. See docs/console-and-cli.md. */
export interface ConsoleOptions {
  /**
   * The path in front of every page, where a host passes it on: `/console`.
   *
   * @default none
   */
  readonly basePath?: string
  /**
   * Pages without buttons: nothing can be changed, and no page shows an address that could.
   *
   * @default `false`
   */
  readonly readOnly?: boolean
  /**
   * Decides for each request, in place of the login with a secret key. Return `false` to refuse with 403. It is asked for
   * `read` with every page, and for an action when its button is drawn and when it is pressed.
   *
   * @default a page that asks for a secret key of the engine
   */
  readonly authorize?: (request: Request, action: ConsoleAction) => boolean | Promise<boolean>
  /**
   * The person that uses the console, from your session: an approver of questions, stored as the one who answered.
   *
   * @default not known: questions with approvers cannot be answered in the console
   */
  readonly user?: (request: Request) => Person | undefined | Promise<Person | undefined>
  /**
   * How long a login lasts.
   *
   * @default `'12h'`
   */
  readonly sessionLength?: Duration
}

/** The options of a console with their defaults applied. */
export interface ConsoleSettings {
  readonly basePath: string
  readonly isReadOnly: boolean
  readonly authorize: ConsoleOptions['authorize']
  /** `undefined`: not known. */
  readonly user: (request: Request) => Promise<Person | undefined>
  readonly sessionMs: number
}

const NAMES: OptionNames<ConsoleOptions> = {
  basePath: true,
  readOnly: true,
  authorize: true,
  user: true,
  sessionLength: true,
}

/**
 * Checks the options of a console and applies the defaults.
 *
 * @throws TypeError or RangeError for options that cannot be used, and if nothing says who may enter.
 */
export function readConsoleOptions(options: ConsoleOptions, inside: Inside): ConsoleSettings {
  requireOptions(options, 'the options of createConsole', NAMES)
  const { basePath, readOnly: isReadOnly = false, authorize, user, sessionLength = '12h' } = options
  requireFlag(isReadOnly, 'readOnly')
  requireFunction(authorize, 'authorize')
  requireFunction(user, 'user')
  const sessionMs = parseDuration(sessionLength, 'sessionLength')
  if (sessionMs < 1_000)
    throw new RangeError('Cannot use sessionLength: a login must last for a second at least')
  if (authorize === undefined && inside.credentials.secretKeys.length === 0)
    throw new TypeError(
      'Cannot create the console: anyone could open it; give the engine a secretKey, or the console authorize',
    )
  const settings = { basePath: readBasePath(basePath), isReadOnly, authorize, sessionMs }
  return { ...settings, user: checkedUser(user, inside) }
}

/** What says who uses the console. The first answer that is no person is an `error` event; each is a page that says so. */
function checkedUser(user: ConsoleOptions['user'], inside: Inside): ConsoleSettings['user'] {
  let isTold = false
  return async (request) => {
    const person = (await user?.(request)) ?? undefined
    if (person === undefined) return undefined
    try {
      requirePerson(person, 'what user of the console answers')
    } catch (error) {
      if (!isTold) inside.report(error)
      isTold = true
      throw new Refused(
        500,
        'The console cannot tell who you are.',
        'What its option user answers is no person. The engine has reported what is wrong as an error event.',
      )
    }
    return person
  }
}
