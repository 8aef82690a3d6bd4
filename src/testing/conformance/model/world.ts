import type { RunRecord, RunStatus, WaitRecord } from '../../../contract/records.ts'
import type { RunClaimed, RunUpdated, Storage, TickResult } from '../../../contract/storage.ts'
import { isSame, Mismatch, show } from '../sameness.ts'
import { manualToken, queuedRun } from '../sample-records.ts'
import { idsOf, namesOf, type TestedStorage } from '../subject.ts'
import type { Command, CommandName } from './command.ts'

/** What a storage that is judged and the one it is compared with are called with alike. */
type Call = (storage: Storage) => unknown

const TASKS = ['task-a', 'task-b'] as const
const LANES = [['narrow'], ['narrow'], ['free'], ['keyed', 'one'], ['keyed', 'two']] as const
const LIMITS: ReadonlyMap<string, number> = new Map([
  ['narrow', 1],
  ['keyed', 2],
])
const STATUSES: Readonly<Partial<Record<CommandName, readonly RunStatus[]>>> = {
  park: ['EXECUTING'],
  resume: ['WAITING'],
}
const LIVE: readonly RunStatus[] = ['DELAYED', 'QUEUED', 'EXECUTING', 'WAITING']
/** Instants are a multiple of it, and those at which runs become ready a little more, so that no two are the same. */
const UNIT = 1_000

/** So many of the newest tokens are spoken of: the others are settled, mostly. */
const RECENT = 5

interface WorldOptions {
  readonly storage: TestedStorage
  readonly reference: Storage
  readonly origin: number
}

/** Two storages that are told the same; the first one that answers differently ends it. */
export class World {
  /** The calls made so far, for people. */
  readonly story: string[] = []
  readonly #storage: TestedStorage
  readonly #reference: Storage
  readonly #runIds: string[] = []
  readonly #tokenIds: string[] = []
  /** The current names of three engines: one that lost its lease goes on under another. */
  readonly #owners = ['engine-a', 'engine-b', 'engine-c']
  readonly #lost: string[] = []
  #now: number
  #claims = 0

  constructor({ storage, reference, origin }: WorldOptions) {
    this.#storage = storage
    this.#reference = reference
    this.#now = origin
  }

  /** Executes one command. @throws Mismatch */
  async step(command: Command): Promise<void> {
    this.#now += (command.pauseMs + 1) * UNIT
    await this.#commands[command.name](command)
  }

  /** Compares what is stored. @throws Mismatch */
  async compare(): Promise<void> {
    for (const id of this.#runIds) {
      await this.#both(`runs.get "${id}"`, (storage) => storage.runs.get(id))
      await this.#both(`runs.waits "${id}"`, async (storage) => idsOf(await storage.runs.waits(id)))
    }
    for (const id of this.#tokenIds)
      await this.#both(`tokens.get "${id}"`, (storage) => storage.tokens.get(id, this.#now))
  }

  /** All engines leave, so that the storage can give back what it holds. */
  async leave(): Promise<void> {
    for (const owner of [...this.#owners, ...this.#lost]) await this.#storage.leave({ owner, now: this.#now })
  }

  readonly #commands: Readonly<Record<CommandName, (command: Command) => Promise<void>>> = {
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
    get: async ({ token }) => {
      const id = pick(this.#tokenIds.slice(-RECENT), token)
      if (id === undefined) return
      await this.#both(`tokens.get "${id}" at ${this.#now}`, (storage) => storage.tokens.get(id, this.#now))
    },
    finish: (command) =>
      this.#update(command, ({ epoch }) => ({
        expected: { status: ['EXECUTING'], epoch: command.isStale ? epoch - 1 : epoch },
        change: { status: 'COMPLETED', outputJson: '"done"', finishedAt: this.#now },
      })),
    cancel: (command) =>
      this.#update(command, ({ epoch }) => {
        const slotUntil = this.#now + ((command.option % 50) + 1) * UNIT
        return {
          expected: { status: LIVE },
          change: { status: 'CANCELED', epoch: epoch + 1, slot: true, slotUntil },
        }
      }),
    retry: (command) =>
      this.#update(command, ({ epoch }) => ({
        expected: { status: ['EXECUTING'], epoch },
        change: { status: 'DELAYED', wakeAt: this.#soon(command) },
      })),
    giveSlotBack: (command) =>
      this.#update(command, ({ status }) => ({
        expected: { status: ['EXECUTING', 'CANCELED'] },
        change: status === 'EXECUTING' ? { slot: false, returned: true } : { slot: false },
      })),
    release: (command) => this.#release(command),
    leave: async ({ owner }) => {
      const request = { owner: this.#owner(owner), now: this.#now }
      await this.#both(`leave ${show(request)}`, (storage) => storage.leave(request))
    },
  }

  async #insertRun(command: Command): Promise<void> {
    const id = `run-${String(command.serial).padStart(4, '0')}`
    const { option } = command
    const [queue, concurrencyKey] = LANES[option % 5] ?? LANES[0]
    const record = queuedRun(id, {
      taskId: TASKS[(option >> 3) % 2] ?? TASKS[0],
      queue,
      concurrencyKey,
      createdAt: this.#now,
      ...((option >> 4) % 4 === 0 && { status: 'DELAYED', wakeAt: this.#soon(command) }),
      ...((option >> 4) % 5 === 0 && { expiresAt: this.#now + ((option % 60) + 1) * UNIT }),
    })
    const request = { record, ...(await this.#writer(command)) }
    const answer = await this.#both(`runs.insert ${show(request)}`, (storage) => storage.runs.insert(request))
    if (answer !== 'stale') this.#runIds.push(id)
  }

  async #insertToken(command: Command): Promise<void> {
    const id = `token-${String(command.serial).padStart(4, '0')}`
    const { option } = command
    const record = manualToken(id, {
      kind: option % 3 === 0 ? 'SLEEP' : 'MANUAL',
      createdAt: this.#now,
      ...(option % 4 !== 0 && { timeoutAt: this.#now + ((option % 300) + 1) * UNIT }),
    })
    const request = { record, ...(await this.#writer(command)) }
    const call: Call = (storage) => storage.tokens.insert(request)
    if ((await this.#both(`tokens.insert ${show(request)}`, call)) !== 'stale') this.#tokenIds.push(id)
  }

  /** A new claim, or one that was made before, by this owner or another. */
  async #claim({ owner, option }: Command): Promise<void> {
    const isNew = option % 5 > 0
    if (isNew) this.#claims += 1
    const request = {
      by: this.#owner(owner),
      now: this.#now,
      number: isNew ? this.#claims : Math.max(1, this.#claims - (option % 3)),
      taskIds: [[TASKS[0]], [TASKS[1]], TASKS][option % 3] ?? TASKS,
      limit: (option % 4) + 1,
      queueLimits: LIMITS,
      maxInterruptions: 1,
    }
    await this.#both(`runs.claim ${show(request)}`, async (storage) => {
      const { runs, ended }: RunClaimed = await storage.runs.claim(request)
      return { runs, ended: inOrder(ended) }
    })
  }

  async #tick({ owner, option }: Command): Promise<void> {
    const name = this.#owner(owner)
    const leaseMs = [40, 300, 1_000][option % 3] ?? 40
    const request = { owner: name, leaseUntil: this.#now + leaseMs * UNIT, now: this.#now, limit: 1_000 }
    const answer = await this.#both(`tick ${show(request)}`, async (storage) => {
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
    if ((answer as { readonly alive: boolean }).alive) return
    this.#lost.push(name)
    this.#owners[owner] = `${name}'`
  }

  async #await(command: Command): Promise<void> {
    const { token, option } = command
    const child = pick(this.#runIds, token)
    const ofRun = child === undefined ? undefined : `run:${child}`
    const tokenId = option % 6 === 0 ? ofRun : pick(this.#tokenIds.slice(-RECENT), token)
    if (tokenId === undefined) return
    await this.#fenced(command, `tokens.await "${tokenId}"`, ({ id, ...fence }) => {
      return (storage) => storage.tokens.await({ tokenId, runId: id, ...fence })
    })
  }

  async #settle(command: Command): Promise<void> {
    const id = pick(this.#tokenIds.slice(-RECENT), command.token)
    if (id === undefined) return
    const request = { id, outputJson: String(command.serial), ...(await this.#writer(command)) }
    await this.#both(`tokens.settle ${show(request)}`, async (storage) => {
      const settled = await storage.tokens.settle(request)
      if (settled === undefined || settled === 'stale') return settled
      return { ...settled, ready: namesOf(settled.ready) }
    })
  }

  async #release({ run, token, owner, option }: Command): Promise<void> {
    const runId = pick(this.#runIds, run)
    const tokenId = pick(this.#tokenIds.slice(-RECENT), token)
    if (runId === undefined || tokenId === undefined) return
    const holder = (await this.#reference.runs.get(runId))?.owner
    const wait: WaitRecord = {
      tokenId,
      runId,
      owner: option % 2 === 0 ? (holder ?? '') : this.#owner(owner),
    }
    await this.#both(`tokens.release ${show(wait)}`, (storage) => storage.tokens.release([wait]))
  }

  async #update(
    command: Command,
    request: (record: RunRecord) => Pick<Parameters<Storage['runs']['update']>[0], 'expected' | 'change'>,
  ): Promise<void> {
    const record = (await this.#attempted(command)) ?? (await this.#run(command.run))
    if (record === undefined) return
    const full = { id: record.id, ...request(record), by: record.owner ?? this.#owner(0), now: this.#now }
    await this.#both(`runs.update ${show(full)}`, async (storage) => {
      const updated = await storage.runs.update(full)
      return updated && inOrder([updated])
    })
  }

  async #fenced(
    command: Command,
    name: string,
    callOf: (fence: Fence, record: RunRecord) => Call,
  ): Promise<void> {
    const record = (await this.#attempted(command)) ?? (await this.#run(command.run))
    if (record === undefined) return
    const { id, epoch, owner = 'nobody' } = record
    const fence = { id, epoch: command.isStale ? epoch - 1 : epoch, by: owner, now: this.#now }
    await this.#both(`${name} ${show(fence)}`, callOf(fence, record))
  }

  /** Who writes: nobody's run, or an attempt that may have lost it. */
  async #writer(command: Command): Promise<Writer> {
    const { option, owner, isStale } = command
    const now = this.#now
    const record = option % 4 > 0 ? undefined : await this.#attempted(command)
    if (record === undefined) return { now, by: this.#owner(owner) }
    const epoch = isStale ? record.epoch - 1 : record.epoch
    return { now, by: record.owner ?? 'nobody', fence: { runId: record.id, epoch } }
  }

  async #run(index: number): Promise<RunRecord | undefined> {
    const id = pick(this.#runIds, index)
    return id === undefined ? undefined : this.#reference.runs.get(id)
  }

  /** A run at which an attempt goes on, as the command needs it; the others refuse, mostly. */
  async #attempted({ name, run }: Command): Promise<RunRecord | undefined> {
    if (run % 8 === 0) return undefined
    const status = STATUSES[name] ?? ['EXECUTING', 'WAITING']
    return pick((await this.#reference.runs.list({ status }, { limit: 1_000 })).records, run)
  }

  #owner(index: number): string {
    return pick(this.#owners, index) ?? ''
  }

  #soon({ option, serial }: Command): number {
    return this.#now + ((option % 50) + 1) * UNIT + serial
  }

  async #both(what: string, call: Call): Promise<unknown> {
    this.story.push(what)
    const expected = await call(this.#reference)
    const seen = await call(this.#storage)
    if (!isSame(seen, expected, true)) throw new Mismatch(what, { expected, seen })
    return expected
  }
}

interface Fence {
  readonly id: string
  readonly epoch: number
  readonly by: string
  readonly now: number
}

interface Writer {
  readonly now: number
  readonly by: string
  readonly fence?: { readonly runId: string; readonly epoch: number }
}

function pick<T>(items: readonly T[], index: number): T | undefined {
  return items[index % items.length]
}

/** What ended, in the order of ids: which of several comes first is nobody's concern. */
function inOrder(ended: readonly RunUpdated[]): readonly unknown[] {
  const sorted = [...ended].sort((one, other) => (one.record.id < other.record.id ? -1 : 1))
  return sorted.map(({ record, ready }) => ({ record, ready: namesOf(ready) }))
}
