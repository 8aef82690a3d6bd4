import type { QuestionOptions } from '../../api/question.ts'
import { cursorPages, type CursorPagePromise } from '../../api/cursor-page.ts'
import type {
  CompletedToken,
  CompleteTokenOptions,
  CreatedToken,
  CreateTokenOptions,
  Duration,
  ListTokensParams,
  RetrievedToken,
  SubscribeToTokensParams,
  Token,
  TokenReference,
  Unwrappable,
  ReassignTokenOptions,
  WithdrawTokenOptions,
} from '../../api/token.ts'
import {
  idOf,
  type OptionNames,
  requireFlag,
  requireFunction,
  requireName,
  requireOptions,
  requireSignal,
  show,
} from '../../primitives/require.ts'
import {
  type Address,
  COMPLETE_TOKEN_ADDRESS,
  CREATE_TOKEN_ADDRESS,
  EXTEND_TOKEN_ADDRESS,
  FOLLOW_TOKEN_ADDRESS,
  FOLLOW_TOKENS_ADDRESS,
  LIST_TOKENS_ADDRESS,
  REASSIGN_TOKEN_ADDRESS,
  RETRIEVE_TOKEN_ADDRESS,
  WITHDRAW_TOKEN_ADDRESS,
} from '../../hosted/addresses.ts'
import { ACCESS_TOKEN } from '../../hosted/headers.ts'
import { KEY_FILTER, PAGE_SIZE, TOKEN_TAG_FILTER } from '../../hosted/list-parameters.ts'
import type { CallOptions, ClientWait, FollowOptions } from '../namespaces.ts'
import { TAG_NAMES, type TagFilter, wantedTags } from '../../api/tag-filter.ts'
import { jsonText } from '../wire/json-text.ts'
import { notFound, notInRun, refusedInRun } from '../connection/known-error.ts'
import { Following } from '../following/following.ts'
import type { Follower } from '../following/read-events.ts'
import { type FollowedTokens, tokenLists, tokenStates } from '../following/token-events.ts'
import { joined, listQuery } from './list-query.ts'
import { decodePage } from './list-page.ts'
import type { Packets } from '../wire/packets.ts'
import type { Transport } from '../connection/transport.ts'
import { wireDeadline, wireDuration } from '../wire/durations.ts'
import { WireRecord } from '../wire/record.ts'
import { readCompletedToken, readRetrievedToken, readToken } from '../wire/token.ts'
import { refuseTransaction } from './refused-transaction.ts'
import { TOKEN_ID_START } from '../../contract/id-prefixes.ts'

const CREATE_NAMES: OptionNames<Omit<CreateTokenOptions, 'name' | keyof QuestionOptions> & CallOptions> = {
  timeout: true,
  tags: true,
  idempotencyKey: true,
  idempotencyKeyTTL: true,
  signal: true,
}
const LIST_NAMES: OptionNames<ListTokensParams & CallOptions> = {
  status: true,
  ...TAG_NAMES,
  idempotencyKey: true,
  period: true,
  from: true,
  to: true,
  limit: true,
  after: true,
  before: true,
  signal: true,
}
/** The names of `CallOptions`, for calls without further options. */
const CALL_NAMES: OptionNames<CallOptions> = { signal: true }
const FOLLOW_NAMES: OptionNames<FollowOptions> = {
  signal: true,
  onConnection: true,
  keepTrying: true,
}

/** Tokens over HTTP. */
export class WaitCalls implements ClientWait {
  readonly #transport: Transport
  readonly #packets: Packets

  constructor(transport: Transport, packets: Packets) {
    this.#transport = transport
    this.#packets = packets
  }

  async createToken(options: CreateTokenOptions & CallOptions = {}): Promise<CreatedToken> {
    requireOptions(options, 'the options of wait.createToken', CREATE_NAMES)
    const { timeout, tags, idempotencyKey, idempotencyKeyTTL, signal } = options
    requireSignal(signal, 'signal')
    const body = JSON.stringify({
      timeout: wireDeadline(timeout, 'timeout'),
      tags,
      idempotencyKey,
      idempotencyKeyTTL: wireDuration(idempotencyKeyTTL, 'idempotencyKeyTTL'),
    })
    const answer = await this.#transport.call({ address: CREATE_TOKEN_ADDRESS, body }, signal)
    const wire = new WireRecord(answer.body, 'a token')
    return {
      id: wire.requiredText('id'),
      isCached: wire.flag('isCached') ?? false,
      url: wire.requiredText('url'),
      publicAccessToken: wire.text('publicAccessToken') ?? answer.headers.get(ACCESS_TOKEN) ?? '',
    }
  }

  async completeToken(
    token: TokenReference,
    output?: unknown,
    { transaction, by, ...options }: CallOptions & CompleteTokenOptions = {},
  ): Promise<CompletedToken> {
    const id = tokenId(token)
    checkCallOptions(options, 'wait.completeToken')
    refuseTransaction(transaction, `complete token "${id}"`)
    const data = jsonText(output, `the output of token "${id}"`)
    // The hosted service reads this name too.
    const members = data === undefined ? [] : [`"data":${data}`]
    if (by !== undefined) members.push(`"by":${JSON.stringify(by)}`)
    const body = `{${members.join()}}`
    const request = { address: COMPLETE_TOKEN_ADDRESS, ids: [id], body } as const
    const { body: answer } = await this.#transport.call(request, options.signal)
    return readCompletedToken(new WireRecord(answer, 'a completion'))
  }

  withdrawToken(
    token: TokenReference,
    { reason, by, ...options }: CallOptions & WithdrawTokenOptions = {},
  ): Promise<CompletedToken> {
    return this.#change(token, { address: WITHDRAW_TOKEN_ADDRESS, body: { reason, by } }, options)
  }

  async extendToken(
    token: TokenReference,
    timeout: Duration | Date,
    options: CallOptions = {},
  ): Promise<CompletedToken> {
    const body = { timeout: wireDeadline(timeout, 'timeout') }
    return this.#change(token, { address: EXTEND_TOKEN_ADDRESS, body }, options)
  }

  reassignToken(
    token: TokenReference,
    approvers: readonly string[],
    { by, ...options }: CallOptions & ReassignTokenOptions = {},
  ): Promise<CompletedToken> {
    return this.#change(token, { address: REASSIGN_TOKEN_ADDRESS, body: { approvers, by } }, options)
  }

  async #change(
    token: TokenReference,
    { address, body }: { readonly address: Address; readonly body: object },
    options: CallOptions,
  ): Promise<CompletedToken> {
    const id = tokenId(token)
    checkCallOptions(options, 'a change of a token')
    const request = { address, ids: [id], body: JSON.stringify(body) }
    const { body: answer } = await this.#transport.call(request, options.signal)
    return readCompletedToken(new WireRecord(answer, 'a change'))
  }

  async retrieveToken<Output = unknown>(
    token: TokenReference,
    options: CallOptions = {},
  ): Promise<RetrievedToken<Output>> {
    const id = tokenId(token)
    checkCallOptions(options, 'wait.retrieveToken')
    const request = { address: RETRIEVE_TOKEN_ADDRESS, ids: [id] } as const
    const { body } = await this.#transport.call(request, options.signal)
    return readRetrievedToken<Output>(new WireRecord(body, 'a token'), this.#packets, options.signal)
  }

  subscribeToToken<Output = unknown>(
    token: TokenReference,
    options: FollowOptions = {},
  ): AsyncIterable<RetrievedToken<Output>> {
    const id = tokenId(token)
    checkFollowOptions(options, 'wait.subscribeToToken')
    const request = { address: FOLLOW_TOKEN_ADDRESS, ids: [id] } as const
    // See `retrieveToken`.
    return this.#followed(
      request,
      options,
      (followed) => tokenStates(followed, this.#packets) as AsyncGenerator<never>,
    )
  }

  subscribeToTokens({
    limit,
    tags,
    tag,
    ...options
  }: SubscribeToTokensParams & FollowOptions = {}): AsyncIterable<readonly Token[]> {
    checkFollowOptions(options, 'wait.subscribeToTokens')
    const wanted = wantedTags({ tags, tag } as TagFilter)
    const query = { [PAGE_SIZE]: limit?.toString(), [TOKEN_TAG_FILTER]: joined(wanted, 'tags') }
    return this.#followed({ address: FOLLOW_TOKENS_ADDRESS, query }, options, tokenLists)
  }

  #followed<State>(
    request: FollowedTokens['request'],
    options: FollowOptions,
    states: (followed: FollowedTokens) => AsyncGenerator<State>,
  ): AsyncIterable<State> {
    const transport = this.#transport
    const signals = [transport.settings.signal, options.signal]
    return {
      [Symbol.asyncIterator]: () =>
        new Following((signal) => states({ ...options, transport, request, signal }), signals),
    }
  }

  listTokens(params: ListTokensParams & CallOptions = {}): CursorPagePromise<Token> {
    return cursorPages(
      async (cursor) => {
        const query = {
          ...listQuery(params, cursor),
          [TOKEN_TAG_FILTER]: joined(wantedTags(params), 'tags'),
          [KEY_FILTER]: params.idempotencyKey,
        }
        const request = { address: LIST_TOKENS_ADDRESS, query } as const
        return decodePage(await this.#transport.call(request, params.signal), readToken)
      },
      () => checkedFilters(params, 'wait.listTokens', LIST_NAMES),
    )
  }

  forToken(): Unwrappable<never, never> {
    return refusedInRun('wait.forToken')
  }

  async signal(): Promise<never> {
    throw notInRun('wait.signal')
  }

  async for(): Promise<void> {
    throw notInRun('wait.for')
  }

  async until(): Promise<void> {
    throw notInRun('wait.until')
  }
}

/** @throws TypeError for options of a wrong type or name. */
export function checkCallOptions(options: CallOptions, what: string): void {
  requireOptions(options, `the options of ${what}`, CALL_NAMES)
  requireSignal(options.signal, 'signal')
}

/** @throws TypeError for options of a wrong type or name. */
export function checkFollowOptions(options: FollowOptions, what: string): void {
  requireOptions(options, `the options of ${what}`, FOLLOW_NAMES)
  requireSignal(options.signal, 'signal')
  requireFollower(options)
}

/** @throws TypeError for options of a wrong type. */
export function requireFollower({ onConnection, keepTrying }: Omit<Follower, 'signal'>): void {
  requireFunction(onConnection, 'onConnection')
  requireFlag(keepTrying, 'keepTrying')
}

/**
 * The filters of a list. A misspelt filter would otherwise be ignored.
 *
 * @throws TypeError for an unknown filter, and for a wrong cursor.
 */
export function checkedFilters<
  Params extends CallOptions & { readonly after?: string; readonly before?: string },
>(params: Params, what: string, names: OptionNames<Params>): Params {
  requireOptions(params, `the filters of ${what}`, names)
  const { after, before, signal } = params
  if (after !== undefined) requireName(after, 'after')
  if (before !== undefined) requireName(before, 'before')
  requireSignal(signal, 'signal')
  return params
}

/**
 * The id of a token.
 *
 * @throws TypeError for a value that is not an id; WaitpointError `ERR_TOKEN_NOT_FOUND` for an id that no token can
 * have.
 */
function tokenId(token: TokenReference): string {
  const id = idOf(token)
  if (typeof id !== 'string' || id === '')
    throw new TypeError(
      `Cannot use ${show(token)} as a token: give its id, or the token that createToken returned`,
    )
  if (!id.startsWith(TOKEN_ID_START)) throw notFound('waitpoint', id)
  return id
}
