import { describe, expect, it } from 'vitest'
import { memoryStorage, wait } from 'waitpoint'
import { createTestEngine, testClock } from 'waitpoint/testing'
import { abandonable, steadyStorage } from '../support/abandon.ts'
import { bodyTask, rejection } from '../support/body-task.ts'
import { type SteeredStorage, steeredStorage } from '../support/steered-storage.ts'

/** What a run does with one wait before it parks on a sleep of a day. */
interface Wait {
  readonly token: string
  readonly steering: SteeredStorage
  readonly complete: () => Promise<unknown>
}

/** How often the run is executed within an hour after its engine has died, though what it once waited for is settled. */
async function callsAfterDeath(body: (wait: Wait) => Promise<void>): Promise<number> {
  const clock = testClock({ mode: 'manual' })
  const shared = steadyStorage()
  const steering = steeredStorage(shared)
  const ports = abandonable(clock, steering.storage)
  let calls = 0
  const only = bodyTask(async () => {
    calls += 1
    if (calls === 1)
      await body({ token, steering, complete: () => first.engine.wait.completeToken(token, 'yes') })
    await wait.for({ days: 1, name: 'day' })
  })
  const first = await createTestEngine({ tasks: [only], storage: ports.storage, clock: ports.clock })
  // Due before the other one, so that no tick follows when that one is settled.
  await first.engine.wait.createToken({ timeout: '20d' })
  const { id: token } = await first.engine.wait.createToken({ timeout: '30d' })
  const run = await first.engine.trigger(only, null)
  await clock.advance('2s')
  expect(await first.engine.runs.retrieve(run)).toMatchObject({ status: 'WAITING', attemptCount: 1 })
  ports.abandon()
  await using next = await createTestEngine({ tasks: [only], storage: shared, clock, seed: 2 })
  await next.engine.wait.completeToken(token, 'late')
  await clock.advance('1h')
  const seen = calls
  await clock.advance('1d')
  expect(await next.engine.runs.retrieve(run)).toMatchObject({ status: 'COMPLETED' })
  return seen - 1
}

describe('a wait whose registration is answered too late, or not at all', () => {
  it('after its token was settled, leaves nothing behind that wakes the run', async () => {
    const calls = await callsAfterDeath(async ({ token, steering, complete }) => {
      const answer = steering.holdAnswer('tokens.await')
      const waiting = wait.forToken(token)
      // By now the wait is in the storage, and its answer on the way.
      await wait.retrieveToken(token)
      await complete()
      expect(await waiting).toEqual({ ok: true, output: 'yes' })
      answer()
    })
    expect(calls).toBe(0)
  })

  it('after its signal has dropped it, leaves nothing behind that wakes the run', async () => {
    const calls = await callsAfterDeath(async ({ token, steering }) => {
      const drop = new AbortController()
      const answer = steering.holdAnswer('tokens.await')
      const waiting = wait.forToken(token, { signal: drop.signal })
      drop.abort(new Error('dropped'))
      await expect(waiting).rejects.toThrow('dropped')
      answer()
    })
    expect(calls).toBe(0)
  })

  it('because it was lost, rejects, and leaves nothing behind that wakes the run', async () => {
    const calls = await callsAfterDeath(async ({ token, steering }) => {
      steering.loseAnswer('tokens.await')
      await expect(wait.forToken(token)).rejects.toThrow('no answer')
    })
    expect(calls).toBe(0)
  })

  it('while another wait of the run is for the same token, leaves that one alone', async () => {
    const calls = await callsAfterDeath(async ({ token, steering, complete }) => {
      const waiting = wait.forToken(token)
      steering.loseAnswer('tokens.await')
      await expect(wait.forToken(token)).rejects.toThrow('no answer')
      await complete()
      expect(await waiting).toEqual({ ok: true, output: 'yes' })
    })
    expect(calls).toBe(0)
  })
})

describe('a wait whose token is still being stored', () => {
  it('rejects at once when its run is canceled', async () => {
    const steering = steeredStorage(memoryStorage())
    const clock = testClock({ mode: 'manual' })
    let nap: Promise<unknown> | undefined
    const sleeper = bodyTask(() => (nap = rejection(wait.for({ days: 1 }))))
    const t = await createTestEngine({ tasks: [sleeper], storage: steering.storage, clock })
    await clock.settle()
    const answer = steering.holdAnswer('tokens.insert')
    const run = await t.engine.trigger(sleeper, null)
    await Promise.resolve()
    await t.engine.runs.cancel(run)
    expect(await nap).toMatchObject({ code: 'ERR_RUN_CANCELED' })
    answer()
    await t.close()
  })

  it('no longer listens to its signal once its run has returned', async () => {
    const steering = steeredStorage(memoryStorage())
    const { signal, abort } = countedSignal()
    const ends: unknown[] = []
    const hasty = bodyTask(() => {
      // A loser that is never awaited: an unhandled rejection would end the process.
      void wait.for({ days: 1, signal: signal.signal }).then(() => ends.push('slept'))
    })
    const t = await createTestEngine({ tasks: [hasty], storage: steering.storage, clock: { mode: 'manual' } })
    await t.clock.settle()
    const answer = steering.holdAnswer('tokens.insert')
    const run = await t.engine.trigger(hasty, null)
    await t.engine.runs.poll(run)
    expect(signal.listeners).toBe(0)
    answer()
    await t.clock.settle()
    abort(new Error('late'))
    await t.clock.settle()
    expect(ends).toEqual([])
    await t.close()
  })
})

describe('a wait whose result is still being read', () => {
  it('stays pending when its run returns first', async () => {
    const steering = steeredStorage(memoryStorage())
    const ends: unknown[] = []
    const child = bodyTask(() => wait.forToken(fails).then(() => Promise.reject(new Error('broken'))), {
      id: 'child',
    })
    const race = bodyTask(async ({ tasks }) => {
      const lost = tasks.triggerAndWait<typeof child>('child', null).unwrap()
      // A loser that is never awaited: an unhandled rejection would end the process.
      lost.catch((error: unknown) => ends.push(error))
      await wait.forToken(go)
    })
    const t = await createTestEngine({
      tasks: [child, race],
      storage: steering.storage,
      clock: { mode: 'manual' },
    })
    const { id: fails } = await t.engine.wait.createToken({ timeout: '1h' })
    const { id: go } = await t.engine.wait.createToken({ timeout: '1h' })
    const run = await t.engine.trigger(race, null)
    await t.clock.settle()
    const childEnded = new Promise((resolve) => {
      t.engine.on('run', ({ status }) => {
        if (status === 'FAILED') resolve(status)
      })
    })
    const answer = steering.holdAnswer('runs.get')
    await t.engine.wait.completeToken(fails)
    await childEnded
    await t.engine.wait.completeToken(go)
    await run.result()
    answer()
    await t.clock.settle()
    expect(ends).toEqual([])
    await t.close()
  })
})

/** A signal that counts who listens to it. */
function countedSignal(): {
  signal: { readonly signal: AbortSignal; readonly listeners: number }
  abort: (reason: Error) => void
} {
  const controller = new AbortController()
  const { signal } = controller
  let listeners = 0
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    listeners += 1
    add(...args)
  }
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    listeners -= 1
    remove(...args)
  }
  const counted = {
    signal,
    get listeners() {
      return listeners
    },
  }
  return { signal: counted, abort: (reason) => controller.abort(reason) }
}
