import type { KeyRecord, RunRecord, TokenKind, TokenRecord } from '../../contract/records.ts'
import { readInputKey } from '../../contract/input-keys.ts'
import { boundRunId, isRunBinding } from '../../contract/run-binding.ts'
import { isFinal, runIdOfToken, runTokenId } from '../../contract/run-states.ts'
import type {
  Awaitable,
  Inserted,
  RunBinding,
  RunClaimed,
  RunInsert,
  RunUpdate,
  Storage,
  TokenInsert,
  TokenInserted,
} from '../../contract/storage.ts'
import { chain, isPromise } from '../../primitives/awaitable.ts'
import { callingAttempt } from '../../core/inside.ts'
import { readEffect } from '../../contract/question-keys.ts'
import { memoryStorage } from '../../storage/memory/memory.ts'
import { type Operations, withOperations } from '../storages/wrapped.ts'
import type { Course, RunInFlight } from './course.ts'
import { childQuestion, newQuestion, tokenQuestion } from './question.ts'

/** No token is due by then: to read one changes nothing. */
const BEFORE_ALL = 0
const PAGE = 100
const COPIER = 'a check'
const NONE: RunClaimed = { runs: [], ended: [] }

export interface RunCopyOptions {
  readonly source: Storage
  readonly stored: RunInFlight
  readonly course: Course
  readonly now: number
}

/**
 * A storage with a copy of one run. What the run asks for besides is copied when it is asked for. The source is only read,
 * children are not executed, and an effect of `once` without a stored result is never begun.
 */
export class RunCopy {
  readonly storage: Storage
  readonly #memory = memoryStorage()
  readonly #source: Storage
  readonly #stored: RunInFlight
  readonly #course: Course
  readonly #now: number
  /** Other runs as their source has them. Their copies stand still. */
  readonly #others = new Map<string, RunRecord>()
  #isClaimed = false

  constructor({ source, stored, course, now }: RunCopyOptions) {
    this.#source = source
    this.#stored = stored
    this.#course = course
    this.#now = now
    this.storage = withOperations(this.#memory, this.#operations(this.#memory))
  }

  /** Makes the run one that its engine claims. */
  begin(): Awaitable<unknown> {
    const { record } = this.#stored
    const { id, epoch } = record
    const { runs } = this.#memory
    const standing: RunRecord = { ...inert(record), interruptions: 0, errorJson: undefined }
    const expected = { status: ['PENDING_VERSION'], epoch } as const
    const change = { status: 'EXECUTING' } as const
    return chain(runs.insert(this.#request(standing)), () =>
      runs.update({ ...this.#act(), id, expected, change }),
    )
  }

  /** Copies what the run has asked for. Only once it is claimed: its engine must not take up anything else. */
  #fill(): Awaitable<unknown> {
    const { asked, waits } = this.#stored
    return each([
      ...asked.tokens.map((token) => () => this.#copyToken(token)),
      ...asked.runs.map((child) => () => this.#copyRun(child)),
      ...waits.map((token) => () => this.#ensureToken(token.id, token)),
    ])
  }

  #operations({ runs, tokens, chunks }: Storage): Operations {
    const { id: ownId } = this.#stored.record
    return {
      'runs.insert': (request) => this.#answer(this.#insertRun(request)),
      'runs.get': (id) => this.#answer(id === ownId ? runs.get(id) : this.#run(id)),
      // The engine looks for work of its own, its tasks look at the runs there are.
      'runs.list': (filter, page) =>
        callingAttempt() === undefined
          ? runs.list(filter, page)
          : this.#answer(this.#read(() => this.#source.runs.list(filter, page))),
      'runs.waits': (id) => (id === ownId ? runs.waits(id) : this.#read(() => this.#source.runs.waits(id))),
      'runs.update': (request) => this.#update(request),
      'runs.claim': (request) => {
        if (this.#isClaimed) return NONE
        this.#isClaimed = true
        return chain(runs.claim({ ...request, limit: 1 }), (claimed) => chain(this.#fill(), () => claimed))
      },
      'runs.park': (fence) =>
        chain(runs.park(fence), (record) => {
          if (record !== undefined) this.#course.park()
          return record
        }),
      'runs.resume': (request) => {
        this.#course.resume()
        return runs.resume(request)
      },
      'tokens.insert': (request) => this.#insertToken(request),
      'tokens.get': (...args) => this.#answer(chain(this.#ensureToken(args[0]), () => tokens.get(...args))),
      'tokens.list': (filter, page, now) => {
        const { key, kind } = filter
        if (key !== undefined)
          return this.#answer(
            chain(this.#ensureKeyed(kind, key), () =>
              chain(tokens.list(filter, page, now), (listed) => {
                // A read that took messages looks at them.
                if (kind === 'INPUT') for (const { id } of listed.records) this.#course.askedAgain(id)
                return listed
              }),
            ),
          )
        return this.#answer(
          chain(
            this.#read(() => this.#source.tokens.list(filter, page, BEFORE_ALL)),
            (listed) => ({ ...listed, settled: [] }),
          ),
        )
      },
      'tokens.await': (request) =>
        this.#answer(
          chain(this.#ensureToken(request.tokenId), () =>
            chain(tokens.await(request), (awaited) => {
              if (awaited.outcome === 'registered' || awaited.outcome === 'settled')
                this.#course.waitsFor(request.tokenId)
              return awaited
            }),
          ),
        ),
      'tokens.settle': (request) =>
        this.#answer(chain(this.#ensureToken(request.id), () => tokens.settle(request))),
      // The copy has no other run.
      'chunks.add': () => this.#answer('added' as const),
      'chunks.read': (request) =>
        this.#answer(
          chain(chunks.read(request), (read) => read ?? this.#read(() => this.#source.chunks.read(request))),
        ),
    }
  }

  /** Nothing is answered to a run that has come to its wait: it would go on. */
  #answer<T>(answer: Awaitable<T>): Awaitable<T> {
    return chain(answer, (value) => (this.#course.isOver ? never<T>() : value))
  }

  #read<T>(read: () => Awaitable<T>): Awaitable<T> {
    const answer = read()
    return isPromise(answer) ? this.#course.reading(answer) : answer
  }

  #insertRun(request: RunInsert): Awaitable<Inserted<RunRecord> | 'stale'> {
    const { runs } = this.#memory
    const { key } = request.record
    const { bind } = request
    if (bind !== undefined) return this.#insertBound(request, bind)
    if (key === undefined) return runs.insert(request)
    const isOwn = this.#isOwn(key)
    return chain(isOwn ? undefined : this.#ensureKeyedRun(request.record), () =>
      chain(runs.insert(request), (inserted) => {
        if (inserted === 'stale') return inserted
        const { record, isCached } = inserted
        if (isCached) {
          this.#course.askedAgain(runTokenId(record.id))
          return { record: this.#others.get(record.id) ?? record, isCached }
        }
        const question = newQuestion(childQuestion(record))
        if (isOwn) this.#course.departs(question)
        else this.#course.mayDepart({ ...question, call: 'trigger' })
        return inserted
      }),
    )
  }

  /** A child that other triggers put off, too: the place of its wait is bound to it. */
  #insertBound(request: RunInsert, { key }: RunBinding): Awaitable<Inserted<RunRecord> | 'stale'> {
    const { tokens } = this.#stored.asked
    const token = tokens.find((one) => isRunBinding(one) && one.key?.value === key.value)
    return chain(token && this.#ensureRun(boundRunId(token)), () =>
      chain(this.#memory.runs.insert(request), (inserted) => {
        if (inserted === 'stale') return inserted
        const { record, isCached } = inserted
        if (token === undefined || !isCached) {
          this.#course.departs(newQuestion(childQuestion({ ...record, key })))
          return inserted
        }
        this.#course.askedAgain(token.id)
        return { record: this.#others.get(record.id) ?? record, isCached }
      }),
    )
  }

  #insertToken(request: TokenInsert): Awaitable<TokenInserted | 'stale'> {
    const { key, kind } = request.record
    if (kind === 'ONCE') return this.#insertEffect(request)
    const isOwn = key === undefined || this.#isOwn(key)
    return this.#answer(
      chain(isOwn ? undefined : this.#ensureKeyed(kind, key), () =>
        chain(this.#memory.tokens.insert(request), (inserted) => {
          if (inserted === 'stale') return inserted
          const { record, isCached } = inserted
          if (isCached) this.#course.askedAgain(record.id)
          else if (isOwn) this.#course.departs(newQuestion(tokenQuestion(record)))
          else this.#course.mayDepart(newQuestion(tokenQuestion(record)))
          return inserted
        }),
      ),
    )
  }

  /** An effect is replaced by its stored result. Without one it does not happen, and its flow ends here. */
  #insertEffect(request: TokenInsert): Awaitable<TokenInserted | 'stale'> {
    return this.#answer(
      chain(this.#memory.tokens.insert(request), (inserted) => {
        if (inserted === 'stale') return inserted
        if (inserted.record.status === 'COMPLETED') {
          this.#course.goesOn()
          return inserted
        }
        const name = readEffect(request.record.key?.value) ?? ''
        this.#course.departs({ call: 'once', name })
        return never()
      }),
    )
  }

  #update(request: RunUpdate): ReturnType<Storage['runs']['update']> {
    const { id, change } = request
    const { runs } = this.#memory
    if (id !== this.#stored.record.id)
      return this.#answer(chain(this.#ensureRun(id), () => runs.update(request)))
    const { status, errorJson = '{}' } = change
    if (status === 'PENDING_VERSION') this.#course.stop({ kind: 'stood still', errorJson })
    else if (status === 'FAILED' || status === 'DELAYED') this.#course.stop({ kind: 'failed', errorJson })
    else if (status === 'COMPLETED' || change.returned === true) this.#course.stop({ kind: 'returned' })
    return runs.update(request)
  }

  #isOwn({ scope, expiresAt }: KeyRecord): boolean {
    return scope === this.#stored.record.id && expiresAt === undefined
  }

  #run(id: string): Awaitable<RunRecord | undefined> {
    const known = this.#others.get(id)
    if (known !== undefined) return known
    return chain(
      this.#read(() => this.#source.runs.get(id)),
      (record) => record ?? this.#memory.runs.get(id),
    )
  }

  /** Sees to it that the copy has a token, if the source has it. */
  #ensureToken(id: string, found?: TokenRecord): Awaitable<unknown> {
    const runId = runIdOfToken(id)
    if (runId !== undefined) return this.#ensureRun(runId)
    return chain(this.#memory.tokens.get(id, BEFORE_ALL), (known) => {
      if (known !== undefined) return undefined
      if (found !== undefined) return this.#copyToken(found)
      return chain(
        this.#read(() => this.#source.tokens.get(id, BEFORE_ALL)),
        (read) => read && this.#copyToken(read.record),
      )
    })
  }

  #ensureRun(id: string): Awaitable<unknown> {
    return chain(this.#memory.runs.get(id), (known) =>
      known === undefined
        ? chain(
            this.#read(() => this.#source.runs.get(id)),
            (record) => record && this.#copyRun(record),
          )
        : undefined,
    )
  }

  /** Sees to it that the copy has the token that holds a key, if the source has it. */
  #ensureKeyed(kind: TokenKind, { scope, value }: KeyRecord): Awaitable<unknown> {
    return chain(
      this.#read(() => this.#source.tokens.list({ kind, key: { scope, value } }, { limit: 1 }, BEFORE_ALL)),
      ({ records: [newest] }) => newest && this.#ensureToken(newest.id, newest),
    )
  }

  /** A storage does not list runs by key: those are looked through that are young enough for it to be valid. */
  #ensureKeyedRun({ taskId, key, createdAt }: RunRecord): Awaitable<unknown> {
    const ttlMs = (key?.expiresAt ?? createdAt) - createdAt
    const filter = { taskIds: [taskId], from: createdAt - ttlMs }
    const look = (after: string | undefined): Awaitable<unknown> =>
      chain(
        this.#read(() => this.#source.runs.list(filter, { limit: PAGE, after })),
        ({ records, next }) => {
          const holder = records.find(
            (record) => record.key?.scope === key?.scope && record.key?.value === key?.value,
          )
          if (holder !== undefined) return this.#ensureRun(holder.id)
          return next === undefined ? undefined : look(next)
        },
      )
    return look(undefined)
  }

  #copyToken(record: TokenRecord): Awaitable<unknown> {
    return this.#memory.tokens.insert({
      ...this.#act(),
      record: this.#isNews(record) ? unsent(record) : record,
    })
  }

  /** A message that no read was given: it is not handed over, as no other answer is that came since. */
  #isNews({ id, kind, key }: TokenRecord): boolean {
    return kind === 'INPUT' && readInputKey(key?.value) !== undefined && !this.#course.hasAsked(id)
  }

  #copyRun(record: RunRecord): Awaitable<unknown> {
    const { id, epoch, status, outputJson, errorJson, finishedAt } = record
    this.#others.set(id, record)
    return chain(this.#memory.runs.insert(this.#request(inert(record))), () => {
      if (!isFinal(status)) return undefined
      const expected = { status: ['PENDING_VERSION'], epoch } as const
      const change = { status, outputJson, errorJson, finishedAt }
      return this.#memory.runs.update({ ...this.#act(), id, expected, change })
    })
  }

  #request(record: RunRecord): RunInsert {
    return { ...this.#act(), record }
  }

  #act(): { readonly by: string; readonly now: number } {
    return { by: COPIER, now: this.#now }
  }
}

function unsent({
  outputJson: _data,
  answeredJson: _by,
  completedAt: _at,
  ...record
}: TokenRecord): TokenRecord {
  return { ...record, status: 'WAITING' }
}

/** A run that no engine holds and that none claims. */
function inert(record: RunRecord): RunRecord {
  return { ...record, status: 'PENDING_VERSION', owner: undefined, slot: false, slotUntil: undefined }
}

function each(steps: readonly (() => Awaitable<unknown>)[], at = 0): Awaitable<unknown> {
  const step = steps[at]
  return step === undefined ? undefined : chain(step(), () => each(steps, at + 1))
}

function never<T>(): Promise<T> {
  return new Promise<T>(() => undefined)
}
