import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RunRecord, RunStatus, TokenRecord, WaitRecord } from '../../../src/contract/records.ts'
import type { RunFence, RunUpdated, Storage, TokenInsert } from '../../../src/contract/storage.ts'
import { ReferenceStorage } from '../reference-storage.ts'
import { manualToken, openNamed, queuedRun, type Synchronous } from '../storage-fixture.ts'

const TASKS = ['task-a', 'task-b'] as const
const LIMITS = new Map([
  ['narrow', 1],
  ['keyed', 2],
])

interface World {
  readonly storage: Synchronous<Storage>
  readonly model: ReferenceStorage
  readonly runIds: string[]
  readonly tokenIds: string[]
  /** The current name of each of three engines: one that lost its lease goes on under another. */
  readonly owners: string[]
  /** Waits handed out by the call that made them ready, as `token run epoch`. */
  readonly released: Set<string>
  /** Claims so far, of all owners together. */
  claims: number
  now: number
  ids: number
}

type Step = (world: World) => void

function newWorld(): World {
  return {
    storage: openNamed(),
    model: new ReferenceStorage(),
    runIds: [],
    tokenIds: [],
    owners: ['engine-0-a', 'engine-1-a', 'engine-2-a'],
    released: new Set(),
    claims: 0,
    now: 1_000,
    ids: 0,
  }
}

/** A new id, at an instant of its own. */
function nextId(world: World, noun: string): string {
  world.ids += 1
  world.now += 1
  return `${noun}-${String(world.ids).padStart(5, '0')}`
}

function pick<T>(items: readonly T[], index: number): T | undefined {
  return items[index % items.length]
}

function ownerOf(world: World, index: number): string {
  return pick(world.owners, index) ?? ''
}

/** What the run's current attempt would say, or an earlier one when it is stale. */
function fenceOf(world: World, index: number, isStale: boolean): RunFence | undefined {
  const id = pick(world.runIds, index)
  if (id === undefined) return undefined
  const { epoch, owner, status, parks = 0 } = world.model.run(id)
  // Now and then that of a call which comes late.
  const late = index % 3 === 0 ? 1 : 0
  return {
    id,
    epoch: isStale ? epoch - 1 : epoch,
    parks: parks + (status === 'WAITING' ? 0 : 1) - late,
    by: owner ?? 'nobody',
    now: world.now,
  }
}

/** A write has no fence if it comes from outside of runs, or the fence of an attempt that may have lost its run. */
function writerOf(
  world: World,
  { writer, isStale }: { writer: number; isStale: boolean },
): { readonly fence: RunFence | undefined; readonly request: Pick<TokenInsert, 'fence' | 'now' | 'by'> } {
  const fence = writer === 0 ? undefined : fenceOf(world, writer, isStale)
  const { now } = world
  if (fence === undefined) return { fence, request: { now, by: ownerOf(world, writer) } }
  return { fence, request: { fence: { runId: fence.id, epoch: fence.epoch }, now, by: fence.by } }
}

function inOrder(waits: readonly WaitRecord[]): string[] {
  return waits.map(({ tokenId, runId, owner }) => `${tokenId} ${runId} ${owner}`).sort()
}

function endedInOrder(ended: readonly RunUpdated[]): unknown[] {
  const sorted = [...ended].sort((one, other) => (one.record.id < other.record.id ? -1 : 1))
  return sorted.map(({ record, ready }) => ({ record, ready: inOrder(ready) }))
}

function noteReleased(world: World, ready: readonly WaitRecord[]): void {
  for (const { tokenId, runId } of ready) {
    const released = `${tokenId} ${runId} ${world.model.run(runId).epoch}`
    expect(world.released, 'released twice').not.toContain(released)
    world.released.add(released)
  }
}

function insertRun(fields: {
  task: number
  lane: number
  deaths: number
  delayMs: number
  ttlMs: number
  writer: number
  isStale: boolean
}): Step {
  return (world) => {
    const id = nextId(world, 'run')
    // No two runs become ready at one instant.
    const wakeAt = world.now + fields.delayMs + world.ids / 100_000
    const [queue, concurrencyKey] = ([['free'], ['narrow'], ['keyed', 'one'], ['keyed', 'two']] as const)[
      fields.lane
    ] ?? ['free']
    const record = queuedRun(id, {
      taskId: TASKS[fields.task] ?? TASKS[0],
      queue,
      concurrencyKey,
      interruptions: fields.deaths,
      createdAt: world.now,
      updatedAt: world.now,
      ...(fields.delayMs > 0 && { status: 'DELAYED', wakeAt }),
      ...(fields.ttlMs > 0 && { expiresAt: world.now + fields.ttlMs }),
    })
    const { fence, request } = writerOf(world, fields)
    const isRefused = world.model.isRefused(fence)
    expect(world.storage.runs.insert({ record, ...request })).toEqual(
      isRefused ? 'stale' : { record, isCached: false },
    )
    if (isRefused) return
    world.model.runs.set(id, record)
    world.runIds.push(id)
  }
}

function insertToken(fields: {
  isSleep: boolean
  timeoutMs: number
  question: string | undefined
  writer: number
  isStale: boolean
}): Step {
  return (world) => {
    const record = manualToken(nextId(world, 'token'), {
      kind: fields.isSleep ? 'SLEEP' : 'MANUAL',
      createdAt: world.now,
      questionJson: fields.question,
      ...(fields.timeoutMs > 0 && { timeoutAt: world.now + fields.timeoutMs }),
    })
    const { fence, request } = writerOf(world, fields)
    const isRefused = world.model.isRefused(fence)
    expect(world.storage.tokens.insert({ record, ...request })).toEqual(
      isRefused ? 'stale' : { record, isCached: false },
    )
    if (isRefused) return
    world.model.tokens.set(record.id, record)
    world.tokenIds.push(record.id)
  }
}

/** A new claim, or one that was made before: the last one of its owner again, or one that comes too late. */
function claim(fields: {
  owner: number
  limit: number
  tasks: number
  back: number
  suspects: number
  isTrial: boolean
}): Step {
  return (world) => {
    const by = ownerOf(world, fields.owner)
    const last = world.model.claims.get(by)
    const isNew = fields.back === 0 || last === undefined
    if (isNew) world.claims += 1
    const request = {
      by,
      now: world.now,
      number: isNew ? world.claims : last - fields.back + 1,
      taskIds: [[TASKS[0]], [TASKS[1]], TASKS][fields.tasks] ?? TASKS,
      limit: fields.limit,
      queueLimits: LIMITS,
      maxInterruptions: 1,
      suspects: fields.suspects,
      isTrial: fields.isTrial,
    }
    const before = world.runIds.filter((id) => isHeldByOther(world, id, request.by))
    const claimed = world.storage.runs.claim(request)
    const expected = world.model.claim(request)
    // A muster has no order.
    if (request.limit === 0) expect(byId(claimed.runs)).toEqual(byId(expected.runs))
    else expect(claimed.runs).toEqual(expected.runs)
    expect(claimed.isTrialDue ?? false).toBe(expected.isTrialDue)
    expect(endedInOrder(claimed.ended)).toEqual(endedInOrder(expected.ended))
    for (const run of claimed.runs) expect(before, 'taken from a living owner').not.toContain(run.id)
    for (const { ready } of claimed.ended) noteReleased(world, ready)
  }
}

function isHeldByOther({ model, now }: World, id: string, by: string): boolean {
  const { owner } = model.run(id)
  const lease = owner === undefined ? undefined : model.leases.get(owner)
  return owner !== by && lease !== undefined && !lease.isLost && now < lease.until
}

function tick(fields: { owner: number; leaseMs: number }): Step {
  return (world) => {
    const owner = ownerOf(world, fields.owner)
    const request = { owner, leaseUntil: world.now + fields.leaseMs, now: world.now, limit: 1_000 }
    const ticked = world.storage.tick(request)
    const expected = world.model.tick(request)
    expect(ticked.alive).toBe(expected.alive)
    expect(inOrder(ticked.ready)).toEqual(inOrder(expected.ready))
    expect(byId(ticked.settled)).toEqual(byId(expected.settled))
    expect(endedInOrder(ticked.expired)).toEqual(endedInOrder(expected.expired))
    for (const { ready } of ticked.expired) noteReleased(world, ready)
    if (ticked.alive) checkOutlook(world, owner, ticked)
    else world.owners[fields.owner] = `${owner}'`
  }
}

function checkOutlook(world: World, owner: string, ticked: ReturnType<Synchronous<Storage>['tick']>): void {
  const next = Math.min(...world.model.dueInstants(owner).filter((at) => at > world.now))
  expect(Math.min(ticked.nextDue?.at ?? Infinity, ticked.nextLease?.at ?? Infinity)).toBe(next)
  const request = { taskIds: TASKS, queueLimits: LIMITS, now: world.now }
  const runs = world.runIds.map((id) => world.model.run(id))
  if (world.model.claimable(request).length > 0) expect(ticked.claimable).toBe(true)
  if (!runs.some((run) => world.model.isReady(run, world.now))) expect(ticked.claimable).toBe(false)
}

function byId<Stored extends RunRecord | TokenRecord>(records: readonly Stored[]): Stored[] {
  return [...records].sort((one, other) => (one.id < other.id ? -1 : 1))
}

function awaitToken(fields: { run: number; token: number; isRun: boolean; isStale: boolean }): Step {
  return (world) => {
    const fence = fenceOf(world, fields.run, fields.isStale)
    const tokenId = fields.isRun
      ? pick(world.runIds, fields.token)?.replace(/^/, 'run:')
      : pick(world.tokenIds, fields.token)
    if (fence === undefined || tokenId === undefined || tokenId === `run:${fence.id}`) return
    const isWaiting = (): boolean => world.model.tokens.get(tokenId)?.status === 'WAITING'
    const wasWaiting = isWaiting()
    const awaited = world.storage.tokens.await({ ...fence, tokenId, runId: fence.id })
    expect(awaited.outcome).toBe(world.model.await(fence, tokenId))
    if (awaited.outcome === 'settled') expect(awaited.settledNow).toBe(wasWaiting && !isWaiting())
  }
}

function settle(fields: {
  token: number
  question: string | undefined
  answeredJson: string | undefined
  writer: number
  isStale: boolean
}): Step {
  return (world) => {
    const id = pick(world.tokenIds, fields.token)
    if (id === undefined) return
    const { fence, request } = writerOf(world, fields)
    const { question, answeredJson } = fields
    const settled = world.storage.tokens.settle({ id, outputJson: '1', question, answeredJson, ...request })
    const isRefused = world.model.isRefused(fence)
    expect(settled === 'stale').toBe(isRefused)
    if (settled === 'stale') return
    const expected = world.model.settle({ id, question, answeredJson, now: world.now })
    expect(settled?.won).toBe(expected.won)
    expect(settled?.settledNow).toBe(expected.settledNow)
    expect(inOrder(settled?.ready ?? [])).toEqual(inOrder(expected.ready))
    expect(settled?.record).toEqual(world.model.token(id))
    noteReleased(world, expected.ready)
  }
}

function change(fields: {
  token: number
  owner: number
  question: string | undefined
  questionJson: string | undefined
  timeoutMs: number | undefined
}): Step {
  return (world) => {
    const id = pick(world.tokenIds, fields.token)
    if (id === undefined) return
    const { question, questionJson, timeoutMs } = fields
    const timeoutAt = timeoutMs === undefined ? undefined : world.now + timeoutMs
    const before = world.model.token(id).status
    const request = {
      id,
      question,
      questionJson,
      timeoutAt,
      by: ownerOf(world, fields.owner),
      now: world.now,
    }
    const changed = world.model.change(request)
    const record = world.model.token(id)
    const settledNow = before !== record.status
    expect(world.storage.tokens.change(request)).toEqual({ record, changed, settledNow })
  }
}

function readToken(fields: { token: number }): Step {
  return (world) => {
    const id = pick(world.tokenIds, fields.token)
    if (id === undefined) return
    const before = world.model.token(id)
    const record = world.model.readToken(id, world.now)
    expect(world.storage.tokens.get(id, world.now)).toEqual({
      record,
      settledNow: before.status !== record.status,
    })
  }
}

function park(fields: { run: number; isStale: boolean }): Step {
  return (world) => {
    const fence = fenceOf(world, fields.run, fields.isStale)
    if (fence === undefined) return
    expect(world.storage.runs.park(fence)).toEqual(world.model.park(fence))
  }
}

function resume(fields: { run: number; isStale: boolean }): Step {
  return (world) => {
    const fence = fenceOf(world, fields.run, fields.isStale)
    if (fence === undefined) return
    const queueLimit = LIMITS.get(world.model.run(fence.id).queue)
    const resumed = world.storage.runs.resume({ ...fence, queueLimit })
    expect(resumed.outcome).toBe(world.model.resume(fence, queueLimit ?? Infinity))
  }
}

const LIVE: readonly RunStatus[] = ['DELAYED', 'QUEUED', 'EXECUTING', 'WAITING', 'PENDING_VERSION']

function finish(fields: { run: number; isCancel: boolean; isStale: boolean; slotMs: number }): Step {
  return (world) => {
    const fence = fenceOf(world, fields.run, fields.isStale)
    if (fence === undefined) return
    const { id, now } = fence
    const expected = fields.isCancel
      ? { status: LIVE }
      : { status: ['EXECUTING'] as const, epoch: fence.epoch }
    const change = fields.isCancel
      ? ({
          status: 'CANCELED',
          epoch: world.model.run(id).epoch + 1,
          slot: true,
          slotUntil: now + fields.slotMs,
        } as const)
      : ({ status: 'COMPLETED', outputJson: '"done"', finishedAt: now } as const)
    const updated = world.storage.runs.update({ id, expected, change, by: fence.by, now })

    const { status, epoch } = world.model.run(id)
    const applies = expected.status.includes(status as 'EXECUTING') && (expected.epoch ?? epoch) === epoch
    const model = applies ? world.model.finish(id, change, now) : undefined
    expect(updated && { ...updated, ready: inOrder(updated.ready) }).toEqual(
      model && { ...model, ready: inOrder(model.ready) },
    )
    noteReleased(world, model?.ready ?? [])
  }
}

function retry(fields: { run: number; delayMs: number }): Step {
  return (world) => {
    const fence = fenceOf(world, fields.run, false)
    if (fence === undefined) return
    const { id, now } = fence
    world.ids += 1
    const change = { status: 'DELAYED', wakeAt: now + fields.delayMs + world.ids / 100_000 } as const
    const isExecuting = world.model.run(id).status === 'EXECUTING'
    const updated = world.storage.runs.update({
      id,
      expected: { status: ['EXECUTING'] },
      change,
      by: fence.by,
      now,
    })
    if (isExecuting) {
      world.model.write(id, { ...change, owner: undefined, slot: false, slotUntil: undefined }, now)
      world.model.waits = world.model.waits.filter((wait) => wait.runId !== id)
    }
    expect(updated?.record).toEqual(isExecuting ? world.model.run(id) : undefined)
  }
}

/** The function of a returned, or of a canceled, run gives its slot back. */
function giveSlotBack(fields: { run: number }): Step {
  return (world) => {
    const fence = fenceOf(world, fields.run, false)
    if (fence === undefined) return
    const { id, now } = fence
    const { status } = world.model.run(id)
    if (status !== 'EXECUTING' && status !== 'CANCELED') return
    const change = status === 'EXECUTING' ? { slot: false, returned: true } : { slot: false }
    world.storage.runs.update({ id, expected: { status: [status] }, change, by: fence.by, now })
    world.model.write(id, { ...change, slotUntil: undefined }, now)
  }
}

function release(fields: { run: number; token: number; owner: number }): Step {
  return (world) => {
    const runId = pick(world.runIds, fields.run)
    const tokenId = pick(world.tokenIds, fields.token)
    if (runId === undefined || tokenId === undefined) return
    const isOurs = fields.owner === 0
    const owner = isOurs ? (world.model.run(runId).owner ?? '') : ownerOf(world, fields.owner)
    world.storage.tokens.release([{ tokenId, runId, owner }])
    world.model.release({ tokenId, runId, owner })
  }
}

function leave(fields: { owner: number }): Step {
  return (world) => {
    const owner = ownerOf(world, fields.owner)
    world.storage.leave({ owner, now: world.now })
    world.model.leave(owner, world.now)
  }
}

function advance(fields: { ms: number }): Step {
  return (world) => {
    world.now += fields.ms
  }
}

function checkRecords({ storage, model, runIds, tokenIds }: World): void {
  expect(runIds.map((id) => storage.runs.get(id))).toEqual(runIds.map((id) => model.run(id)))
  const openWaits = (id: string) => model.waits.filter((wait) => wait.runId === id && !wait.isReady)
  expect(runIds.map((id) => storage.runs.waits(id).map((token) => token.id))).toEqual(
    runIds.map((id) => openWaits(id).map((wait) => wait.tokenId)),
  )
  for (const run of model.runs.values()) {
    if (run.status === 'CANCELED') continue
    expect(model.slots(run), run.queue).toBeLessThanOrEqual(LIMITS.get(run.queue) ?? Infinity)
  }
  expect(tokenIds.length).toBe(model.tokens.size)
}

function steps(): fc.Arbitrary<{ name: string; fields: object; step: Step }> {
  const index = fc.nat(30)
  const owner = fc.nat(2)
  const sometimes = fc.constantFrom(0, 0, 5, 50, 500)
  const question = fc.constantFrom(undefined, undefined, '"q"', '"r"')
  const answeredJson = fc.constantFrom(undefined, '"ann"')
  const rarely = fc.integer({ min: 0, max: 9 }).map((number) => number === 0)
  const one = <Fields extends object>(
    make: (fields: Fields) => Step,
    arbitrary: fc.Arbitrary<Fields>,
  ): fc.Arbitrary<{ name: string; fields: object; step: Step }> =>
    arbitrary.map((fields) => ({ name: make.name, fields, step: make(fields) }))

  const fenced = { run: index, isStale: rarely }
  const writing = { writer: fc.oneof(fc.constant(0), index), isStale: rarely }
  const back = fc.constantFrom(0, 0, 0, 0, 1, 2)
  return fc.oneof(
    {
      weight: 6,
      arbitrary: one(
        insertRun,
        fc.record({
          task: fc.nat(1),
          lane: fc.nat(3),
          deaths: fc.constantFrom(0, 0, 0, 2, 3),
          delayMs: sometimes,
          ttlMs: sometimes,
          ...writing,
        }),
      ),
    },
    {
      weight: 4,
      arbitrary: one(
        insertToken,
        fc.record({ isSleep: fc.boolean(), timeoutMs: sometimes, question, ...writing }),
      ),
    },
    {
      weight: 8,
      arbitrary: one(
        claim,
        fc.record({
          owner,
          limit: fc.integer({ min: 0, max: 4 }),
          tasks: fc.nat(2),
          back,
          suspects: fc.constantFrom(0, 0, 1, 3, 7, 8),
          isTrial: rarely,
        }),
      ),
    },
    { weight: 6, arbitrary: one(tick, fc.record({ owner, leaseMs: fc.constantFrom(10, 100, 1_000) })) },
    { weight: 8, arbitrary: one(awaitToken, fc.record({ ...fenced, token: index, isRun: rarely })) },
    { weight: 6, arbitrary: one(park, fc.record(fenced)) },
    { weight: 6, arbitrary: one(resume, fc.record(fenced)) },
    { weight: 5, arbitrary: one(settle, fc.record({ token: index, question, answeredJson, ...writing })) },
    {
      weight: 3,
      arbitrary: one(
        change,
        fc.record({
          token: index,
          owner,
          question,
          questionJson: question,
          timeoutMs: fc.constantFrom(undefined, -5, 0, 5, 50, 500),
        }),
      ),
    },
    { weight: 2, arbitrary: one(readToken, fc.record({ token: index })) },
    {
      weight: 4,
      arbitrary: one(
        finish,
        fc.record({ ...fenced, isCancel: fc.boolean(), slotMs: fc.constantFrom(5, 50) }),
      ),
    },
    { weight: 2, arbitrary: one(retry, fc.record({ run: index, delayMs: fc.constantFrom(5, 50) })) },
    { weight: 2, arbitrary: one(giveSlotBack, fc.record({ run: index })) },
    { weight: 2, arbitrary: one(release, fc.record({ run: index, token: index, owner })) },
    { weight: 1, arbitrary: one(leave, fc.record({ owner })) },
    { weight: 5, arbitrary: one(advance, fc.record({ ms: fc.constantFrom(1, 5, 20, 200) })) },
  )
}

describe('memoryStorage', () => {
  it('answers like the reference storage, whatever is done in whatever order', () => {
    const opening = [0, 1, 2].map((owner) => tick({ owner, leaseMs: 500 }))
    fc.assert(
      fc.property(fc.array(steps(), { maxLength: 120, size: 'max' }), (program) => {
        const world = newWorld()
        for (const step of [...opening, ...program.map((one) => one.step)]) {
          step(world)
          checkRecords(world)
        }
      }),
      { numRuns: 300 },
    )
  })
})
