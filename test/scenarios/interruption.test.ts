import { describe, expect, it } from 'vitest'
import type { AnyTask, RunTools } from 'waitpoint'
import { createTestEngine, type TestClock, type TestEngine, testClock } from 'waitpoint/testing'
import { abandonable, projectStorage } from '../support/abandon.ts'
import { bodyTask } from '../support/body-task.ts'
import { turn, until } from '../support/turn.ts'

const START = Date.UTC(2000, 0, 1)
const MINUTE_MS = 60_000

interface Machines {
  readonly clock: TestClock
  /** The engine that runs now. */
  readonly engine: TestEngine['engine']
  /** The process dies; another one starts on the same storage, and the lease of the dead one runs out. */
  restart(options?: { readonly after?: string }): Promise<void>
}

const retention = { maxAge: '10m' }

/** One engine after the other on one storage and one clock. */
async function onMachines(
  tasks: readonly AnyTask[],
  body: (machines: Machines) => Promise<void>,
): Promise<void> {
  const storage = projectStorage()
  await using clock = testClock({ mode: 'manual' })
  let seed = 0
  const start = async (): Promise<{ t: TestEngine; abandon: () => void }> => {
    const ports = abandonable(clock, storage)
    const options = { tasks, clock: ports.clock, storage: ports.storage, secretKey: 'sk', retention }
    return { t: await createTestEngine({ ...options, seed: (seed += 1) }), abandon: () => ports.abandon() }
  }
  let current = await start()
  const machines: Machines = {
    clock,
    get engine() {
      return current.t.engine
    },
    restart: async ({ after = '31s' } = {}) => {
      current.abandon()
      current = await start()
      await clock.advance(after)
    },
  }
  try {
    await body(machines)
  } finally {
    await current.t.close()
  }
}

describe('a run whose process dies', () => {
  it('is executed again while it executes, finds the same token at the same address, and finishes', async () => {
    const seen: string[] = []
    const busy: (() => void)[] = []
    const review = bodyTask(async ({ wait, ctx }) => {
      const token = await wait.createToken({ timeout: '24h', tags: ['review'] })
      seen.push(token.id, token.url, token.publicAccessToken)
      if (ctx.attempt.number === 1) await new Promise<void>((resolve) => busy.push(resolve))
      return { ...(await wait.forToken<{ approved: boolean }>(token).unwrap()), attempt: ctx.attempt }
    })
    await onMachines([review], async (machines) => {
      const run = await machines.engine.trigger(review, null)
      await until(() => busy.length > 0)
      await machines.restart()
      expect(seen).toHaveLength(6)
      expect(seen.slice(3)).toEqual(seen.slice(0, 3))
      expect((await machines.engine.wait.listTokens()).data).toHaveLength(1)
      expect(await machines.engine.wait.retrieveToken(seen[0]!)).toMatchObject({ createdAt: new Date(START) })
      await machines.engine.wait.completeToken(seen[0]!, { approved: true })
      await machines.clock.settle()
      expect(await machines.engine.runs.retrieve(run.id)).toMatchObject({
        status: 'COMPLETED',
        output: {
          approved: true,
          attempt: { number: 2, policyNumber: 1, startedAt: expect.any(String) as string },
        },
      })
    })
  })

  it('sleeps on while it is parked, until its token is answered', async () => {
    let attempts = 0
    const review = bodyTask(async ({ wait }) => {
      attempts += 1
      return wait.forToken<string>(await wait.createToken({ timeout: '24h' })).unwrap()
    })
    await onMachines([review], async (machines) => {
      const run = await machines.engine.trigger(review, null)
      await machines.clock.settle()
      await machines.restart({ after: '1h' })
      expect(await machines.engine.runs.retrieve(run.id)).toMatchObject({ status: 'WAITING' })
      expect(attempts).toBe(1)
      const [token] = (await machines.engine.wait.listTokens()).data
      expect(await machines.engine.wait.completeToken(token!, 'yes')).toMatchObject({ success: true })
      await machines.clock.settle()
      expect(await machines.engine.runs.retrieve(run.id)).toMatchObject({
        status: 'COMPLETED',
        output: 'yes',
      })
      expect(attempts).toBe(2)
    })
  })

  it('keeps every deadline: a sleep ends when it would have, and so does a token', async () => {
    const instants: (number | undefined)[] = []
    const naps = bodyTask(async ({ wait }) => {
      await wait.for({ minutes: 2 })
      const token = await wait.createToken({ timeout: '2m' })
      const { ok } = await wait.forToken(token)
      const { createdAt, completedAt } = await wait.retrieveToken(token)
      instants.push(createdAt.getTime() - START, completedAt!.getTime() - START)
      return ok
    })
    await onMachines([naps], async (machines) => {
      const { clock } = machines
      const run = await machines.engine.trigger(naps, null)
      await clock.advance('1m')
      await machines.restart()
      await clock.advance('2m')
      await machines.restart()
      await clock.advance('2m')
      expect(await machines.engine.runs.retrieve(run.id)).toMatchObject({
        status: 'COMPLETED',
        output: false,
      })
      expect(instants).toEqual([2 * MINUTE_MS, 4 * MINUTE_MS])
    })
  })

  it('goes on past a fixed deadline that has passed meanwhile', async () => {
    const seen: unknown[] = []
    const fixed = bodyTask(async ({ wait }) => {
      const token = await wait.createToken({ timeout: new Date(START + MINUTE_MS) })
      await wait.until({ date: new Date(START + MINUTE_MS), throwIfInThePast: true })
      seen.push(token.id, (await wait.forToken(token)).ok)
      await wait.for({ hours: 1 })
    })
    await onMachines([fixed], async (machines) => {
      const run = await machines.engine.trigger(fixed, null)
      await machines.clock.advance('2m')
      await machines.restart({ after: '1h' })
      expect(await machines.engine.runs.retrieve(run.id)).toMatchObject({ status: 'COMPLETED' })
      expect(seen).toEqual([seen[0], false, seen[0], false])
    })
  })

  it('makes no token where the options of the wait have changed: the run stands still', async () => {
    const ids: string[] = []
    let tags: string[] = ['old']
    const changed = bodyTask(async ({ wait }) => {
      ids.push((await wait.createToken({ timeout: '24h' })).id)
      ids.push((await wait.createToken({ timeout: '24h', tags })).id)
      ids.push((await wait.createToken({ timeout: '24h' })).id)
      await new Promise(() => undefined)
    })
    await onMachines([changed], async (machines) => {
      const { id } = await machines.engine.trigger(changed, null)
      await until(() => ids.length === 3)
      tags = ['new']
      machines.restart().catch(() => undefined)
      await until(() => ids.length === 4)
      while ((await machines.engine.runs.retrieve(id)).status !== 'PENDING_VERSION') await turn()
      expect(ids[3]).toBe(ids[0])
      const { data } = await machines.engine.wait.listTokens()
      expect(new Set(data.map((token) => token.id))).toEqual(new Set(ids))
      expect(await machines.engine.wait.retrieveToken(ids[1]!)).toMatchObject({ tags: ['old'] })
    })
  })

  it('gets the answer that came while it was down', async () => {
    const review = bodyTask(async ({ wait }) =>
      wait.forToken<string>(await wait.createToken({ timeout: '24h' })).unwrap(),
    )
    const storage = projectStorage()
    await using clock = testClock({ mode: 'manual' })
    const ports = abandonable(clock, storage)
    const first = await createTestEngine({ tasks: [review], clock: ports.clock, storage: ports.storage })
    const run = await first.engine.trigger(review, null)
    await clock.settle()
    ports.abandon()
    // Some other process takes the answer, before anybody knows that the first one is dead.
    await using web = await createTestEngine({ clock, storage, seed: 'web' })
    const [token] = (await web.engine.wait.listTokens()).data
    await web.engine.wait.completeToken(token!, 'answer')
    await web.close()
    await clock.advance('10m')
    await using second = await createTestEngine({ tasks: [review], clock, storage, seed: 'second' })
    await clock.settle()
    expect(await second.engine.runs.retrieve(run.id)).toMatchObject({ status: 'COMPLETED', output: 'answer' })
  })

  it('gets the answer that it had while it waited for a slot', async () => {
    const review = bodyTask(
      async ({ wait }) => wait.forToken<string>(await wait.createToken({ timeout: '24h' })).unwrap(),
      { id: 'review' },
    )
    const died = new AbortController()
    const busy = bodyTask(({ ctx }) => (ctx.attempt.number === 1 ? clock.sleep('1h', died) : undefined), {
      id: 'busy',
    })
    const storage = projectStorage()
    await using clock = testClock({ mode: 'manual' })
    const ports = abandonable(clock, storage)
    const tasks = [review, busy]
    const first = await createTestEngine({
      tasks,
      concurrency: 1,
      clock: ports.clock,
      storage: ports.storage,
    })
    const run = await first.engine.trigger(review, null)
    await clock.settle()
    await first.engine.trigger(busy, null)
    await clock.settle()
    const [token] = (await first.engine.wait.listTokens()).data
    expect(await first.engine.wait.completeToken(token!, 'answer')).toMatchObject({ success: true })
    await clock.advance('15s')
    expect(await first.engine.runs.retrieve(run.id)).toMatchObject({ status: 'WAITING' })
    ports.abandon()
    died.abort()
    await using second = await createTestEngine({ tasks, clock, storage, seed: 2 })
    await clock.advance('31s')
    expect(await second.engine.runs.retrieve(run.id)).toMatchObject({ status: 'COMPLETED', output: 'answer' })
  })

  it('finds its settled tokens and effects again however long ago they were settled', async () => {
    const seen: string[] = []
    let effects = 0
    const late = bodyTask(
      async (tools: RunTools) => {
        const token = await tools.wait.createToken({ timeout: '24h' })
        seen.push(token.id)
        const { once } = await import('waitpoint')
        await once('effect', () => void (effects += 1))
        if (seen.length === 1) await tools.wait.completeToken(token, 'early')
        const output = await tools.wait.forToken<string>(token).unwrap()
        await tools.wait.for({ hours: 10 })
        return output
      },
      { id: 'late' },
    )
    const parent = bodyTask(() => late.trigger(null).then(() => undefined), { id: 'parent' })
    for (const isChild of [false, true]) {
      seen.length = 0
      effects = 0
      await onMachines([late, parent], async (machines) => {
        await machines.engine.trigger(isChild ? parent : late, null)
        await machines.clock.advance('5h')
        await machines.restart()
        await machines.clock.advance('5h')
        const { data } = await machines.engine.runs.list({ taskIdentifier: 'late' })
        expect(await machines.engine.runs.retrieve(data[0]!)).toMatchObject({
          status: 'COMPLETED',
          output: 'early',
        })
        expect([seen.length, new Set(seen).size, effects]).toEqual([2, 1, 1])
      })
    }
  })
})

describe('a token that an interrupted run asks for again', () => {
  it('is cached only if it was asked for by a key', async () => {
    const cached: boolean[][] = []
    const asking = bodyTask(async ({ wait }) => {
      const tokens = [
        await wait.createToken(),
        await wait.createToken({ name: 'named' }),
        await wait.createToken({ idempotencyKey: 'keyed' }),
      ]
      cached.push(tokens.map(({ isCached }) => isCached))
      await wait.for({ seconds: 1 })
    })
    await using t = await createTestEngine({ tasks: [asking], alwaysResume: true })
    await (await t.engine.trigger(asking, null)).result()
    expect(cached).toEqual([
      [false, false, false],
      [false, false, true],
    ])
  })
})

describe('a run that is retried', () => {
  it('starts its waits anew, except those with a key', async () => {
    const ids: string[][] = []
    const retried = bodyTask(
      async ({ wait, ctx }) => {
        const plain = await wait.createToken()
        const keyed = await wait.createToken({ idempotencyKey: 'keyed' })
        ids.push([plain.id, keyed.id, String(plain.isCached), String(keyed.isCached)])
        if (ctx.attempt.policyNumber < 3) throw new Error('again')
      },
      { retry: { maxAttempts: 3 } },
    )
    await using t = await createTestEngine({ tasks: [retried] })
    await (await t.engine.trigger(retried, null)).result()
    const [plain, keyed, plainCached, keyedCached] = [0, 1, 2, 3].map((column) =>
      ids.map((row) => row[column]),
    )
    expect(new Set(plain).size).toBe(3)
    expect(new Set(keyed).size).toBe(1)
    expect(plainCached).toEqual(['false', 'false', 'false'])
    expect(keyedCached).toEqual(['false', 'true', 'true'])
  })

  it('starts its sleeps anew', async () => {
    const instants: number[] = []
    const retried = bodyTask(
      async ({ wait, ctx }) => {
        await wait.for({ minutes: 1 })
        instants.push(t.clock.now() - START)
        if (ctx.attempt.number === 1) throw new Error('again')
      },
      { retry: { maxAttempts: 2, minTimeoutInMs: 1_000, randomize: false } },
    )
    await using t = await createTestEngine({ tasks: [retried] })
    await (await t.engine.trigger(retried, null)).result()
    expect(instants).toEqual([MINUTE_MS, 2 * MINUTE_MS + 1_000])
  })
})
