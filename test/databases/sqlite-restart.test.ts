import { describe, expect, it } from 'vitest'
import { metadata, once, task, wait } from 'waitpoint'
import { sqliteStorage } from 'waitpoint/sqlite'
import { createTestEngine, type TestClock, testClock, type TestEngine } from 'waitpoint/testing'
import { createDeferred } from '../../src/primitives/deferred.ts'
import { abandonable } from '../support/abandon.ts'
import { openDriver, temporaryFolder } from './drivers.ts'

const SLEEPERS = 10_000
const LEASE_MS = 30_000

/** A process on this file, in its own time; `seed` tells its ids from those of others. */
function start(
  path: string,
  clock: TestClock,
  options: Parameters<typeof createTestEngine>[0] = {},
): Promise<TestEngine> {
  return createTestEngine({ storage: sqliteStorage(openDriver(path)), clock, ...options })
}

describe('an engine that starts again on a SQLite file', () => {
  it('goes on with the same token at the same URL, and repeats no effect', async () => {
    using folder = temporaryFolder()
    await using clock = testClock()
    const urls: string[] = []
    const mails: string[] = []
    const review = task({
      id: 'review',
      run: async () => {
        const token = await wait.createToken({ timeout: '24h', tags: ['review'] })
        urls.push(token.url)
        await once('mail', () => void mails.push(token.url))
        return wait.forToken<string>(token).unwrap()
      },
    })
    const path = folder.file('a.db')
    const first = await start(path, clock, { tasks: [review], seed: 'first' })
    const { id } = await first.engine.trigger(review, null)
    await clock.settle()
    await first.engine.close()

    await using second = await start(path, clock, { tasks: [review], seed: 'second' })
    await clock.settle()
    expect(urls).toHaveLength(1)
    await second.complete({ tag: 'review' }, 'approved')
    const run = await second.engine.runs.poll(id)
    expect(run).toMatchObject({ status: 'COMPLETED', output: 'approved' })
    expect(new Set(urls).size).toBe(1)
    expect([urls.length, mails]).toEqual([2, [urls[0]]])
  })

  it('times out tokens that were due while no process ran, at their deadline', async () => {
    using folder = temporaryFolder()
    await using clock = testClock()
    const ask = task({ id: 'ask', run: async (token: string) => (await wait.forToken(token)).ok })
    const nap = task({ id: 'nap', run: async () => wait.for({ hours: 2 }) })
    const path = folder.file('a.db')
    const first = await start(path, clock, { tasks: [ask, nap], seed: 'first' })
    const token = await first.engine.wait.createToken({ timeout: '1h' })
    const asking = await first.engine.trigger(ask, token.id)
    const napping = await first.engine.trigger(nap, null)
    const later = await first.engine.trigger(nap, null, { delay: '30m' })
    await clock.settle()
    await first.engine.close()
    const closedAt = clock.now()
    await clock.jump('5h')

    await using second = await start(path, clock, { tasks: [ask, nap], seed: 'second' })
    expect(await second.engine.wait.retrieveToken(token)).toMatchObject({
      status: 'TIMED_OUT',
      completedAt: new Date(closedAt + 3_600_000),
    })
    await clock.settle()
    expect(await second.engine.runs.retrieve(asking.id)).toMatchObject({ status: 'COMPLETED', output: false })
    expect(await second.engine.runs.retrieve(napping.id)).toMatchObject({ status: 'COMPLETED' })
    expect((await second.engine.runs.retrieve(later.id)).startedAt).toEqual(new Date(clock.now()))
  })

  it('shows every chunk of a stream from 0, also of the attempt that was interrupted', async () => {
    using folder = temporaryFolder()
    await using clock = testClock()
    const forEver = createDeferred<void>()
    let calls = 0
    const draft = task({
      id: 'draft',
      run: async () => {
        calls += 1
        const hangs = calls === 1
        await metadata.stream(
          'words',
          (async function* () {
            for (const word of ['a', 'b', 'c']) yield `${word}${calls}`
            if (hangs) await forEver.promise
          })(),
        )
        if (hangs) await forEver.promise
      },
    })
    const path = folder.file('a.db')
    const ports = abandonable(clock, sqliteStorage(openDriver(path)))
    const first = await createTestEngine({
      clock: ports.clock,
      storage: ports.storage,
      tasks: [draft],
      seed: 'first',
    })
    const { id } = await first.engine.trigger(draft, null)
    const chunks = first.engine.streams.read(id, 'words')[Symbol.asyncIterator]()
    for (const word of ['a1', 'b1', 'c1']) expect((await chunks.next()).value).toBe(word)
    ports.abandon()

    await using second = await start(path, clock, { tasks: [draft], seed: 'second' })
    await clock.advance(2 * LEASE_MS)
    expect((await second.engine.runs.retrieve(id)).status).toBe('COMPLETED')
    const seen: unknown[] = []
    for await (const part of second.engine.runs.subscribeToRun(id).withStreams<{ words: string }>()) {
      if (part.type === 'words') seen.push(part.chunk)
    }
    expect(seen).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'c2'])
  })

  it('lets ten thousand parked runs sleep, and wakes the one whose token is completed', async () => {
    using folder = temporaryFolder()
    await using clock = testClock()
    let calls = 0
    const ask = task({
      id: 'ask',
      run: async (token: string) => {
        calls += 1
        return wait.forToken<string>(token).unwrap()
      },
    })
    const path = folder.file('a.db')
    const first = await start(path, clock, { tasks: [ask], seed: 'first' })
    const triggered = await Promise.all(
      Array.from({ length: SLEEPERS }, async () => {
        const token = await first.engine.wait.createToken({ timeout: '30d' })
        return { token: token.id, run: (await first.engine.trigger(ask, token.id)).id }
      }),
    )
    await clock.settle()
    await first.engine.close()
    expect(calls).toBe(SLEEPERS)

    await using second = await start(path, clock, { tasks: [ask], seed: 'second' })
    await clock.settle()
    expect(calls).toBe(SLEEPERS)
    const { token, run } = triggered[SLEEPERS / 2]!
    await second.engine.wait.completeToken(token, 'yes')
    await clock.settle()
    expect(await second.engine.runs.retrieve(run)).toMatchObject({ status: 'COMPLETED', output: 'yes' })
    expect(calls).toBe(SLEEPERS + 1)
  })

  it('meets deadlines by the new time when the clock was stepped back', async () => {
    using folder = temporaryFolder()
    await using clock = testClock()
    const ask = task({ id: 'ask', run: async (token: string) => (await wait.forToken(token)).ok })
    const path = folder.file('a.db')
    const first = await start(path, clock, { tasks: [ask], seed: 'first' })
    const token = await first.engine.wait.createToken({ timeout: '2h' })
    const { id } = await first.engine.trigger(ask, token.id)
    await clock.settle()
    await clock.setWall(new Date(clock.now() - 3_600_000))
    await first.engine.close()
    await using second = await start(path, clock, { tasks: [ask], seed: 'second' })
    await clock.advance('2h')
    expect((await second.engine.runs.retrieve(id)).status).toBe('WAITING')
    await clock.advance('1h')
    expect(await second.engine.runs.retrieve(id)).toMatchObject({ status: 'COMPLETED', output: false })
  })
})
