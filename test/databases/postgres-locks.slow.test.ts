import { describe, expect, it } from 'vitest'
import type { RunRecord, Storage } from 'waitpoint'
import type { RunUpdate } from '../../src/contract/storage.ts'
import type { RandomSource } from '../../src/contract/random.ts'
import { type PostgresPool, postgresStorage } from 'waitpoint/postgres'
import { seededRandom } from '../../src/clock/seeded-random.ts'
import { namedStorage } from '../../src/testing/conformance/named-storage.ts'
import { manualToken, queuedRun } from '../../src/testing/conformance/sample-records.ts'
import { connectPostgres } from './postgres/client.ts'
import { freshDatabase } from './postgres/fresh-database.ts'
import { patient, testPool } from './postgres-schemas.ts'

const PROCESSES = 4
const ROUNDS = 100
/** Calls of one kind are one statement: that is what could lock records in another order than the next one. */
const KINDS = 4
const CALLS = 20
const RECORDS = 40
const LEASE_MS = 15

/** What is there for all processes: instants, and the ids in use. */
class Field {
  now = 1_000
  readonly tokens: string[] = []
  readonly runs: string[] = []
  readonly codes = new Map<string, number>()

  next(): number {
    return (this.now += 1)
  }
}

/** A process that does everything at once to the same few records. */
class Hustler {
  readonly #field: Field
  readonly #storage: Storage
  readonly #random: RandomSource
  readonly #held = new Map<string, RunRecord>()
  readonly #name: string
  #lives = 0
  #claims = 0

  constructor(field: Field, storage: Storage, name: string) {
    this.#field = field
    this.#storage = storage
    this.#random = seededRandom(name)
    this.#name = name
  }

  get #owner(): string {
    return `${this.#name}-${this.#lives}`
  }

  async hustle(): Promise<void> {
    await this.#tick()
    for (let round = 0; round < ROUNDS; round++) {
      const kinds = Array.from({ length: KINDS }, () => this.#kind())
      const calls = kinds.flatMap((kind) => Array.from({ length: CALLS }, kind))
      await Promise.all([...calls, this.#claim(), this.#tick()])
    }
  }

  #pick<Item>(items: readonly Item[]): Item | undefined {
    return items[Math.floor(this.#random.fraction() * items.length)]
  }

  #kind(): () => Promise<unknown> {
    const kinds = [
      () => this.#insert(),
      () => this.#await(),
      () => this.#await(),
      () => this.#settle(),
      () => this.#settle(),
      () => this.#park(),
      () => this.#end(),
      () => this.#cancel(),
      () => this.#release(),
      () => this.#read(),
    ]
    return this.#pick(kinds) ?? (() => Promise.resolve())
  }

  async #tick(): Promise<void> {
    const now = this.#field.next()
    const ticked = await this.#storage.tick({
      owner: this.#owner,
      now,
      leaseUntil: now + LEASE_MS,
      limit: 100,
    })
    if (ticked.alive) return
    this.#lives += 1
    this.#claims = 0
    this.#held.clear()
    await this.#tick()
  }

  async #insert(): Promise<void> {
    const { tokens, runs } = this.#field
    const now = this.#field.next()
    const by = this.#owner
    const timeoutAt = this.#random.fraction() < 0.5 ? now + 20 : undefined
    const id = `${this.#name} ${now}`
    const run = this.#pick([...this.#held.values()])
    const fence = run && { runId: run.id, epoch: run.epoch }
    const key = run && { scope: run.id, value: `key ${now % 3}` }
    const record = manualToken(`t ${id}`, {
      kind: run ? 'SLEEP' : 'MANUAL',
      createdAt: now,
      timeoutAt,
      key,
      runId: run?.id,
    })
    await this.#storage.tokens.insert({ record, now, by, fence })
    await this.#storage.runs.insert({ record: queuedRun(`r ${id}`, { createdAt: now }), now, by })
    tokens.push(`t ${id}`)
    runs.push(`r ${id}`)
    if (tokens.length > RECORDS) tokens.shift()
    if (runs.length > RECORDS) runs.shift()
  }

  async #claim(): Promise<void> {
    const { runs } = await this.#storage.runs.claim({
      by: this.#owner,
      now: this.#field.next(),
      number: (this.#claims += 1),
      taskIds: ['task'],
      limit: 10,
      queueLimits: new Map([['queue', 40]]),
      maxInterruptions: 3,
    })
    for (const run of runs) this.#held.set(run.id, run)
  }

  async #await(): Promise<void> {
    const run = this.#pick([...this.#held.values()])
    const { tokens, runs } = this.#field
    const tokenId = this.#random.fraction() < 0.2 ? `run:${this.#pick(runs) ?? ''}` : this.#pick(tokens)
    if (run === undefined || tokenId === undefined) return
    await this.#storage.tokens.await({
      tokenId,
      runId: run.id,
      epoch: run.epoch,
      by: this.#owner,
      now: this.#field.next(),
    })
  }

  async #settle(): Promise<void> {
    const id = this.#pick(this.#field.tokens)
    const run = this.#random.fraction() < 0.4 ? this.#pick([...this.#held.values()]) : undefined
    const attempt = run && { runId: run.id, epoch: run.epoch }
    const isFenced = this.#random.fraction() < 0.5
    if (id === undefined) return
    await this.#storage.tokens.settle({
      id,
      outputJson: '1',
      fence: isFenced ? attempt : undefined,
      resume: isFenced || attempt === undefined ? undefined : { ...attempt, parks: run?.parks ?? 0 },
      by: this.#owner,
      now: this.#field.next(),
    })
  }

  async #park(): Promise<void> {
    const run = this.#pick([...this.#held.values()])
    if (run === undefined) return
    const { id, epoch, parks = 0 } = run
    const fence = { id, epoch, by: this.#owner, now: this.#field.next() }
    await this.#storage.runs.resume({ ...fence, parks, queueLimit: 40, isHinted: true })
    const parked = await this.#storage.runs.park({ ...fence, parks: parks + 1 })
    if (parked !== undefined && this.#held.has(id)) this.#held.set(id, parked)
  }

  async #end(): Promise<void> {
    const run = this.#pick([...this.#held.values()])
    if (run === undefined) return
    this.#held.delete(run.id)
    const now = this.#field.next()
    await this.#storage.runs.update({
      id: run.id,
      expected: { status: ['EXECUTING', 'WAITING'], epoch: run.epoch },
      change: this.#random.fraction() < 0.5 ? { status: 'COMPLETED' } : wholeEnd(now),
      by: this.#owner,
      now,
    })
  }

  async #cancel(): Promise<void> {
    const id = this.#pick(this.#field.runs)
    if (id === undefined) return
    const expected = { status: ['EXECUTING', 'WAITING', 'QUEUED'] } as const
    const change =
      this.#random.fraction() < 0.5 ? ({ status: 'CANCELED' } as const) : { metadataJson: '{"a":1}' }
    await this.#storage.runs.update({ id, expected, change, by: this.#owner, now: this.#field.next() })
  }

  async #release(): Promise<void> {
    const tokenId = this.#pick(this.#field.tokens)
    const runId = this.#pick(this.#field.runs)
    if (tokenId !== undefined && runId !== undefined)
      await this.#storage.tokens.release([{ tokenId, runId, owner: this.#owner }])
  }

  async #read(): Promise<void> {
    const now = this.#field.next()
    const id = this.#pick(this.#field.tokens)
    if (id !== undefined) await this.#storage.tokens.get(id, now)
    await this.#storage.tokens.list({ kind: 'MANUAL' }, { limit: 5 }, now)
    await this.#storage.prune({ before: now - 40, limit: 20, now })
  }
}

/** The change by which an attempt ends its run, which has a function of its own. */
function wholeEnd(finishedAt: number): RunUpdate['change'] {
  return { status: 'COMPLETED', outputJson: '1', errorJson: undefined, finishedAt, slot: false }
}

/**
 * Wraps a pool so that it counts the errors of the server by their code. A turn that gives up a lock after a while would
 * hide that two wait for each other.
 */
function counted(pool: PostgresPool, codes: Map<string, number>): PostgresPool {
  return {
    async query(text, values) {
      try {
        return await pool.query(patient(text), values)
      } catch (error) {
        const { code } = error as { readonly code: string }
        codes.set(code, (codes.get(code) ?? 0) + 1)
        throw error
      }
    },
    connect: () => pool.connect(),
  }
}

describe('processes that complete, claim, cancel, time out and prune the same records at the same time', () => {
  it('never wait for each other in a circle', async () => {
    await using database = await freshDatabase()
    const field = new Field()
    const owners = Array.from({ length: PROCESSES }, (_, at) => {
      const pool = testPool(6, { connectionString: database.url })
      const storage = namedStorage(
        postgresStorage({ pool: counted(pool, field.codes), schema: 'locks', listen: false }),
      )
      return { pool, storage, hustler: new Hustler(field, storage, `p${at}`) }
    })
    for (const { storage } of owners) await storage.open()
    await Promise.all(owners.map(({ hustler }) => hustler.hustle()))
    for (const { storage, pool } of owners) {
      await storage.leave({ owner: 'nobody', now: field.next() })
      await pool.end()
    }
    await using client = await connectPostgres(database.url)
    const { rows } = await client.query<{ readonly deadlocks: number }>(
      'SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()',
    )
    expect(field.codes.get('40P01') ?? 0).toBe(0)
    expect(rows).toEqual([{ deadlocks: 0 }])
  }, 600_000)
})
