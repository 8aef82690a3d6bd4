import type { TokenRecord } from '../../contract/records.ts'
import type { Storage, TokenSettle } from '../../contract/storage.ts'
import { checkTokenHistory, type TokenOperation } from '../conformance/token-history.ts'
import { isSameState, type TokenState, tokenStateOf } from '../conformance/token-model.ts'
import type { Names } from './names.ts'
import type { ObservedWait, CallWatcher } from './observer.ts'
import type { CallOf, StorageCall } from './storage-call.ts'
import { InvariantViolation } from './violation.ts'
import { TOKEN_ID_START } from '../../contract/id-prefixes.ts'

interface Watched {
  readonly id: string
  readonly operations: TokenOperation[]
  /** Known after the token was first seen: the last one, or that which it had when it was settled. */
  timeoutAt: number
  isSettled: boolean
  /** The acknowledged completion. */
  acknowledged?: TokenState
}

type TokenCall = CallOf<'tokens.settle'> | CallOf<'tokens.get'> | CallOf<'tokens.await'>

/** Records the history of every token that can be completed, and checks it against the model at the end. */
export class TokenWatcher implements CallWatcher {
  readonly #names: Names
  readonly #watched = new Map<string, Watched>()
  readonly #calls: { readonly watched: Watched; readonly call: TokenCall }[] = []
  /** The first call at each instant. From then on, any token past its deadline may have been timed out. */
  readonly #sweeps: TokenOperation[] = []

  constructor(names: Names) {
    this.#names = names
  }

  called(call: StorageCall): void {
    const { now, calledAt } = call
    if (this.#sweeps.at(-1)?.now !== now) this.#sweeps.push({ kind: 'look', what: 'a tick', now, calledAt })
    if (call.name === 'tokens.settle') this.#watch(call.args[0].id, call)
    else if (call.name === 'tokens.get') this.#watch(call.args[0], call)
    else if (call.name === 'tokens.await') this.#watch(call.args[0].tokenId, call)
  }

  answered(call: StorageCall): void {
    if (call.name === 'tokens.settle') this.#settled(call)
    if (call.name !== 'tick') return
    for (const record of call.reply?.answer.settled ?? []) this.#swept(record, call)
  }

  get outcomes(): readonly ObservedWait[] {
    return Array.from(this.#watched.values(), ({ id, operations }) => {
      const settled = operations.find(({ reply }) => reply !== undefined && reply.seen.status !== 'WAITING')
      const outcome = settled?.reply?.seen.status ?? 'WAITING'
      return { wait: this.#names.of(id) ?? 'a token that does not exist', outcome }
    })
  }

  async ended(storage: Storage, now: number): Promise<void> {
    for (const { watched, call } of this.#calls) {
      watched.operations.push(operationOf(call))
      const record = answerOf(call)?.record
      if (record === undefined || (watched.isSettled && record.status === 'WAITING')) continue
      watched.timeoutAt = record.timeoutAt ?? watched.timeoutAt
      watched.isSettled = record.status !== 'WAITING'
    }
    for (const { id, operations, timeoutAt, acknowledged } of this.#watched.values()) {
      const sweep = this.#sweeps.find((first) => first.now >= timeoutAt)
      if (sweep !== undefined) operations.push(sweep)
      // Checked first: the history would show a lost completion too, but with a less useful message.
      if (acknowledged !== undefined) await this.#checkKept(storage, { id, acknowledged, now })
      const problem = checkTokenHistory(operations, timeoutAt)
      if (problem !== undefined)
        throw new InvariantViolation(problem.invariant, `${this.#name(id)}: ${problem.message}`)
    }
  }

  #watch(id: string, call: TokenCall): void {
    // Sleeps, effects and the ends of runs settle by themselves.
    if (id.startsWith(TOKEN_ID_START)) this.#calls.push({ watched: this.#of(id), call })
  }

  #of(id: string): Watched {
    const known = this.#watched.get(id)
    if (known !== undefined) return known
    const watched: Watched = { id, operations: [], timeoutAt: Infinity, isSettled: false }
    this.#watched.set(id, watched)
    return watched
  }

  #settled({ args: [{ id }], reply }: CallOf<'tokens.settle'>): void {
    const answer = reply?.answer
    if (answer === undefined || answer === 'stale' || !answer.won) return
    const watched = this.#of(id)
    if (watched.acknowledged !== undefined)
      throw new InvariantViolation(
        'single assignment',
        `${this.#name(id)}: two completions were told that they won`,
      )
    watched.acknowledged = tokenStateOf(answer.record)
  }

  #swept(record: TokenRecord, { calledAt, now, reply }: CallOf<'tick'>): void {
    if (record.kind !== 'MANUAL' || reply === undefined) return
    const { completedAt } = record
    const seen = tokenStateOf(record)
    const told = { answeredAt: reply.answeredAt, seen, completedAt, won: false, settledNow: true }
    const watched = this.#of(record.id)
    watched.timeoutAt = record.timeoutAt ?? Infinity
    watched.isSettled = true
    watched.operations.push({ kind: 'look', what: 'tick', now, calledAt, reply: told })
  }

  async #checkKept(
    storage: Storage,
    { id, acknowledged, now }: { id: string; acknowledged: TokenState; now: number },
  ): Promise<void> {
    const record = (await storage.tokens.get(id, now))?.record
    // Pruning may have removed it.
    if (record === undefined || isSameState(tokenStateOf(record), acknowledged)) return
    const message = `${this.#name(id)} was completed and the completion was acknowledged, but it is ${record.status}`
    throw new InvariantViolation('no acknowledged completion lost', message)
  }

  #name(id: string): string {
    return `token "${this.#names.of(id) ?? id}"`
  }
}

function operationOf(call: TokenCall): TokenOperation {
  const { name, calledAt, now } = call
  const told = answerOf(call)
  const operation: TokenOperation =
    name === 'tokens.settle' && !isRefused(call.args[0], told?.record)
      ? { kind: 'complete', what: name, ...endOf(call.args[0]), now, calledAt }
      : { kind: 'look', what: name, now, calledAt }
  if (told === undefined || call.reply === undefined) return operation
  const { record, won = false, settledNow } = told
  const { answeredAt } = call.reply
  const seen = tokenStateOf(record)
  // A token that is made to time out had a later deadline until then.
  const timeoutAt = won && seen.status === 'TIMED_OUT' ? Infinity : record.timeoutAt
  const reply = { answeredAt, seen, completedAt: record.completedAt, won, settledNow, timeoutAt }
  return { ...operation, reply }
}

function endOf({ outputJson, isTimeOut }: TokenSettle): Pick<TokenOperation, 'outputJson' | 'isTimeOut'> {
  return { outputJson, isTimeOut }
}

/** A settle for another question than that of the token only looks. */
function isRefused({ question }: TokenSettle, record: TokenRecord | undefined): boolean {
  return record?.status === 'WAITING' && record.questionJson !== question
}

interface TokenTold {
  readonly record: TokenRecord
  readonly won?: boolean
  readonly settledNow: boolean
}

function answerOf(call: TokenCall): TokenTold | undefined {
  const answer = call.reply?.answer
  // An attempt that lost its run does not learn the outcome of the token.
  if (answer === undefined || answer === 'stale') return undefined
  if ('record' in answer) return answer
  if (!('token' in answer)) return undefined
  return { record: answer.token, settledNow: answer.outcome === 'settled' && answer.settledNow }
}
