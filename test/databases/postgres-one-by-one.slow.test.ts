import { afterAll, expect, it, onTestFinished } from 'vitest'
import { postgresStorage } from 'waitpoint/postgres'
import { seededRandom } from '../../src/clock/seeded-random.ts'
import { functionSql } from '../../src/storage/postgres/schema.ts'
import { freshSchema, type TestPool, testPool } from './postgres-schemas.ts'

const SEED = process.env['WAITPOINT_PROPERTY_SEED'] ?? '1'
const ROUNDS = 300
const CALLS = 12
/** So many of the newest records are in use: calls of a turn often meet at one. */
const RUNS = 12
const TOKENS = 12
const LEASE_MS = 25

type Request = Readonly<Record<string, unknown>>

interface KnownRun {
  readonly id: string
  readonly epoch: number
  readonly owner: string | null
  readonly parks: number | null
  readonly status: string
}

interface KnownWait extends Pick<KnownRun, 'epoch' | 'parks'> {
  readonly run: string
  readonly token: string
  readonly owner: string
  readonly is_parked: boolean
}

interface Known {
  readonly runs: readonly KnownRun[]
  readonly tokens: readonly string[]
  readonly waits: readonly KnownWait[]
}

/** What tables have, but for the places of tokens: in a turn, usual ones come first. */
const DUMPED = {
  runs: `to_jsonb(row) - 'seq'`,
  tokens: `to_jsonb(row) - 'seq'`,
  ...Object.fromEntries(
    ['waits', 'run_tags', 'token_tags', 'streams', 'owners', 'queue_starts'].map((table) => [
      table,
      'to_jsonb(row)',
    ]),
  ),
}

/** Two schemas with the same records: one is asked turns, the other one request after the other. */
class Sides {
  readonly #pool: TestPool
  readonly #schemas: readonly [turns: string, singles: string]
  readonly met = new Set<string>()

  constructor(pool: TestPool, schemas: readonly [string, string]) {
    this.#pool = pool
    this.#schemas = schemas
  }

  async #ask(side: 0 | 1, kind: string, requests: readonly Request[]): Promise<readonly unknown[]> {
    const { rows } = await this.#pool.query(functionSql(this.#schemas[side], kind), [
      JSON.stringify(requests),
    ])
    const [{ answer } = { answer: '[]' }] = rows as readonly { readonly answer: string }[]
    return JSON.parse(answer) as readonly unknown[]
  }

  async #askEach(side: 0 | 1, kind: string, requests: readonly Request[]): Promise<readonly unknown[]> {
    const answers: unknown[] = []
    for (const request of requests) answers.push(...(await this.#ask(side, kind, [request])))
    return answers
  }

  /** Asks both; what they answer, and what is stored then, is the same. `alone` is what is asked one by one, if it is something else. */
  async ask(
    kind: string,
    requests: readonly Request[],
    alone: readonly Request[] = requests,
  ): Promise<unknown[]> {
    // As the turns do: one of these may be wrong.
    const together = await this.#ask(0, kind, requests).catch(() => this.#askEach(0, kind, requests))
    const each = await this.#askEach(1, kind, alone)
    const ofTurns = { kind, requests, answers: together.map(inOrder), stored: await this.#dump(0) }
    expect(ofTurns).toEqual({ kind, requests, answers: each.map(inOrder), stored: await this.#dump(1) })
    for (const answer of together) this.#meet(kind, answer)
    return [...together]
  }

  #meet(kind: string, answer: unknown): void {
    const { won, ready, resumed, outcome } = (answer ?? {}) as Readonly<Record<string, unknown>>
    const [first, second] = Array.isArray(answer) ? (answer as readonly unknown[]) : []
    const { runs, ended } = (first ?? {}) as Readonly<Record<string, unknown>>
    if (won === true && isFull(ready)) this.met.add('a completion that makes a wait ready')
    if (isFull(resumed)) this.met.add('a completion that resumes a run')
    if (typeof outcome === 'string') this.met.add(`a wait that is ${outcome}`)
    if (kind === 'end_runs' && isFull(second)) this.met.add('an end that makes a wait ready')
    if (kind === 'insert_tokens' && first === 1) this.met.add('a key that has a token')
    if (kind === 'park_runs' && isFull(answer)) this.met.add('a run that is parked')
    if (isFull(runs) && isFull(ended)) this.met.add('a claim that starts runs and ends others')
  }

  async change(sql: (schema: string) => string): Promise<void> {
    for (const schema of this.#schemas) await this.#pool.query(sql(schema))
  }

  async #dump(side: 0 | 1): Promise<unknown> {
    const tables = Object.entries(DUMPED).map(
      ([table, columns]) =>
        `'${table}', (SELECT coalesce(json_agg(${columns} ORDER BY (${columns})::text), '[]') FROM ${this.#schemas[side]}.${table} AS row)`,
    )
    const { rows } = await this.#pool.query(`SELECT json_build_object(${tables.join(', ')}) AS dump`)
    return (rows as readonly { readonly dump: unknown }[])[0]?.dump
  }

  async known(): Promise<Known> {
    const [schema] = this.#schemas
    const { rows } = await this.#pool.query(`SELECT
      (SELECT coalesce(json_agg(one), '[]') FROM (
        SELECT id, epoch, owner, parks, status FROM ${schema}.runs ORDER BY (owner IS NULL), seq DESC LIMIT ${RUNS}) AS one) AS runs,
      (SELECT coalesce(json_agg(id), '[]') FROM (SELECT id FROM ${schema}.tokens ORDER BY seq DESC LIMIT ${TOKENS}) AS one) AS tokens,
      (SELECT coalesce(json_agg(json_build_object('run', run_id, 'token', token_id, 'owner', w.owner, 'epoch', epoch, 'parks', parks,
        'is_parked', status = 'WAITING' AND held = 1) ORDER BY run_id, token_id), '[]')
        FROM ${schema}.waits w JOIN ${schema}.runs r ON r.id = run_id WHERE ready = 0) AS waits`)
    return (rows as readonly Known[])[0] ?? { runs: [], tokens: [], waits: [] }
  }
}

/** The waits that became ready come in any order. */
function inOrder(answer: unknown): unknown {
  if (Array.isArray(answer))
    return (answer as readonly unknown[]).map((part) => (isList(part) ? sorted(part) : part))
  if (typeof answer !== 'object' || answer === null || !('ready' in answer)) return answer
  // A tick answers the time of the server.
  if ('alive' in answer) return answer.alive
  return { ...answer, ready: isList(answer.ready) ? sorted(answer.ready) : answer.ready }
}

function isList(part: unknown): part is readonly unknown[] {
  return Array.isArray(part) && part.every((each) => Array.isArray(each))
}

function isFull(part: unknown): boolean {
  return Array.isArray(part) && part.length > 0
}

function sorted(list: readonly unknown[]): readonly unknown[] {
  return list.map((each) => JSON.stringify(each)).sort()
}

/** Asks for anything that engines ask for, also what they have asked for before. */
class Engines {
  readonly #sides: Sides
  readonly #random = seededRandom(SEED)
  readonly #owners = ['one 0', 'two 0', 'three 0']
  readonly #claims = new Map<string, number>()
  readonly #asked = new Map<string, Request[]>()
  #known: Known = { runs: [], tokens: [], waits: [] }
  #latest: Request = { token: { kind: 'MANUAL', status: 'WAITING', created_at: 1 }, now: 1, skew: 0 }
  #now = 1_000
  #count = 0

  constructor(sides: Sides) {
    this.#sides = sides
  }

  #is(share: number): boolean {
    return this.#random.fraction() < share
  }

  #pick<Item>(items: readonly [Item, ...Item[]]): Item
  #pick<Item>(items: readonly Item[]): Item | undefined
  #pick<Item>(items: readonly Item[]): Item | undefined {
    return items[Math.floor(this.#random.fraction() * items.length)]
  }

  #next(): number {
    return (this.#count += 1)
  }

  get #run(): KnownRun {
    return this.#pick(this.#known.runs) ?? UNKNOWN
  }

  get #attempt(): { readonly epoch: number; readonly by_owner: string; readonly run: string } {
    const { id, epoch, owner } = this.#run
    const isRight = this.#is(0.9)
    return { run: id, epoch: isRight ? epoch : epoch - 1, by_owner: owner ?? 'one 0' }
  }

  get #token(): string {
    return this.#is(0.05) ? 'unknown' : (this.#pick(this.#known.tokens) ?? 'unknown')
  }

  async live(rounds: number): Promise<void> {
    if (this.#count === 0) await this.#tick()
    for (let round = 0; round < rounds; round += 1) {
      this.#now += Math.floor(this.#random.fraction() * 4)
      if (round % 40 === 39)
        await this.#sides.ask('prune', [{ before: this.#now - 40, most: 500, now: this.#now }])
      this.#known = await this.#sides.known()
      await this.#turn(this.#pick(KINDS))
    }
  }

  async #turn(kind: (typeof KINDS)[number]): Promise<void> {
    switch (kind) {
      case 'insert_runs':
        for (let at = 0; at < 6; at += 1) await this.#sides.ask(kind, [this.#newRun()])
        for (let at = 0; at < 3; at += 1) await this.#change()
        return
      case 'claim_runs':
        return this.#claim()
      case 'tick':
        return this.#tick()
      case 'insert_tokens':
        return this.#ask(kind, () => (this.#is(0.2) ? this.#likeLatest() : this.#newToken()))
      case 'await_tokens':
        return this.#ask(kind, () => this.#wait(), 'token_id')
      case 'park_runs':
        return this.#ask(kind, () => this.#fence(), 'id')
      case 'resume_runs':
        return this.#ask(kind, () => ({ ...this.#fence(), is_hinted: this.#is(0.5) }), 'id')
      case 'settle_tokens':
        return this.#ask(kind, () => this.#completion(), 'id')
      case 'end_runs':
        return this.#ask(kind, () => this.#end(), 'id', 4)
    }
  }

  /** A turn of one kind, with some of the requests of an earlier one, whose answers were lost. */
  async #ask(kind: string, request: () => Request, lockOf?: string, most = CALLS): Promise<void> {
    const fresh = Array.from({ length: 2 + Math.floor(this.#random.fraction() * most) }, request)
    const lost = (this.#asked.get(kind) ?? []).filter(() => this.#is(0.1))
    this.#asked.set(kind, fresh)
    const again = lost.map((each) => ({ ...each, again: true }))
    // These are of earlier instants. In a turn, a wait before a deadline is registered before a later one finds that it has passed.
    const requests: Request[] = kind === 'await_tokens' ? [...again, ...fresh] : [...fresh, ...again]
    if (lockOf !== undefined)
      requests.sort((one, other) =>
        String(one[lockOf]) < String(other[lockOf]) ? -1 : Number(one[lockOf] !== other[lockOf]),
      )
    await this.#sides.ask(kind, kind === 'end_runs' ? this.#inOneOrder(requests) : requests)
  }

  /** A turn may end a run before one that waits for it and has several requests in it. Such an end is left out. */
  #inOneOrder(ends: readonly Request[]): readonly Request[] {
    const isTwice = (run: string): boolean => ends.filter(({ id }) => id === run).length > 1
    return ends.filter(
      ({ id }) => !this.#known.waits.some(({ token, run }) => token === `run:${String(id)}` && isTwice(run)),
    )
  }

  /** A run waits for runs of later ids only: in a turn that ends both, it ends first. */
  #newRun(): Request {
    const id = `r${Math.floor(this.#random.fraction() * 3)} ${this.#next()}`
    const run = {
      ...{ id, task_id: 'task', status: 'QUEUED', attempt: 0, policy_attempt: 0, interruptions: 0, epoch: 0 },
      ...{
        slot: 0,
        returned: 0,
        root_id: id,
        queue: 'queue',
        lane: 'queue',
        created_at: this.#now,
        updated_at: this.#now,
      },
      ...(this.#is(0.1) && { expires_at: this.#now + 20 }),
    }
    return { run, by_owner: 'one 0', now: this.#now, tries: true, skew: 0 }
  }

  /** What other calls store of a run. */
  async #change(): Promise<void> {
    const { id } = this.#run
    const at = this.#pick(['returned = 1', 'interruptions = 2', `streams = '["k"]'`] as const)
    await this.#sides.change(
      (schema) => `UPDATE ${schema}.runs SET ${at} WHERE id = '${id}' AND ended_at IS NULL`,
    )
    if (!at.startsWith('streams')) return
    await this.#sides.change(
      (schema) => `INSERT INTO ${schema}.streams (run_id, key, next, before, attempt, first)
      SELECT id, 'k', 0, '[]', attempt, 0 FROM ${schema}.runs WHERE id = '${id}' ON CONFLICT (run_id, key) DO UPDATE SET ending = NULL`,
    )
  }

  /** A claim that starts its runs together, and one that counts slots before each. */
  async #claim(): Promise<void> {
    const by = this.#pick(this.#owners) ?? ''
    const number = (this.#claims.get(by) ?? 0) + 1
    if (this.#is(0.9)) this.#claims.set(by, number)
    const request = {
      ...{
        by_owner: by,
        now: this.#now,
        number,
        task_ids: ['task'],
        most: 1 + Math.floor(this.#random.fraction() * 8),
      },
      ...{ max_interruptions: 2, versions: { task: 'v1' } },
      ...(this.#is(0.3) && { rates: { queue: { limit: 3, perMs: 5 } } }),
    }
    await this.#sides.ask('claim_runs', [request], [{ ...request, limits: { other: 1 } }])
  }

  /** Each owner but one: a lease may end. */
  async #tick(): Promise<void> {
    const late = this.#count === 0 ? -1 : Math.floor(this.#random.fraction() * 6)
    for (const [at, owner] of this.#owners.entries()) {
      if (at === late) continue
      const request = { owner, lease_until: this.#now + LEASE_MS, now: this.#now, most: 100 }
      const [answer] = await this.#sides.ask('tick', [request])
      if ((answer as { readonly alive: boolean }).alive) continue
      const [name = '', lives = ''] = owner.split(' ')
      this.#owners[at] = `${name} ${Number(lives) + 1}`
    }
    this.#now += 1
  }

  /** Another token with the key of the latest one. */
  #likeLatest(): Request {
    const { token, ...rest } = this.#latest
    return { ...rest, token: { ...(token as Request), id: `t ${this.#next()}` } }
  }

  #newToken(): Request {
    const { run, epoch, by_owner } = this.#attempt
    const isOfRun = this.#is(0.6)
    const isSettled = this.#is(0.1)
    const token: Record<string, unknown> = {
      ...{
        id: `t ${this.#is(0.02) ? 1 : this.#next()}`,
        kind: this.#pick(['MANUAL', 'SLEEP', 'ONCE'] as const),
        created_at: this.#now,
      },
      ...{ status: isSettled ? 'COMPLETED' : 'WAITING', completed_at: isSettled ? this.#now : undefined },
      ...(this.#is(0.3) && { timeout_at: this.#now + Math.floor(this.#random.fraction() * 20) - 2 }),
      ...(this.#is(0.1) && { tags: '["a"]', tag_list: ['a'] }),
      ...(isOfRun && { run_id: run }),
    }
    const value = `key ${Math.floor(this.#random.fraction() * 3)}`
    const isKeyed = this.#is(0.6)
    if (isKeyed) Object.assign(token, { key_scope: isOfRun ? run : 'all', key_value: value })
    if (isKeyed && this.#is(0.3)) token['key_expires_at'] = this.#now + 3
    this.#latest = {
      ...{ token, by_owner, now: this.#now, tries: true },
      ...(isOfRun && { fence_run: run, fence_epoch: epoch }),
      ...(isKeyed && !isOfRun && { key_lock: `all\n${value}` }),
      skew: this.#is(0.95) ? 0 : 8,
    }
    return this.#latest
  }

  #wait(): Request {
    const { run: run_id, epoch, by_owner } = this.#attempt
    const later = this.#known.runs.filter(({ id }) => id > run_id)
    const ofRun = this.#is(0.3) ? this.#pick(later) : undefined
    const token_id = ofRun === undefined ? this.#token : `run:${ofRun.id}`
    return {
      token_id,
      run_id,
      epoch,
      by_owner,
      now: this.#now,
      place: this.#next(),
      call: `call ${this.#next()}`,
    }
  }

  #fence(): Request {
    const { id, epoch, owner, parks, status } = this.#run
    const attempt = { epoch: this.#is(0.9) ? epoch : epoch - 1, by_owner: owner ?? 'one 0' }
    // The park that it is in or comes next, or now and then one before.
    const next = (parks ?? 0) + (status === 'WAITING' ? 0 : 1)
    return { id, ...attempt, parks: this.#is(0.9) ? next : next - 1, now: this.#now }
  }

  #completion(): Request {
    const parked = this.#known.waits.filter((each) => each.is_parked)
    const wait = this.#is(0.7) ? this.#pick(this.#is(0.7) ? parked : this.#known.waits) : undefined
    const { run, epoch } = this.#attempt
    return {
      ...{
        id: wait?.token ?? this.#token,
        output: `${this.#next()}`,
        by_owner: wait?.owner ?? 'one 0',
        now: this.#now,
      },
      call: `call ${this.#next()}`,
      ...(this.#is(0.1) && { times_out: true }),
      ...(this.#is(0.1) && { fence_run: run, fence_epoch: epoch }),
      ...(wait !== undefined &&
        this.#is(0.7) && { resume_run: wait.run, resume_epoch: wait.epoch, resume_parks: wait.parks }),
    }
  }

  #end(): Request {
    const wait = this.#is(0.3)
      ? this.#pick(this.#known.waits.filter(({ token }) => token.startsWith('run:')))
      : undefined
    const { id, epoch } = this.#known.runs.find((run) => `run:${run.id}` === wait?.token) ?? this.#run
    return {
      ...{
        id,
        statuses: this.#is(0.5) ? ['EXECUTING'] : ['EXECUTING', 'WAITING'],
        now: this.#now,
        call: `call ${this.#next()}`,
      },
      ...(this.#is(0.8) && { epoch: this.#is(0.9) ? epoch : epoch - 1 }),
      ...{ status: this.#pick(['COMPLETED', 'FAILED'] as const), output: '1', finished_at: this.#now - 1 },
    }
  }
}

const UNKNOWN: KnownRun = { id: 'unknown', epoch: 1, owner: null, parks: null, status: 'QUEUED' }

const KINDS = [
  ...(['insert_runs', 'claim_runs', 'claim_runs', 'tick', 'tick', 'insert_tokens', 'insert_tokens'] as const),
  ...([
    'await_tokens',
    'await_tokens',
    'park_runs',
    'resume_runs',
    'settle_tokens',
    'settle_tokens',
    'end_runs',
  ] as const),
] as const

/** Until then the records are dull ones. */
const TO_MEET = [
  'a claim that starts runs and ends others',
  'a completion that makes a wait ready',
  'a completion that resumes a run',
  'a key that has a token',
  'a run that is parked',
  'a wait that is registered',
  'a wait that is settled',
  'a wait that is stale',
  'a wait that is unknown',
  'an end that makes a wait ready',
]

const pool = testPool(2)
afterAll(() => pool.end())

it('answers and stores for a turn what it does for its requests one by one', async () => {
  const schemas = [await freshSchema(pool), await freshSchema(pool)] as const
  for (const schema of schemas) {
    const storage = postgresStorage({ pool, schema, listen: false })
    await storage.open()
    onTestFinished(async () => {
      await storage.leave({ owner: 'nobody', now: 0 })
    })
  }
  const sides = new Sides(pool, schemas)
  const engines = new Engines(sides)
  await engines.live(ROUNDS)
  while (TO_MEET.some((each) => !sides.met.has(each))) await engines.live(1)
})
