import type { RunRecord, WaitRecord } from '../../../contract/records.ts'
import type {
  AttemptFence,
  QueueRate,
  RunBinding,
  RunClaimed,
  RunFence,
  RunInsert,
  RunUpdated,
  Storage,
  TickResult,
} from '../../../contract/storage.ts'
import { LIVE_STATUSES } from '../../../contract/run-states.ts'
import { describeValue } from '../sameness.ts'
import { manualToken, queuedRun } from '../sample-records.ts'
import { idsOf, namesOf } from '../subject.ts'
import type { Command, CommandName } from './command.ts'
import { ListCalls, tagsOf } from './list-calls.ts'
import { type Call, pick, Stage, type StageOptions, UNIT } from './stage.ts'
import { StreamCalls } from './stream-calls.ts'

const TASKS = ['task-a', 'task-b'] as const
const LANES = [['narrow'], ['narrow'], ['free'], ['keyed', 'one'], ['keyed', 'two']] as const
const LIMITS: ReadonlyMap<string, number> = new Map([
  ['narrow', 1],
  ['keyed', 2],
])
const RATES: readonly (ReadonlyMap<string, QueueRate> | undefined)[] = [
  undefined,
  undefined,
  new Map([['free', { limit: 2, perMs: 60 * UNIT }]]),
  new Map([
    ['narrow', { limit: 1, perMs: 20 * UNIT }],
    ['keyed', { limit: 3, perMs: 100 * UNIT }],
  ]),
]
const VERSIONS: readonly (ReadonlyMap<string, string> | undefined)[] = [
  undefined,
  new Map([['task-a', '1']]),
  new Map([
    ['task-a', '2'],
    ['task-b', '2'],
  ]),
]
const QUESTIONS = [undefined, undefined, '"q"', '"p"']
const SUSPECTS = [0, 0, 0, 7]
const LEASES_MS = [40, 300, 1_000]
const LONGEST_LEASE = 2
/** Three engines on a stage, and what they do to it. */
export class ThreeEngines {
  readonly #stage: Stage
  readonly #streams: StreamCalls
  readonly #lists: ListCalls
  /** The current names of the engines. An engine that lost its lease takes a new name. */
  readonly #owners = ['engine-a', 'engine-b', 'engine-c']
  readonly #lost: string[] = []
  /** Those that have opened the storage. */
  readonly #opened = new Set<string>()
  #claims = 0

  constructor(options: StageOptions) {
    this.#stage = new Stage(options)
    this.#streams = new StreamCalls(this.#stage)
    this.#lists = new ListCalls(this.#stage)
  }

  /** The calls so far, for messages. */
  get story(): readonly string[] {
    return this.#stage.story
  }

  /**
   * Executes one command.
   *
   * @throws Mismatch when the answers differ.
   */
  async step(command: Command): Promise<void> {
    this.#stage.now += (command.pauseMs + 1) * UNIT
    await this.#commands[command.name](command)
  }

  /**
   * Compares the stored records.
   *
   * @throws Mismatch when they differ.
   */
  async compare(): Promise<void> {
    for (const id of this.#stage.runIds) {
      await this.#stage.both(`runs.get "${id}"`, (storage) => storage.runs.get(id))
      await this.#stage.both(`runs.waits "${id}"`, async (storage) => idsOf(await storage.runs.waits(id)))
      await this.#stage.both(`runs.asked "${id}"`, (storage) => storage.runs.asked(id))
      await this.#streams.compare(id)
    }
    for (const id of this.#stage.tokenIds)
      await this.#stage.both(`tokens.get "${id}"`, (storage) => storage.tokens.get(id, this.#stage.now))
  }

  /** Makes all engines leave, so that the storage can release its resources. */
  async leave(): Promise<void> {
    for (const owner of [...this.#owners, ...this.#lost])
      await this.#stage.storage.leave({ owner, now: this.#stage.now })
  }

  readonly #commands: Readonly<Record<CommandName, (command: Command) => Promise<unknown>>> = {
    insertRun: (command) => this.#insertRun(command),
    insertToken: (command) => this.#insertToken(command),
    claim: (command) => this.#claim(command),
    tick: (command) => this.#tick(command),
    await: (command) => this.#await(command),
    park: (command) => this.#fenced(command, 'runs.park', (fence) => (storage) => storage.runs.park(fence)),
    resume: (command) =>
      this.#fenced(command, 'runs.resume', (fence, { queue }) => {
        const queueLimit = LIMITS.get(queue)
        return (storage) => storage.runs.resume({ ...fence, queueLimit })
      }),
    settle: (command) => this.#settle(command),
    change: (command) => this.#change(command),
    get: async ({ token }) => {
      const id = this.#stage.recentToken(token)
      if (id === undefined) return
      await this.#stage.both(`tokens.get "${id}" at ${this.#stage.now}`, (storage) =>
        storage.tokens.get(id, this.#stage.now),
      )
    },
    finish: (command) =>
      this.#update(command, ({ epoch }) => ({
        expected: { status: ['EXECUTING'], epoch: command.isStale ? epoch - 1 : epoch },
        change: {
          status: 'COMPLETED',
          outputJson: '"done"',
          finishedAt: this.#stage.now,
          // With these it is an end as an attempt writes it.
          ...(command.option % 2 === 0 && { errorJson: undefined, slot: false }),
        },
      })),
    cancel: (command) =>
      this.#update(command, ({ epoch }) => {
        const slotUntil = this.#stage.now + ((command.option % 50) + 1) * UNIT
        return {
          expected: { status: LIVE_STATUSES },
          change: { status: 'CANCELED', epoch: epoch + 1, slot: true, slotUntil },
        }
      }),
    retry: (command) => this.#update(command, (record) => retried(record, this.#soon(command))),
    setAside: (command) =>
      this.#update(command, ({ epoch }) => ({
        expected: { status: ['EXECUTING', 'WAITING'], epoch: command.isStale ? epoch - 1 : epoch },
        change: { status: 'PENDING_VERSION' },
      })),
    goOn: (command) =>
      this.#update(command, () => ({
        expected: { status: ['PENDING_VERSION'] },
        change: { status: 'EXECUTING' },
      })),
    giveSlotBack: (command) =>
      this.#update(command, ({ status }) => ({
        expected: { status: ['EXECUTING', 'CANCELED'] },
        change: status === 'EXECUTING' ? { slot: false, returned: true } : { slot: false },
      })),
    release: (command) => this.#release(command),
    listRuns: (command) => this.#lists.runs(command),
    listTokens: async (command) => {
      await this.#settleDue(command)
      await this.#lists.tokens(command)
    },
    openStream: (command) => this.#streams.open(command),
    append: async (command) => {
      await this.#streams.append(command)
      if (command.option % 2 === 0) {
        // Streams of several attempts are rare else.
        const again = (record: RunRecord): RunChange => retried(record, this.#stage.now)
        await this.#update(command, again, await this.#streams.writer(command))
        await this.#claim(command)
        await this.#streams.append(command)
      }
      if (command.option % 4 === 3) await this.#streams.add(command)
    },
    read: (command) => this.#streams.read(command),
    prune: (command) => this.#prune(command),
    setQueue: (command) => this.#setQueue(command),
    leave: async ({ owner }) => {
      const request = { owner: this.#owner(owner), now: this.#stage.now }
      await this.#stage.both(`leave ${describeValue(request)}`, (storage) => storage.leave(request))
      // Another engine opens it in the place of that one.
      await this.#stage.storage.open()
    },
  }

  async #insertRun(command: Command): Promise<void> {
    const id = `run-${String(command.serial).padStart(4, '0')}`
    const { option } = command
    const [queue, concurrencyKey] = LANES[option % 5] ?? LANES[0]
    const parent = await this.#asker(command)
    const record = queuedRun(id, {
      taskId: TASKS[(option >> 3) % 2] ?? TASKS[0],
      queue,
      concurrencyKey,
      tags: tagsOf(command),
      createdAt: this.#stage.now,
      ...(option % 8 === 7 && { interruptions: 3 }),
      ...((option >> 4) % 4 === 0 && { status: 'DELAYED', wakeAt: this.#soon(command) }),
      ...(parent && { parentId: parent.id, rootId: parent.rootId, key: ownKey(parent, command) }),
      // Not a multiple of a unit, so that no two places in line are equal.
      ...(option % 4 === 0 && { priorityMs: ((option >> 2) % 13) * UNIT - 4 * UNIT - command.serial }),
      ...((option >> 4) % 5 === 0 && { expiresAt: this.#stage.now + ((option % 60) + 1) * UNIT }),
    })
    const writer = await this.#writer(command)
    const request = { ...this.#debounced(command, record, writer), ...writer }
    const answer = await this.#stage.both(`runs.insert ${describeValue(request)}`, (storage) =>
      storage.runs.insert(request),
    )
    if (answer !== 'stale') this.#stage.runIds.push(id)
  }

  /** The request for a run that is put off, of which there are a few keys, as one that may put off another. */
  #debounced(
    { token, option, serial }: Command,
    record: RunRecord,
    { fence, now }: Writer,
  ): Pick<RunInsert, 'record' | 'push' | 'bind'> {
    const { wakeAt } = record
    if (wakeAt === undefined || record.key !== undefined || this.#stage.storage.debounces !== true)
      return { record }
    const key = { scope: 'debounce', value: String(token % 3), expiresAt: record.createdAt }
    const withinMs = option % 3 === 0 ? 40 * UNIT : undefined
    const change = option % 2 === 0 ? { payloadJson: String(serial), tags: record.tags } : undefined
    const pushed = { record: { ...record, key }, push: { wakeAt, withinMs, change } }
    return fence === undefined ? pushed : { ...pushed, bind: bindingOf(fence, { serial, option, now }) }
  }

  async #insertToken(command: Command): Promise<void> {
    const id = `token-${String(command.serial).padStart(4, '0')}`
    const { option } = command
    const creator = await this.#asker(command)
    const record = manualToken(id, {
      kind: option % 3 === 0 ? 'SLEEP' : 'MANUAL',
      tags: tagsOf(command),
      createdAt: this.#stage.now,
      ...(creator && { runId: creator.id, key: ownKey(creator, command) }),
      questionJson: pick(QUESTIONS, option >> 4),
      ...(option % 4 !== 0 && { timeoutAt: this.#stage.now + ((option % 300) + 1) * UNIT }),
    })
    const request = { record, ...(await this.#writer(command)) }
    const call: Call = (storage) => storage.tokens.insert(request)
    if ((await this.#stage.both(`tokens.insert ${describeValue(request)}`, call)) !== 'stale')
      this.#stage.tokenIds.push(id)
  }

  /** Makes a new claim or a muster, or one that comes too late, by its owner or another one. */
  async #claim({ owner, option }: Command): Promise<void> {
    const isNew = option % 5 > 0
    if (isNew) this.#claims += 1
    const request = {
      by: this.#owner(owner),
      now: this.#stage.now,
      number: isNew ? this.#claims : Math.max(1, this.#claims - (option % 3)),
      taskIds: [[TASKS[0]], [TASKS[1]], TASKS][option % 3] ?? TASKS,
      versions: pick(VERSIONS, option >> 3),
      limit: option % 11 === 3 ? 0 : (option % 4) + 1,
      queueLimits: LIMITS,
      ...(this.#stage.storage.rates === true && { queueRates: pick(RATES, option >> 5) }),
      maxInterruptions: 1,
      suspects: pick(SUSPECTS, option >> 2),
      isTrial: option % 25 === 12,
    }
    await this.#stage.both(`runs.claim ${describeValue(request)}`, async (storage) => {
      const { runs, ended, isTrialDue = false }: RunClaimed = await storage.runs.claim(request)
      const isMuster = request.limit === 0
      const given = isMuster ? [...runs].sort((one, other) => (one.id < other.id ? -1 : 1)) : runs
      return { runs: given, ended: inOrder(ended), isTrialDue }
    })
  }

  /** Leaves nothing due: the tick of an engine that has lost its lease settles nothing, but that of its next name does. */
  async #settleDue(command: Command): Promise<void> {
    while (!(await this.#tick(command)));
  }

  /** Whether the engine had its lease still. */
  async #tick({ owner, option }: Command): Promise<boolean> {
    const name = this.#owner(owner)
    if (!this.#opened.has(name)) await this.#stage.storage.open()
    this.#opened.add(name)
    const leaseMs = LEASES_MS[option % LEASES_MS.length] ?? 40
    const request = {
      owner: name,
      leaseUntil: this.#stage.now + leaseMs * UNIT,
      now: this.#stage.now,
      limit: 1_000,
    }
    const answer = await this.#stage.both(`tick ${describeValue(request)}`, async (storage) => {
      const { alive, ready, settled, expired, nextDue, nextLease }: TickResult = await storage.tick(request)
      return {
        alive,
        ready: namesOf(ready),
        settled: [...settled].sort((one, other) => (one.id < other.id ? -1 : 1)),
        expired: inOrder(expired),
        nextDue: nextDue?.at,
        nextLease: nextLease?.at,
      }
    })
    const { alive } = answer as { readonly alive: boolean }
    if (!alive) {
      this.#lost.push(name)
      this.#owners[owner] = `${name}'`
    }
    return alive
  }

  async #await(command: Command): Promise<void> {
    const { token, option } = command
    const child = pick(this.#stage.runIds, token)
    const ofRun = child === undefined ? undefined : `run:${child}`
    const tokenId = option % 6 === 0 ? ofRun : this.#stage.recentToken(token)
    if (tokenId === undefined) return
    await this.#fenced(command, `tokens.await "${tokenId}"`, ({ id, ...fence }) => {
      return (storage) => storage.tokens.await({ tokenId, runId: id, ...fence })
    })
  }

  async #settle(command: Command): Promise<void> {
    const id = this.#stage.recentToken(command.token)
    if (id === undefined) return
    const outputJson = String(command.serial)
    const question = pick(QUESTIONS, command.option)
    const answeredJson = command.option % 2 === 0 ? undefined : outputJson
    const request = { id, outputJson, question, answeredJson, ...(await this.#writer(command)) }
    await this.#stage.both(`tokens.settle ${describeValue(request)}`, async (storage) => {
      const settled = await storage.tokens.settle(request)
      if (settled === undefined || settled === 'stale') return settled
      return { ...settled, ready: namesOf(settled.ready) }
    })
  }

  async #change(command: Command): Promise<void> {
    const { token, option } = command
    const id = this.#stage.recentToken(token)
    if (id === undefined) return
    const { now } = this.#stage
    const request = {
      id,
      question: pick(QUESTIONS, option),
      questionJson: pick(QUESTIONS, option >> 2),
      timeoutAt: option % 3 === 0 ? undefined : now + ((option % 300) + 1) * UNIT,
      ...(await this.#writer(command)),
    }
    await this.#stage.both(`tokens.change ${describeValue(request)}`, (storage) =>
      storage.tokens.change(request),
    )
  }

  async #release({ run, token, owner, option }: Command): Promise<void> {
    const runId = pick(this.#stage.runIds, run)
    const tokenId = this.#stage.recentToken(token)
    if (runId === undefined || tokenId === undefined) return
    const holder = (await this.#stage.reference.runs.get(runId))?.owner
    const wait: WaitRecord = {
      tokenId,
      runId,
      owner: option % 2 === 0 ? (holder ?? '') : this.#owner(owner),
    }
    await this.#stage.both(`tokens.release ${describeValue(wait)}`, (storage) =>
      storage.tokens.release([wait]),
    )
  }

  /** Pauses or resumes a queue, or sets or resets its limit. Without effect on a storage that has no queues. */
  async #setQueue({ option, owner }: Command): Promise<void> {
    const { storage, reference, now } = this.#stage
    if (storage.queues === undefined || reference.queues === undefined) return
    const [name] = LANES[option % LANES.length] ?? LANES[0]
    const what = (option >> 3) % 8
    const limit = what === 7 ? null : what - 4
    const change = { name, ...(what < 4 ? { isPaused: what === 0 } : { limit }), now, by: this.#owner(owner) }
    await this.#stage.both(`queues.set ${describeValue(change)}`, (one) => one.queues?.set(change))
    await this.#stage.both(`queues.get "${name}"`, (one) => one.queues?.get(name))
  }

  /** Prunes in batches to the end, because the order in which records are pruned is not specified. */
  async #prune(command: Command): Promise<void> {
    // Nor is it specified when an ended lease is forgotten, so there is none here.
    for (const owner of this.#owners.keys()) await this.#tick({ ...command, owner, option: LONGEST_LEASE })
    const { option } = command
    const { now } = this.#stage
    const request = { before: now - (option % 100) * UNIT, limit: (option % 4) + 1, now }
    await this.#stage.both(`prune ${describeValue(request)} to the end`, async (storage) => {
      let total = 0
      for (let went = 1; went > 0; total += went) went = await storage.prune(request)
      return total
    })
  }

  async #update(
    command: Command,
    request: (record: RunRecord) => RunChange,
    attempt?: RunRecord,
  ): Promise<void> {
    const record = attempt ?? (await this.#stage.attempted(command)) ?? (await this.#stage.run(command.run))
    if (record === undefined) return
    const full = {
      id: record.id,
      ...request(record),
      by: record.owner ?? this.#owner(0),
      now: this.#stage.now,
    }
    await this.#stage.both(`runs.update ${describeValue(full)}`, async (storage) => {
      const updated = await storage.runs.update(full)
      return updated && inOrder([updated])
    })
  }

  async #fenced(
    command: Command,
    name: string,
    callOf: (fence: RunFence, record: RunRecord) => Call,
  ): Promise<void> {
    const record = (await this.#stage.attempted(command)) ?? (await this.#stage.run(command.run))
    if (record === undefined) return
    const { id, epoch, parks = 0, status, owner = 'nobody' } = record
    const attempt = { id, epoch: command.isStale ? epoch - 1 : epoch, by: owner, now: this.#stage.now }
    // Now and then that of a call which comes late.
    const late = command.option % 5 === 0 ? 1 : 0
    const fence = {
      ...attempt,
      parks: parks - late + (name === 'runs.park' && status === 'EXECUTING' ? 1 : 0),
    }
    await this.#stage.both(`${name} ${describeValue(fence)}`, callOf(fence, record))
  }

  /** The writer of a command: no run, or an attempt that may have lost its run. */
  async #writer(command: Command): Promise<Writer> {
    const { option, owner, isStale } = command
    const now = this.#stage.now
    const record = option % 4 > 0 ? undefined : await this.#stage.attempted(command)
    if (record === undefined) return { now, by: this.#owner(owner) }
    const epoch = isStale ? record.epoch - 1 : record.epoch
    return { now, by: record.owner ?? 'nobody', fence: { runId: record.id, epoch } }
  }

  /** A live run that asks for what is inserted, or none: it is inserted from outside. */
  async #asker({ option, run }: Command): Promise<RunRecord | undefined> {
    const record = option % 7 > 2 ? undefined : await this.#stage.run(run)
    return record !== undefined && LIVE_STATUSES.includes(record.status) ? record : undefined
  }

  #owner(index: number): string {
    return pick(this.#owners, index) ?? ''
  }

  #soon({ option, serial }: Command): number {
    return this.#stage.now + ((option % 50) + 1) * UNIT + serial
  }
}

type RunChange = Pick<Parameters<Storage['runs']['update']>[0], 'expected' | 'change'>

/** Puts a run off that executes, until it is claimed for another attempt. */
function retried({ epoch }: RunRecord, wakeAt: number): RunChange {
  return { expected: { status: ['EXECUTING'], epoch }, change: { status: 'DELAYED', wakeAt } }
}

interface Writer {
  readonly now: number
  readonly by: string
  readonly fence?: { readonly runId: string; readonly epoch: number }
}

/** A key of the run's own, of which there are a few. */
function ownKey({ id }: RunRecord, { token }: Command): NonNullable<RunRecord['key']> {
  return { scope: id, value: String(token % 5) }
}

/** One of two places of a run. */
function bindingOf(
  { runId }: AttemptFence,
  { serial, option, now }: { readonly serial: number; readonly option: number; readonly now: number },
): RunBinding {
  const key = { scope: runId, value: `place ${(option >> 6) % 2}` }
  const fields = { kind: 'BINDING', status: 'COMPLETED', tags: [], runId } as const
  return { ...fields, id: `binding-${serial}`, key, createdAt: now, completedAt: now }
}

/** The ended runs sorted by id, because their order is not specified. */
function inOrder(ended: readonly RunUpdated[]): readonly unknown[] {
  const sorted = [...ended].sort((one, other) => (one.record.id < other.record.id ? -1 : 1))
  return sorted.map(({ record, ready }) => ({ record, ready: namesOf(ready) }))
}
