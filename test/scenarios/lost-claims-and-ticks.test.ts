import { describe, expect, it } from 'vitest'
import { type AnyTask, createEngine, type EngineOptions, type Storage, task } from 'waitpoint'
import { createTestEngine, type TestEngine, testClock } from 'waitpoint/testing'
import { onAbort } from '../../src/primitives/abort.ts'
import type { RunUpdate, TokenInsert } from '../../src/contract/storage.ts'
import { StorageUnavailableError } from '../../src/contract/storage-unavailable.ts'
import { projectStorage } from '../support/abandon.ts'
import { bodyTask } from '../support/body-task.ts'
import { claimingMemory } from '../support/claiming-memory.ts'
import { type SteeredStorage, steeredStorage } from '../support/steered-storage.ts'

/** An engine on a storage whose calls can be failed, and a clock that only moves when it is told to. */
async function steered(
  tasks: readonly AnyTask[],
  options: EngineOptions = {},
): Promise<TestEngine & { steering: SteeredStorage }> {
  const steering = steeredStorage(projectStorage())
  const t = await createTestEngine({
    ...options,
    tasks,
    storage: steering.storage,
    clock: { mode: 'manual' },
  })
  await t.clock.settle()
  return { ...t, steering }
}

const statusOf = async (t: TestEngine, id: string): Promise<string> =>
  (await t.engine.runs.retrieve(id)).status

describe('a claim whose answer is lost', () => {
  it('is repeated: its runs are executed, once, and no others in their slots', async () => {
    let [now, most] = [0, 0]
    const attempts: string[] = []
    const slow = bodyTask(async ({ ctx }) => {
      attempts.push(`${ctx.run.id} ${ctx.attempt.number}`)
      most = Math.max(most, (now += 1))
      await t.clock.sleep('1m')
      now -= 1
    })
    const t = await steered([slow], { concurrency: 2 })
    t.steering.loseAnswer('runs.claim')
    const runs = []
    for (let count = 0; count < 5; count += 1) runs.push(await t.engine.trigger(slow, null))
    await t.clock.advance('4m')
    expect(attempts).toEqual(runs.map(({ id }) => `${id} 1`))
    expect(await Promise.all(runs.map(({ id }) => statusOf(t, id)))).toEqual(runs.map(() => 'COMPLETED'))
    expect(most).toBe(2)
    await t.close()
  })

  it('is repeated as often as it takes, also by the next trigger', async () => {
    const one = bodyTask(() => 1)
    const t = await steered([one])
    for (let times = 0; times < 3; times += 1) t.steering.loseAnswer('runs.claim')
    const first = await t.engine.trigger(one, null)
    await t.clock.settle()
    const second = await t.engine.trigger(one, null)
    await t.clock.settle()
    await t.clock.advance('2s')
    expect([await statusOf(t, first.id), await statusOf(t, second.id)]).toEqual(['COMPLETED', 'COMPLETED'])
    await t.close()
  })

  it('and that ended a run wakes the runs that wait for it', async () => {
    const late = bodyTask(() => 1, { ttl: 5 })
    const waiting = task({
      id: 'waiting',
      run: async (_: null, { tasks }) => {
        const ended = await tasks.triggerAndWait<typeof late>('body', null, { delay: '10s' })
        return ended.ok ? 'ok' : String(ended.error)
      },
    })
    const t = await steered([late, waiting])
    const run = await t.engine.trigger(waiting, null)
    const result = run.result()
    await t.clock.advance('9s')
    t.steering.fail('tick', 12)
    await t.clock.advance('7s')
    t.steering.loseAnswer('runs.claim')
    const other = await t.engine.trigger(late, null)
    await t.clock.advance('30s')
    expect(await result).toContain('it expired before it could start')
    expect(await statusOf(t, other.id)).toBe('COMPLETED')
    await t.close()
  })
})

describe('the muster after it', () => {
  it('hands its runs to another engine, also when the engine that lost the answer closes and drains', async () => {
    const storage = projectStorage()
    const steering = steeredStorage(storage)
    const clock = testClock({ mode: 'manual' })
    const work = task({ id: 'work', run: (ms: number) => clock.sleep(ms) })
    const first = createEngine({ tasks: [work], storage: steering.storage, clock, concurrency: 2 })
    const long = await first.trigger(work, 60_000)
    await clock.settle()
    steering.loseAnswer('runs.claim')
    const lost = await first.trigger(work, 1)
    const closed = first.close({ drainMs: 300_000 })
    await using second = createEngine({ tasks: [work], storage, clock })
    await second.ready()
    await clock.advance('20s')
    expect((await second.runs.retrieve(lost)).status).toBe('COMPLETED')
    expect((await second.runs.retrieve(long)).status).toBe('EXECUTING')
    await clock.advance('1m')
    await closed
    expect((await second.runs.retrieve(long)).status).toBe('COMPLETED')
  })

  it('takes no run for a new one that has left since the muster was asked', async () => {
    const storage = projectStorage()
    const steering = steeredStorage(storage)
    const clock = testClock({ mode: 'manual' })
    let [begun, canceled] = [0, 0]
    const long = bodyTask(
      async ({ signal }) => {
        begun += 1
        await Promise.race([clock.sleep('1h'), new Promise((resolve) => onAbort(signal, resolve))])
      },
      {
        onCancel: () => {
          canceled += 1
        },
      },
    )
    const first = createEngine({ tasks: [long], storage, clock })
    const run = await first.trigger(long, null)
    await clock.settle()
    await first.close({ drainMs: 0 })
    const t = createEngine({ tasks: [long], storage: steering.storage, clock, concurrency: 2 })
    await t.ready()
    await clock.settle()
    steering.loseAnswer('runs.claim')
    await t.trigger(long, null)
    await clock.settle()
    const answer = steering.holdAnswer('runs.claim')
    await clock.advance('1s')
    await t.runs.cancel(run.id)
    await clock.settle()
    answer()
    await clock.advance('10s')
    expect([begun, canceled]).toEqual([3, 1])
    await t.close({ drainMs: 0 })
  })

  it.each([
    ['is being handed back', false],
    ['is handed back before the answer comes', true],
  ])('takes no run for a new one that %s', async (_what, isStoredFirst) => {
    const steering = steeredStorage(projectStorage())
    const { runs, tokens } = steering.storage
    const clock = testClock({ mode: 'manual' })
    let isAway = false
    const orAway = <Request, Answer>(call: (request: Request) => Answer) => {
      return (request: Request): Answer => {
        if (isAway) throw new StorageUnavailableError('away', { mayBeDone: false })
        return call(request)
      }
    }
    const storage = {
      ...steering.storage,
      runs: { ...runs, update: orAway((request: RunUpdate) => runs.update(request)) },
      tokens: { ...tokens, insert: orAway((request: TokenInsert) => tokens.insert(request)) },
    }
    const begun: string[] = []
    const asks = bodyTask(async ({ wait, ctx }) => {
      if (begun.push(`${ctx.run.id} ${ctx.attempt.number}`) > 1) return
      isAway = true
      await wait.createToken()
    })
    const t = createEngine({ tasks: [asks], storage, clock, storageWaitMs: 2_000 })
    const first = await t.trigger(asks, null)
    await clock.advance('5s')
    steering.loseAnswer('runs.claim')
    const second = await t.trigger(asks, null)
    await clock.settle()
    const answer = steering.holdAnswer('runs.claim')
    await clock.advance('1s')
    isAway = !isStoredFirst
    await clock.advance('4s')
    answer()
    await clock.settle()
    expect(begun.slice(0, 2)).toEqual([`${first.id} 1`, `${second.id} 1`])
    if (!isStoredFirst) expect(begun.length).toBe(2)
    isAway = false
    await clock.advance('10s')
    expect(begun).toEqual([`${first.id} 1`, `${second.id} 1`, `${first.id} 2`])
    await t.close()
  })
})

describe('a tick whose answer is lost', () => {
  it('and that made a run EXPIRED resolves its awaited outcome', async () => {
    const late = bodyTask(() => 1, { ttl: 5 })
    const busy = task({ id: 'busy', run: async () => t.clock.sleep('10s') })
    const t = await steered([late, busy], { concurrency: 1 })
    await t.engine.trigger(busy, undefined)
    const run = await t.engine.trigger(late, null)
    let outcome: unknown
    const told = run.outcome().then((value) => (outcome = value))
    await t.clock.settle()
    t.steering.loseAnswer('tick')
    await t.clock.advance('6s')
    expect(outcome).toMatchObject({ ok: false, error: { code: 'ERR_RUN_EXPIRED' } })
    await told
    await t.clock.advance('10s')
    await t.close()
  })

  it('and that timed a token out releases the run that waits for it', async () => {
    let id = ''
    const ask = bodyTask(async ({ wait }) => (await wait.forToken(id)).ok)
    const t = await steered([ask])
    id = (await t.engine.wait.createToken({ timeout: '5s' })).id
    const run = await t.engine.trigger(ask, null)
    await t.clock.settle()
    t.steering.loseAnswer('tick')
    await t.clock.advance('6s')
    expect(await statusOf(t, run.id)).toBe('COMPLETED')
    await t.close()
  })
})

describe('a claim that is answered after its engine has lost its lease', () => {
  it('starts nothing: its runs are executed by their new owner, once', async () => {
    const clock = testClock({ mode: 'manual' })
    const storage = projectStorage()
    const steering = steeredStorage(storage)
    const attempts: number[] = []
    const slow = bodyTask(async ({ ctx }) => {
      attempts.push(ctx.attempt.number)
      await clock.sleep('10m')
    })
    const silent = { ...steering.storage, subscribe: () => () => undefined }
    const old = createEngine({ tasks: [slow], storage: silent, clock })
    // It hears nothing, and learns of its loss by the tick at this deadline.
    await old.wait.createToken({ timeout: '60s' })
    await clock.settle()
    const answer = steering.holdAnswer('runs.claim')
    await old.trigger(slow, null)
    await clock.settle()
    const other = createEngine({ tasks: [slow], storage, clock })
    await other.ready()
    await clock.advance('100s')
    answer()
    await clock.settle()
    expect(attempts).toEqual([2])
    await old.close()
    await other.close()
  })
})

describe('an engine that has lost its lease', () => {
  it.each([
    ['a claim', projectStorage],
    ['an insert', claimingMemory],
  ])('claims nothing by %s until it has another one', async (_what, open) => {
    const clock = testClock({ mode: 'manual' })
    const shared = open()
    const steering = steeredStorage(shared, { claimsNew: shared.claimsNew === true })
    const claimed: string[] = []
    const { runs } = steering.storage
    const storage: Storage = {
      ...steering.storage,
      subscribe: () => () => undefined,
      runs: {
        ...runs,
        claim(request) {
          claimed.push('by a claim')
          return runs.claim(request)
        },
        insert(request) {
          if (request.claim !== undefined) claimed.push('by an insert')
          return runs.insert(request)
        },
      },
    }
    const one = bodyTask(() => 1)
    const old = createEngine({ tasks: [one], storage, clock })
    // It hears nothing, and learns of its loss by the tick at this deadline.
    await old.wait.createToken({ timeout: '100s' })
    const other = createEngine({ storage: shared, clock })
    await other.ready()
    await clock.advance('99s')
    const tellLoss = steering.holdAnswer('tick')
    await clock.advance('1s')
    const takeLease = steering.holdCall('tick')
    tellLoss()
    await clock.settle()
    claimed.length = 0
    const run = await old.trigger(one, null)
    await clock.advance('5s')
    expect(claimed).toEqual([])
    takeLease()
    await clock.advance('5s')
    expect(claimed).toEqual(['by a claim'])
    expect((await old.runs.retrieve(run.id)).status).toBe('COMPLETED')
    await old.close()
    await other.close()
  })
})
