import type { TokenRecord } from '../../contract/records.ts'
import type { TokenRead } from '../../contract/storage.ts'
import type { Credentials } from '../host/credentials.ts'
import { WaitpointTimeoutError } from '../../api/errors.ts'
import { isUserKey } from '../../contract/key-scopes.ts'
import { fromJson } from '../../api/serialize.ts'
import type { Person } from '../../api/question.ts'
import type { ReadValues, Values } from '../../api/values.ts'
import type { RetrievedToken, Token, TokenLinks, WaitResult, LinkedToken } from '../../api/token.ts'
import { requirePerson } from '../../questions/approvers.ts'
import { withoutStack } from '../../primitives/without-stack.ts'
import { answeredBy, questionMembers, withdrawalOf } from './question.ts'
import type { Settlement } from '../attempt/attempt.ts'

/** A token as a list shows it: without its output. */
export function viewToken(
  record: TokenRecord,
  credentials: Credentials,
  values: ReadValues,
): Token & TokenLinks {
  const { id, status, tags, createdAt, timeoutAt = createdAt, completedAt, key, runId } = record
  let url: string | undefined
  const view = {
    id,
    status,
    get url(): string {
      return (url ??= credentials.tokenUrl(id))
    },
    tags: [...tags],
    createdAt: new Date(createdAt),
    timeoutAt: new Date(timeoutAt),
    ...(completedAt === undefined ? {} : { completedAt: new Date(completedAt) }),
    ...(key === undefined || !isUserKey(key.scope) ? {} : { idempotencyKey: key.value }),
    ...(key?.expiresAt === undefined ? {} : { idempotencyKeyExpiresAt: new Date(key.expiresAt) }),
    ...(runId === undefined ? {} : { runId }),
    ...questionMembers(record, values),
  }
  // A list that is sent on as JSON would let each reader answer.
  return Object.defineProperties(view as typeof view & TokenLinks, {
    link: { get: () => credentials.answerLink(id) },
    linkFor: { value: (person: Person) => linkFor(credentials, id, person) },
  })
}

/** @throws TypeError or RangeError for what is no person. */
function linkFor(credentials: Credentials, id: string, person: Person): string {
  requirePerson(person, 'the person of a link')
  return credentials.answerLink(id, person)
}

/** A token with its output, with the error of its time-out, or with the runs that wait for it. */
export function viewRetrievedToken<Output>(
  { record, waiters: waitingRuns }: Pick<TokenRead, 'record' | 'waiters'>,
  credentials: Credentials,
  values: Values,
): RetrievedToken<Output> & TokenLinks {
  const view = viewToken(record, credentials, values)
  // The output of a token is of the type that its creator and its completer agreed on.
  if (record.outputJson !== undefined)
    return Object.assign(view, { output: values.decode(fromJson(record.outputJson)) as Output })
  if (record.status === 'TIMED_OUT') return Object.assign(view, { error: timeoutError(record) })
  return record.status === 'WAITING' && waitingRuns ? Object.assign(view, { waitingRuns }) : view
}

/** The result of a wait for a settled token; see docs/waitpoints.md. */
export function tokenSettlement<Output>(
  record: TokenRecord,
  values: Values,
): Settlement<WaitResult<Output>, Output> {
  if (record.status === 'TIMED_OUT') {
    const error = timeoutError(record)
    return { result: { ok: false, error }, error }
  }
  // As above: the type is an agreement between the task that waits and the caller that completes.
  const output = values.decode(fromJson(record.outputJson)) as Output
  const by = answeredBy(record)
  return { result: by === undefined ? { ok: true, output } : { ok: true, output, by }, output }
}

/** The error of a wait whose token was not completed in time. */
export function timeoutError(record: TokenRecord): WaitpointTimeoutError {
  const { id, timeoutAt = 0 } = record
  const withdrawn = withdrawalOf(record)
  const ended = withdrawn ? 'was withdrawn' : 'timed out'
  const message = `Waitpoint "${id}" ${ended} at ${new Date(timeoutAt).toISOString()}`
  return Object.assign(
    withoutStack(() => new WaitpointTimeoutError(message)),
    withdrawn && { withdrawn },
  )
}

/**
 * The answer of `createToken`: address and access token are computed when first read.
 *
 * Hot: every token has one. The getters are properties of the object itself, so that they are seen when it is copied,
 * lists or prints it; but they are the same two functions for all, which is half the time and memory of two closures. A class that names
 * itself would print with an underscore, which bundlers put in front of its name.
 */
export class CreatedTokenView implements LinkedToken {
  readonly id: string
  readonly isCached: boolean
  declare readonly url: string
  declare readonly publicAccessToken: string
  declare readonly link: string
  readonly #record: TokenRecord
  readonly #credentials: Credentials
  #url: string | undefined
  #accessToken: string | undefined

  constructor(record: TokenRecord, isCached: boolean, credentials: Credentials) {
    this.id = record.id
    this.isCached = isCached
    this.#record = record
    this.#credentials = credentials
    Object.defineProperty(this, 'url', new.target.#urlProperty)
    Object.defineProperty(this, 'publicAccessToken', new.target.#accessTokenProperty)
    Object.defineProperty(this, 'link', new.target.#linkProperty)
  }

  linkFor(person: Person): string {
    return linkFor(this.#credentials, this.id, person)
  }

  static readonly #urlProperty: PropertyDescriptor = {
    enumerable: true,
    get(this: CreatedTokenView) {
      return (this.#url ??= this.#credentials.tokenUrl(this.id))
    },
  }
  static readonly #linkProperty: PropertyDescriptor = {
    enumerable: true,
    get(this: CreatedTokenView) {
      return this.#credentials.answerLink(this.id)
    },
  }
  static readonly #accessTokenProperty: PropertyDescriptor = {
    enumerable: true,
    get(this: CreatedTokenView) {
      return (this.#accessToken ??= this.#credentials.publicAccessToken([`write:waitpoints:${this.id}`], {
        from: this.#record.createdAt,
        until: this.#record.timeoutAt,
      }))
    },
  }
}
