import type { TokenEnd } from '../run-draft.ts'
import { tokenDraft } from '../../generated/token-record.ts'
import type { KeyRecord, TokenRecord, TokenStatus, WaitRecord } from '../../contract/records.ts'
import { TOKEN_STATUSES } from '../../contract/run-states.ts'
import type { NextDue, TokenChange } from '../../contract/storage.ts'
import type { HintBoard } from '../hint-board.ts'
import { DeadlineQueue } from '../../primitives/deadline-queue.ts'
import type { EndedEntries } from './ended-entries.ts'
import { withItem } from '../../primitives/few.ts'
import { EntryTable, tagLists } from './entry-table.ts'
import { type RunEntry, TokenEntry } from './entries.ts'
import { isOwnKey, ownToken, withOwn, withoutOwn } from './own-tokens.ts'
import type { WaitBook } from './wait-book.ts'
import type { Act } from '../run-draft.ts'

interface TokenLedgerParts {
  readonly waits: WaitBook
  readonly ended: EndedEntries
  readonly hints: HintBoard
}

/** All tokens and their deadlines. A token is settled here, once. */
export class TokenLedger {
  readonly table: EntryTable<TokenEntry> = new EntryTable<TokenEntry>('token', {
    strandOf: ({ record }) => record.kind,
    grouping: {
      groups: TOKEN_STATUSES.length,
      groupOf: ({ record }) => TOKEN_STATUSES.indexOf(record.status),
      place: (token, position) => void (token.position = position),
      positionOf: ({ position }) => position,
    },
    listsOf: tagLists,
    keyOf: indexedKey,
  })
  readonly #deadlines = new DeadlineQueue<TokenEntry>()
  readonly #waits: WaitBook
  readonly #ended: EndedEntries
  readonly #hints: HintBoard

  constructor({ waits, ended, hints }: TokenLedgerParts) {
    this.#waits = waits
    this.#ended = ended
    this.#hints = hints
  }

  /** The holder of `key` at `now`. A run's own keys are found by the run, if it is `creator`. */
  holder(key: KeyRecord, creator: RunEntry | undefined, now: number): TokenEntry | undefined {
    return isOwnKey(key, creator?.id) ? ownToken(creator?.created, key.value) : this.table.holder(key, now)
  }

  /** The tokens that hold `key`, or held it before; `creator` is the run that the scope of the key names, if it names one. */
  keyed(key: Pick<KeyRecord, 'scope' | 'value'>, creator: RunEntry | undefined): readonly TokenEntry[] {
    const own = ownToken(creator?.created, key.value)
    return own === undefined ? this.table.keyed(key) : [own]
  }

  add(record: TokenRecord, creator: RunEntry | undefined, now: number): TokenEntry {
    const token = new TokenEntry(record, creator)
    this.table.add(token)
    if (creator !== undefined) creator.created = withOwn(creator.created, token)
    if (record.status !== 'WAITING') this.#ended.add(token, now)
    else if (record.timeoutAt !== undefined) token.deadline = this.#deadlines.add(record.timeoutAt, token)
    return token
  }

  /** Settles a token that is `WAITING`; answers the waits that became ready. */
  settle(token: TokenEntry, end: TokenEnd, act: Act): readonly WaitRecord[] {
    if (token.deadline !== undefined) this.#deadlines.cancel(token.deadline)
    token.deadline = undefined
    const groups = {
      before: TOKEN_STATUSES.indexOf(token.record.status),
      after: TOKEN_STATUSES.indexOf(end.status),
    }
    this.table.regroup(token, token.position, groups)
    // Hot, hence no spread: see `draftOf` of a run.
    token.record = Object.assign(tokenDraft(token.record), end)
    this.#ended.add(token, act.now)
    if (token.record.kind === 'MANUAL') this.#hints.token(act.by)
    return this.#waits.settle(token, act)
  }

  /** Gives a token that is `WAITING` another question or deadline. */
  change(token: TokenEntry, { questionJson, timeoutAt, by, now }: TokenChange): void {
    const { record } = token
    token.record = {
      ...record,
      questionJson: questionJson ?? record.questionJson,
      timeoutAt: timeoutAt ?? record.timeoutAt,
    }
    if (record.kind === 'MANUAL') this.#hints.token(by)
    if (timeoutAt === undefined) return
    // Something may be due sooner than they know, and the engine that has moved it may leave.
    this.#hints.all(by)
    if (token.deadline !== undefined) this.#deadlines.cancel(token.deadline)
    token.deadline = this.#deadlines.add(timeoutAt, token)
    this.#waits.moved(token, now)
  }

  /** The groups of the tokens that are in one of these statuses, or will be once they are settled as of now. */
  groupsOf(status: readonly TokenStatus[], now: number): readonly number[] {
    const isAnyDue = (this.#deadlines.peek()?.at ?? Infinity) <= now
    const also: readonly TokenStatus[] = isAnyDue ? ['WAITING'] : []
    return [...status, ...also].map((each) => TOKEN_STATUSES.indexOf(each))
  }

  /** A run waits for the token. An answer that no run created is kept at least for the first run that does. */
  asked(token: TokenEntry, run: RunEntry): void {
    if (token.record.runId !== undefined || token.asker !== undefined) return
    token.asker = run
    token.isAnswered = false
    run.kept = withItem(run.kept, token)
  }

  /** Settles a token that is past its deadline and was not settled yet; answers the waits that became ready. */
  settleIfDue(token: TokenEntry, act: Act): readonly WaitRecord[] | undefined {
    const { status, timeoutAt, kind } = token.record
    if (status !== 'WAITING' || timeoutAt === undefined || act.now < timeoutAt) return undefined
    const outcome = kind === 'SLEEP' ? 'COMPLETED' : 'TIMED_OUT'
    return this.settle(token, { status: outcome, completedAt: timeoutAt }, act)
  }

  /** Settles up to `limit` tokens that are past their deadlines, the earliest first. */
  settleDue(act: Act, limit: number): readonly TokenRecord[] {
    const settled: TokenRecord[] = []
    while (settled.length < limit) {
      const token = this.#deadlines.popDue(act.now)?.value
      if (token === undefined) break
      token.deadline = undefined
      this.settleIfDue(token, act)
      settled.push(token.record)
    }
    return settled
  }

  drop(token: TokenEntry): void {
    if (token.record.status === 'WAITING' && token.deadline !== undefined)
      this.#deadlines.cancel(token.deadline)
    this.table.drop(token)
    const { creator } = token
    if (creator !== undefined) creator.created = withoutOwn(creator.created, token)
  }

  nextDue(): NextDue | undefined {
    const next = this.#deadlines.peek()
    return next && { at: next.at, what: `token ${next.value.id}` }
  }

  /** The first deadlines, at most `limit`. */
  due(limit: number): readonly NextDue[] {
    return this.#deadlines.first(limit).map(({ at, value }) => ({ at, what: `token ${value.id}` }))
  }
}

/** A run's own keys are not in the index: see {@link TokenLedger.holder}. */
function indexedKey({ record, creator }: TokenEntry): KeyRecord | undefined {
  return isOwnKey(record.key, creator?.id) ? undefined : record.key
}
