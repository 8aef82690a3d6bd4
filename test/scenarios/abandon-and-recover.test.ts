import { describe, expect, it } from 'vitest'
import { type AnyTask, type Engine, metadata, once, type Storage, task, wait } from 'waitpoint'
import { createTestEngine, type TestClock, testClock, type TestEngine } from 'waitpoint/testing'
import { abandonable, isFarAway, projectStorage } from '../support/abandon.ts'
import { bodyTask, rejection } from '../support/body-task.ts'
import { cases } from '../support/cases.ts'
import { crashing, type CrashPoint, pausing } from '../support/crash-point.ts'
import { numbers } from '../support/streams.ts'

const LEASE_MS = 30_000

/** What the outside world has seen. */
interface World {
  readonly mails: string[]
  readonly prints: string[]
  /** What attempts that were fenced got to know. */
  readonly refusals: unknown[]
}

/** A draft is streamed, a person asked by mail, slept over, and the result printed by a child run. */
function approval(world: World): { readonly tasks: readonly AnyTask[]; readonly review: typeof review } {
  const print = task({
    id: 'print',
    run: (text: string) =>
      once('print', () => {
        world.prints.push(text)
        return world.prints.length
      }),
  })
  const review = task({
    id: 'review',
    run: async ({ doc }: { readonly doc: string }, { signal }) => {
      signal.addEventListener('abort', () => void world.refusals.push(signal.reason))
      const words: string[] = []
      for await (const word of await metadata.stream('draft', draftOf(doc))) words.push(word)
      metadata.set('words', words.length)
      const token = await wait.createToken({ timeout: '24h', tags: ['review'] })
      await once('mail', () => void world.mails.push(`${token.id} ${token.url}`))
      const { by } = await wait.forToken<{ by: string }>(token).unwrap()
      await wait.for({ minutes: 2 })
      const printed = await print.triggerAndWait(`${words.join(' ')}, approved by ${by}`)
      return { ok: printed.ok, by, words }
    },
  })
  return { tasks: [review, print], review }
}

async function* draftOf(doc: string): AsyncGenerator<string> {
  for (const word of ['draft', 'of', doc]) yield word
}

/** Everything a client does, in its own process. Its calls may never come back: that process dies. */
async function act(
  opening: Promise<TestEngine>,
  clock: TestClock,
  review: ReturnType<typeof approval>['review'],
): Promise<void> {
  let engine: Engine | undefined
  const keep = (t: TestEngine): void => void (engine = t.engine)
  opening.then(keep, () => undefined)
  await clock.settle()
  const triggering = engine?.trigger(review, { doc: 'd1' }, { idempotencyKey: 'd1', tags: 'd1' })
  triggering?.catch(() => undefined)
  await clock.settle()
  if (engine !== undefined) answer(engine).catch(() => undefined)
  await clock.advance('3m')
}

async function answer(engine: Engine): Promise<void> {
  for await (const token of engine.wait.listTokens({ tags: ['review'], status: 'WAITING' })) {
    await engine.wait.completeToken(token, { by: 'Ada' })
  }
}

interface End {
  readonly run: unknown
  readonly tokens: number
  readonly mails: readonly string[]
  readonly children: number
  readonly prints: readonly string[]
  readonly chunks: readonly unknown[]
}

/** How it all ended, without ids and instants. */
async function endOf(t: TestEngine, world: World): Promise<End> {
  const [run] = (await t.engine.runs.list({ taskIdentifier: 'review' })).data
  const { status, output, metadata: values, tags } = await t.engine.runs.retrieve(run!.id)
  const tokens = await t.engine.wait.listTokens({ tags: ['review'] })
  const children = await t.engine.runs.list({ taskIdentifier: 'print' })
  const chunks: unknown[] = []
  for await (const part of t.engine.runs.subscribeToRun(run!.id).withStreams<{ draft: string }>()) {
    if (part.type === 'draft') chunks.push(part.chunk)
  }
  return {
    run: { status, output, metadata: values, tags },
    tokens: tokens.data.length,
    mails: world.mails,
    children: children.data.length,
    prints: world.prints,
    chunks,
  }
}

/** A new process on the same storage, with a client that does not give up. */
async function recover(storage: Storage, clock: TestClock, world: World): Promise<End> {
  const { tasks, review } = approval(world)
  await using t = await createTestEngine({ tasks, storage, clock, seed: 'second' })
  await t.clock.advance(LEASE_MS + 1)
  await act(Promise.resolve(t), clock, review)
  // Before the engine is closed.
  return await endOf(t, world)
}

async function crashAt(point: CrashPoint | undefined): Promise<{
  readonly end: End
  readonly calls: number
  readonly hasCrashed: boolean
}> {
  const storage = projectStorage()
  const clock = testClock({ mode: 'manual' })
  const world: World = { mails: [], prints: [], refusals: [] }
  const ports = crashing(clock, storage, point)
  const { tasks, review } = approval(world)
  const opening = createTestEngine({ tasks, storage: ports.storage, clock: ports.clock, seed: 'first' })
  await act(opening, clock, review)
  const { calls } = ports
  // Over a wire the number of calls is a matter of luck: the last one may be of the close, which would never be answered.
  const hasCrashed = !ports.survive()
  if (!hasCrashed) await (await opening).close()
  return { end: await recover(storage, clock, world), calls, hasCrashed }
}

/** As many of them as there are cases for this storage, from the first on. */
function spread<Item>(items: readonly Item[]): readonly Item[] {
  const step = items.length / cases(items.length)
  return items.filter((_, index) => Math.floor(index / step) > Math.floor((index - 1) / step))
}

describe('a run of an engine that is gone', () => {
  it('ends as it would have, wherever the process died', async () => {
    const whole = await crashAt(undefined)
    expect(whole.end).toEqual({
      run: {
        status: 'COMPLETED',
        output: { ok: true, by: 'Ada', words: ['draft', 'of', 'd1'] },
        metadata: { words: 3 },
        tags: ['d1'],
      },
      tokens: 1,
      mails: [expect.stringMatching(/^waitpoint_\S+ https?:\S+$/)],
      children: 1,
      prints: ['draft of d1, approved by Ada'],
      chunks: ['draft', 'of', 'd1'],
    })
    const points: CrashPoint[] = []
    for (let call = 1; call <= whole.calls; call += 1) {
      points.push({ call, moment: 'before' }, { call, moment: 'after' })
    }
    expect(points.length).toBeGreaterThan(60)

    let repeated = 0
    for (const point of spread(points)) {
      const where = `${point.moment} call ${point.call}`
      const { end, hasCrashed } = await crashAt(point)
      expect(hasCrashed || isFarAway(), where).toBe(true)
      expect({ ...end, mails: [], prints: [], chunks: [] }, where).toEqual({
        ...whole.end,
        mails: [],
        prints: [],
        chunks: [],
      })
      // An effect is repeated only when the crash fell between it and its record; the token and its URL are the same.
      expect(end.mails.length + end.prints.length, where).toBeLessThanOrEqual(3)
      expect(new Set(end.mails).size, where).toBe(1)
      expect(new Set(end.prints).size, where).toBe(1)
      repeated += end.mails.length + end.prints.length - 2
      // A stream shows what each attempt wrote; the last one wrote all of it.
      expect(end.chunks.slice(-3), where).toEqual(whole.end.chunks)
    }
    // The mail and the print, each before its record was made and while it was out.
    expect(repeated).toBeLessThanOrEqual(4)
  }, 600_000)

  it('is not disturbed by what the old process still does when it wakes up', async () => {
    const whole = await crashAt(undefined)
    for (const call of spread(numbers(whole.calls + 1, 1))) {
      const where = `paused at call ${call}`
      const storage = projectStorage()
      const clock = testClock({ mode: 'manual' })
      const world: World = { mails: [], prints: [], refusals: [] }
      const ports = pausing(clock, storage, call)
      const { tasks, review } = approval(world)
      const opening = createTestEngine({ tasks, storage: ports.storage, clock: ports.clock, seed: 'first' })
      await act(opening, clock, review)
      expect(ports.isPaused || isFarAway(), where).toBe(true)

      const later: World = { ...world, mails: [], prints: [] }
      const end = await recover(storage, clock, later)
      ports.resume()
      await clock.advance('3m')
      const { tasks: again } = approval(later)
      await using reader = await createTestEngine({ tasks: again, storage, clock, seed: 'reader' })
      const after = await endOf(reader, later)
      expect({ ...after, chunks: [] }, where).toEqual({ ...end, chunks: [] })
      expect({ ...after, mails: [], prints: [], chunks: [] }, where).toEqual({
        ...whole.end,
        mails: [],
        prints: [],
        chunks: [],
      })
      expect(after.chunks, where).toEqual(end.chunks)
      for (const refusal of world.refusals)
        expect(refusal, where).toMatchObject({ code: 'ERR_STALE_ATTEMPT' })
      await (await opening).close()
    }
  }, 600_000)
})

describe('interruptions', () => {
  /** Engines that die one after the other while the run executes, or while it is parked. */
  async function dieRepeatedly(
    deaths: readonly ('executing' | 'parked')[],
    maxInterruptions: number,
  ): Promise<{ readonly status: string; readonly attempts: number }> {
    const storage = projectStorage()
    const clock = testClock({ mode: 'manual' })
    let id = ''
    for (const [index, death] of deaths.entries()) {
      const ports = abandonable(clock, storage)
      const dying = bodyTask(async ({ wait: own }) => {
        if (death === 'parked') await own.for({ seconds: 100 })
        await clock.sleep('1d')
      })
      const t = await createTestEngine({
        tasks: [dying],
        clock: ports.clock,
        storage: ports.storage,
        seed: index,
        maxInterruptions,
      })
      if (index === 0) id = (await t.engine.trigger(dying, null)).id
      await clock.advance(death === 'parked' ? LEASE_MS * 4 : LEASE_MS + 1)
      ports.abandon()
      await clock.advance(LEASE_MS)
    }
    const living = bodyTask(() => 'survived')
    await using t = await createTestEngine({
      tasks: [living],
      storage,
      clock,
      seed: 'last',
      maxInterruptions,
    })
    await clock.advance('10m')
    const { status, attemptCount } = await t.engine.runs.retrieve(id)
    await clock.advance('2d')
    return { status, attempts: attemptCount }
  }

  it('end the run as CRASHED when there are more of them in a row than allowed', async () => {
    const deaths = (count: number): 'executing'[] => Array<'executing'>(count).fill('executing')
    expect(await dieRepeatedly(deaths(3), 3)).toEqual({ status: 'COMPLETED', attempts: 4 })
    expect(await dieRepeatedly(deaths(4), 3)).toEqual({ status: 'CRASHED', attempts: 4 })
    expect(await dieRepeatedly(deaths(1), 0)).toEqual({ status: 'CRASHED', attempts: 1 })
    expect(await dieRepeatedly(deaths(10), 10)).toMatchObject({ status: 'COMPLETED' })
  })

  it('reach the caller that awaits the result', async () => {
    const storage = projectStorage()
    const clock = testClock({ mode: 'manual' })
    const ports = abandonable(clock, storage)
    const dying = bodyTask(() => clock.sleep('1d'))
    const first = await createTestEngine({
      tasks: [dying],
      clock: ports.clock,
      storage: ports.storage,
      seed: 'first',
    })
    const { id } = await first.engine.trigger(dying, null)
    await clock.settle()
    ports.abandon()
    await using t = await createTestEngine({
      tasks: [dying],
      storage,
      clock,
      seed: 'second',
      maxInterruptions: 0,
    })
    const polling = t.engine.runs.poll(id)
    await clock.advance(LEASE_MS)
    expect(await polling).toMatchObject({ status: 'CRASHED', isFailed: true })
    await clock.advance('2d')
  })

  it('start over when the run parks', async () => {
    const storage = projectStorage()
    const clock = testClock({ mode: 'manual' })
    const interruptions: (number | undefined)[] = []
    let id = ''
    for (let index = 0; index < 4; index += 1) {
      const ports = abandonable(clock, storage)
      // The attempt of every other engine parks before it dies.
      const dying = bodyTask(async () => {
        if (index % 2 === 0) await wait.for({ seconds: 1 + index, name: `sleep ${index}` })
        await clock.sleep('1d')
      })
      const t = await createTestEngine({
        tasks: [dying],
        clock: ports.clock,
        storage: ports.storage,
        seed: index,
        maxInterruptions: 2,
      })
      if (index === 0) id = (await t.engine.trigger(dying, null)).id
      await clock.advance(LEASE_MS + 6_000)
      interruptions.push((await storage.runs.get(id))?.interruptions)
      ports.abandon()
    }
    expect(interruptions).toEqual([0, 1, 0, 1])
    expect((await storage.runs.get(id))?.status).toBe('EXECUTING')
    await clock.advance('2d')
  })

  it('are not counted for a graceful close', async () => {
    const storage = projectStorage()
    const clock = testClock({ mode: 'manual' })
    const slow = bodyTask(() => clock.sleep('1d', {}))
    let id = ''
    for (let index = 0; index < 5; index += 1) {
      const t = await createTestEngine({ tasks: [slow], storage, clock, seed: index, maxInterruptions: 0 })
      if (index === 0) id = (await t.engine.trigger(slow, null)).id
      await clock.settle()
      await t.close()
    }
    expect(await storage.runs.get(id)).toMatchObject({ status: 'EXECUTING', attempt: 5, interruptions: 0 })
    await clock.advance('2d')
  })
})

describe('a parked run whose engine is gone', () => {
  it('is not executed again until one of its waits is settled', async () => {
    const storage = projectStorage()
    const clock = testClock({ mode: 'manual' })
    let calls = 0
    const patient = bodyTask(async () => {
      calls += 1
      const token = await wait.createToken({ timeout: '7d', tags: 'mine' })
      return Promise.race([wait.forToken<string>(token).unwrap(), wait.for({ days: 5 }).then(() => 'slept')])
    })
    const ports = abandonable(clock, storage)
    const first = await createTestEngine({
      tasks: [patient],
      clock: ports.clock,
      storage: ports.storage,
      seed: 'first',
      maxInterruptions: 0,
    })
    const { id } = await first.engine.trigger(patient, null)
    await clock.settle()
    ports.abandon()
    await using t = await createTestEngine({
      tasks: [patient],
      storage,
      clock,
      seed: 'second',
      maxInterruptions: 0,
    })
    await clock.advance('1d')
    expect(calls).toBe(1)
    expect((await t.engine.runs.retrieve(id)).status).toBe('WAITING')
    const [token] = (await t.engine.wait.listTokens({ tags: ['mine'] })).data
    expect(await t.engine.wait.completeToken(token!, 'answered')).toMatchObject({ success: true })
    await clock.settle()
    expect(calls).toBe(2)
    expect(await t.engine.runs.retrieve(id)).toMatchObject({ status: 'COMPLETED', output: 'answered' })
  })

  it('keeps an answer that was acknowledged before it got a slot', async () => {
    const storage = projectStorage()
    const clock = testClock({ mode: 'manual' })
    const waiting = bodyTask(async () => {
      const token = await wait.createToken({ timeout: '7d', tags: 'mine' })
      return wait.forToken<string>(token).unwrap()
    })
    const busy = bodyTask(() => clock.sleep('1d'), { id: 'busy' })
    const ports = abandonable(clock, storage)
    const first = await createTestEngine({
      tasks: [waiting, busy],
      clock: ports.clock,
      storage: ports.storage,
      seed: 'first',
      concurrency: 1,
    })
    const { id } = await first.engine.trigger(waiting, null)
    await first.engine.trigger(busy, null)
    await clock.settle()
    const [token] = (await first.engine.wait.listTokens({ tags: ['mine'] })).data
    expect(await first.engine.wait.completeToken(token!, 'answered')).toMatchObject({ success: true })
    // Several renewals of the lease later the run is still waiting for its slot.
    await clock.advance('1m')
    ports.abandon()
    await using t = await createTestEngine({ tasks: [waiting, busy], storage, clock, seed: 'second' })
    await clock.advance(LEASE_MS + 1)
    expect(await t.engine.runs.retrieve(id)).toMatchObject({ status: 'COMPLETED', output: 'answered' })
    await clock.advance('2d')
  })
})

describe('two engines on one storage', () => {
  it('never execute one run at once, and share the work', async () => {
    const storage = projectStorage()
    const clock = testClock({ mode: 'manual' })
    const executing = new Set<string>()
    const twice: string[] = []
    const workers = new Map<string, number>()
    const work = (name: string): ReturnType<typeof bodyTask<void>> =>
      bodyTask(async ({ ctx }) => {
        if (executing.has(ctx.run.id)) twice.push(ctx.run.id)
        executing.add(ctx.run.id)
        workers.set(name, (workers.get(name) ?? 0) + 1)
        await clock.sleep('1s')
        executing.delete(ctx.run.id)
        await wait.for({ seconds: 1 })
      })
    const tasks = { a: work('a'), b: work('b') }
    await using a = await createTestEngine({ tasks: [tasks.a], storage, clock, seed: 'a', concurrency: 2 })
    await using b = await createTestEngine({ tasks: [tasks.b], storage, clock, seed: 'b', concurrency: 2 })
    const runs = await Promise.all(
      Array.from({ length: 12 }, (_, index) => (index % 2 ? a : b).engine.trigger(tasks.a, null)),
    )
    await clock.advance('1m')
    const statuses = await Promise.all(runs.map(async (run) => (await a.engine.runs.retrieve(run.id)).status))
    expect(new Set(statuses)).toEqual(new Set(['COMPLETED']))
    expect(twice).toEqual([])
    expect([...workers.values()].reduce((sum, count) => sum + count)).toBe(12)
    expect(workers.size).toBe(2)
  })

  it('tell each other: a result, a cancel and an answer reach the one that waits for them', async () => {
    const storage = projectStorage()
    const clock = testClock({ mode: 'manual' })
    const caught: unknown[] = []
    const waiting = bodyTask(async () => {
      const token = await wait.createToken({ tags: 'mine' })
      const waited = wait.forToken<string>(token).unwrap()
      waited.catch((error: unknown) => void caught.push(error))
      return waited
    })
    await using worker = await createTestEngine({ tasks: [waiting], storage, clock, seed: 'a' })
    await using client = await createTestEngine({ tasks: [], storage, clock, seed: 'b' })
    await expect(client.engine.trigger(waiting, null)).rejects.toMatchObject({ code: 'ERR_TASK_NOT_FOUND' })

    const answered = await worker.engine.trigger(waiting, null)
    const canceled = await worker.engine.trigger(waiting, null)
    await clock.settle()
    const polling = client.engine.runs.poll(answered)
    await client.engine.runs.cancel(canceled)
    await clock.settle()
    expect(caught).toMatchObject([{ code: 'ERR_RUN_CANCELED', runId: canceled.id }])
    const [token] = (await client.engine.wait.listTokens({ tags: ['mine'] })).data.slice(-1)
    await client.engine.wait.completeToken(token!, 'yes')
    await clock.settle()
    expect(await polling).toMatchObject({ status: 'COMPLETED', output: 'yes' })
    expect(worker.engine.stats()).toMatchObject({ attempts: 0, executing: 0, waits: 0 })
  })

  it('fence the one that lost its lease: it is told, and nothing it does counts', async () => {
    const storage = projectStorage()
    const clock = testClock({ mode: 'manual' })
    const seen: unknown[] = []
    const refused = bodyTask(
      async ({ metadata: own, signal }) => {
        await clock.sleep('1m')
        own.set('by', 'the old one')
        seen.push(await rejection(own.flush()), await rejection(wait.createToken()), signal.reason)
        return 'the old one'
      },
      { id: 'body' },
    )
    const quick = bodyTask(() => 'the new one')
    // The old engine hears nothing of the time that passes.
    const ports = pausing(clock, storage, 1_000)
    const old = await createTestEngine({
      tasks: [refused],
      storage: ports.storage,
      clock: { ...ports.clock, setTimer: () => () => undefined },
      seed: 'old',
    })
    const { id } = await old.engine.trigger(refused, null)
    await clock.advance('10s')
    await using t = await createTestEngine({ tasks: [quick], storage, clock, seed: 'new' })
    await clock.advance(LEASE_MS + 1)
    expect(await t.engine.runs.retrieve(id)).toMatchObject({ status: 'COMPLETED', output: 'the new one' })
    await clock.advance('1m')
    expect(seen).toMatchObject([
      { code: 'ERR_STALE_ATTEMPT' },
      { code: 'ERR_STALE_ATTEMPT' },
      { code: 'ERR_STALE_ATTEMPT' },
    ])
    expect(await t.engine.runs.retrieve(id)).toMatchObject({ output: 'the new one', metadata: {} })
    await old.close()
  })
})
