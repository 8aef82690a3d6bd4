import { describe, expect, it } from 'vitest'
import type { Engine, RunTools, StreamInterruptedError } from 'waitpoint'
import { createClient } from 'waitpoint/client'
import { createHandler } from 'waitpoint/http'
import { createTestEngine } from '../../src/testing/create-test-engine.ts'
import type { TestEngine } from '../../src/testing/fixture/test-engine.ts'
import { testClock } from '../../src/testing/test-clock.ts'
import { SECRET } from '../http/requests.ts'
import { abandonable, projectStorage } from '../support/abandon.ts'
import { bodyTask } from '../support/body-task.ts'
import { collect, collectUntilError, nextChunk, numbers, PushSource, sourceOf } from '../support/streams.ts'
import { turn } from '../support/turn.ts'

const retry = { maxAttempts: 2, minTimeoutInMs: 1_000, randomize: false }

/** Run parts as `#attempt`, chunks as they are. */
async function story(engine: Engine, id: string): Promise<unknown[]> {
  const seen: unknown[] = []
  for await (const part of engine.runs.subscribeToRun(id).withStreams()) {
    seen.push('chunk' in part ? part.chunk : `#${part.run.attemptCount}`)
  }
  return seen
}

/** Writes two chunks named after the attempt, and throws in the first one. */
async function twice({ streams, ctx }: RunTools): Promise<void> {
  const { number } = ctx.attempt
  await streams.append('k', `${number}a`)
  await streams.append('k', `${number}b`)
  if (number === 1) throw new Error('first attempt')
}

/** The error of a stream of which the first chunk is all there is. */
const BROKEN = { code: 'ERR_STREAM_INTERRUPTED', key: 'k', next: 1 }
const TWICE = ['1a', '1b', '2a', '2b']
const isChunk = (item: unknown): boolean => TWICE.includes(item as string)

describe('streams over attempts', () => {
  it('go on after the last chunk: nothing is renumbered, the new attempt is shown before its chunks', async () => {
    const body = bodyTask(twice, { retry })
    await using t = await createTestEngine({ tasks: [body] })
    const { id } = await t.engine.trigger(body, null)
    const live = await story(t.engine, id)
    const late = await story(t.engine, id)
    for (const seen of [live, late]) {
      expect(seen.filter(isChunk)).toEqual(TWICE)
      expect(seen.indexOf('#2')).toBeLessThan(seen.indexOf('2a'))
      expect(seen[0]).toMatch('#')
      expect(seen.at(-1)).toBe('#2')
    }
    expect(live.indexOf('#2')).toBeGreaterThan(live.indexOf('1b'))
  })

  it('end with an error for streams.read where an attempt was lost, which says where the next one goes on', async () => {
    const body = bodyTask(twice, { retry })
    await using t = await createTestEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    const live = await collectUntilError(t.engine.streams.read(run, 'k'))
    expect(live).toMatchObject({
      items: ['1a', '1b'],
      error: { code: 'ERR_STREAM_INTERRUPTED', key: 'k', next: 2 },
    })
    const { next } = live.error as StreamInterruptedError
    // The next attempt has not begun.
    expect(await collect(t.engine.streams.read(run, 'k', { startIndex: next }))).toEqual(['2a', '2b'])
    await run.result()
    const late = await collectUntilError(t.engine.streams.read(run, 'k'))
    expect(late).toMatchObject({ items: ['1a', '1b'], error: { next: 2 } })
    expect(await collect(t.engine.streams.read(run, 'k', { startIndex: next }))).toEqual(['2a', '2b'])
    expect(await collectUntilError(t.engine.streams.read(run, 'k', { startIndex: 1 }))).toMatchObject({
      items: ['1b'],
      error: { next: 2 },
    })
  })

  it('are all there for a subscriber that slept through both attempts', async () => {
    const body = bodyTask(twice, { retry })
    await using t = await createTestEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    const parts = t.engine.runs.subscribeToRun(run).withStreams()[Symbol.asyncIterator]()
    const seen: unknown[] = []
    while (!seen.includes('1b')) seen.push(await nextChunk(parts))
    await run.result()
    for await (const part of { [Symbol.asyncIterator]: () => parts })
      if ('chunk' in part) seen.push(part.chunk)
    expect(seen).toEqual(TWICE)
  })

  it('are all there when an attempt opened a stream and wrote nothing', async () => {
    const body = bodyTask(
      async ({ metadata, ctx }) => {
        const source = ctx.attempt.number === 1 ? new PushSource<string>() : sourceOf('2a')
        await metadata.stream('k', source)
        if (ctx.attempt.number === 1) throw new Error('first attempt')
      },
      { retry },
    )
    await using t = await createTestEngine({ tasks: [body] })
    const { id } = await t.engine.trigger(body, null)
    expect((await story(t.engine, id)).filter(isChunk)).toEqual(['2a'])
    expect((await story(t.engine, id)).filter(isChunk)).toEqual(['2a'])
    expect(await collect(t.engine.streams.read(id, 'k'))).toEqual(['2a'])
  })

  it('end with an error for streams.read even when nothing was written and no attempt follows', async () => {
    const body = bodyTask(async ({ metadata }) => {
      await metadata.stream('k', new PushSource<string>())
      throw new Error('only attempt')
    })
    await using t = await createTestEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    const expected = { items: [], error: { code: 'ERR_STREAM_INTERRUPTED', next: 0 } }
    expect(await collectUntilError(t.engine.streams.read(run, 'k'))).toMatchObject(expected)
    await run.outcome()
    expect(await collectUntilError(t.engine.streams.read(run, 'k'))).toMatchObject(expected)
  })

  it('keep apart what a source of the first attempt still yields', async () => {
    const first = new PushSource<string>()
    first.push('1a')
    const body = bodyTask(
      async ({ metadata, ctx }) => {
        if (ctx.attempt.number === 2) return collect(await metadata.stream('k', sourceOf('2a', '2b')))
        await metadata.stream('k', first)
        await turn()
        throw new Error('first attempt')
      },
      { retry },
    )
    await using t = await createTestEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    t.clock.setTimer(t.clock.now() + 500, () => first.push('1b'))
    expect(await run.result()).toEqual(['2a', '2b'])
    expect((await story(t.engine, run.id)).filter(isChunk)).toEqual(['1a', '2a', '2b'])
  })

  it('are complete when the task has stopped their source, and when a later attempt did without', async () => {
    const body = bodyTask(
      async ({ metadata, ctx }) => {
        if (ctx.attempt.number === 1) {
          await metadata.stream('k', sourceOf('1a'))
          await metadata.stream('lost', new PushSource<string>())
          throw new Error('first attempt')
        }
        const stop = new AbortController()
        const endless = new PushSource<string>()
        endless.push('2a')
        for await (const _ of await metadata.stream('k', endless, stop.signal)) break
        stop.abort(new Error('enough'))
      },
      { retry },
    )
    await using t = await createTestEngine({ tasks: [body] })
    const { id } = await t.engine.trigger(body, null)
    for (const seen of [await story(t.engine, id), await story(t.engine, id)]) {
      expect(seen.filter(isChunk)).toEqual(['1a', '2a'])
      expect(seen.at(-1)).toBe('#2')
    }
    expect(await t.engine.runs.retrieve(id)).toMatchObject({ status: 'COMPLETED' })
  })

  it('end with an error when the run has completed and a source went on for more than a minute', async () => {
    const body = bodyTask(async ({ metadata }) => {
      const endless = new PushSource<string>()
      endless.push('1a')
      await metadata.stream('k', endless)
    })
    await using t = await createTestEngine({ tasks: [body] })
    const { id } = await t.engine.trigger(body, null)
    const followed = await collectUntilError(t.engine.runs.subscribeToRun(id).withStreams())
    expect(followed.items.at(-1)).toMatchObject({ type: 'run', run: { status: 'COMPLETED' } })
    expect(followed.error).toMatchObject(BROKEN)
  })

  describe('when the process of the first attempt dies', () => {
    /** An engine that dies once it has written, and one that takes over. */
    async function takeover(
      first: (tools: RunTools) => Promise<unknown>,
      second: (tools: RunTools) => Promise<unknown>,
      check: (t: TestEngine, id: string, abandon: () => void) => Promise<void>,
    ): Promise<void> {
      const storage = projectStorage()
      const clock = testClock({ ioGraceMs: 5 })
      const ports = abandonable(clock, storage)
      const dying = await createTestEngine({
        tasks: [bodyTask(first)],
        clock: ports.clock,
        storage: ports.storage,
      })
      const { id } = await dying.engine.trigger(bodyTask(first), null)
      for (const _ of numbers(5)) await turn()
      await using t = await createTestEngine({
        tasks: [bodyTask(second)],
        storage,
        clock,
        seed: 2,
        secretKey: SECRET,
      })
      await check(t, id, () => ports.abandon())
    }
    const writing = async ({ streams, ctx }: RunTools): Promise<void> => {
      const { number } = ctx.attempt
      await streams.append('k', `${number}a`)
      await streams.append('k', `${number}b`)
      if (number === 1) await new Promise(() => undefined)
    }

    it('a subscriber goes on with the next attempt, a reader of the stream is told', () =>
      takeover(writing, writing, async (t, id, abandon) => {
        const { engine } = t
        const live = story(engine, id)
        const read = collectUntilError(engine.streams.read(id, 'k'))
        for (const _ of numbers(5)) await turn()
        abandon()
        await t.clock.advance('1m')
        const seen = await live
        expect(seen.filter(isChunk)).toEqual(TWICE)
        expect(seen.indexOf('#2')).toBeGreaterThan(seen.indexOf('1b'))
        expect(seen.indexOf('#2')).toBeLessThan(seen.indexOf('2a'))
        expect(await read).toMatchObject({
          items: ['1a', '1b'],
          error: { code: 'ERR_STREAM_INTERRUPTED', next: 2 },
        })
      }))

    it('while it drained, the run completes and is not repeated', () => {
      let calls = 0
      const draining = async ({ metadata }: RunTools): Promise<string> => {
        calls += 1
        const source = new PushSource<string>()
        source.push('1a')
        await metadata.stream('k', source)
        return 'output'
      }
      return takeover(draining, draining, async (t, id, abandon) => {
        const { engine } = t
        abandon()
        await t.clock.advance('1m')
        const followed = await collectUntilError(engine.runs.subscribeToRun(id).withStreams())
        expect(followed.items.filter(({ type }) => type !== 'run')).toMatchObject([{ chunk: '1a' }])
        expect(followed.items.at(-1)).toMatchObject({ type: 'run', run: { status: 'COMPLETED' } })
        expect(followed.error).toMatchObject(BROKEN)
        expect(await engine.runs.retrieve(id)).toMatchObject({ status: 'COMPLETED', output: 'output' })
        expect(calls).toBe(1)
        expect(await collectUntilError(engine.streams.read(id, 'k'))).toMatchObject({
          items: ['1a'],
          error: BROKEN,
        })
      })
    })

    it('while it drained, readers over HTTP are told, also those whose connection broke there', () => {
      const draining = async ({ metadata }: RunTools): Promise<void> => {
        const source = new PushSource<string>()
        source.push('1a')
        await metadata.stream('k', source)
      }
      return takeover(draining, draining, async (t, id, abandon) => {
        const fetch = createHandler(t.engine)
        const client = createClient({ baseUrl: 'http://engine.test', accessToken: SECRET, fetch })
        abandon()
        await t.clock.advance('1m')
        const followed = await collectUntilError(client.runs.subscribeToRun(id).withStreams())
        expect(followed.items.map(({ type }) => type)).toEqual(['run', 'k', 'run'])
        expect(followed.error).toMatchObject(BROKEN)
        const read = await collectUntilError(client.streams.read(id, 'k'))
        expect(read).toMatchObject({ items: ['1a'], error: BROKEN })
        // A reader that begins there was told before.
        expect(await collect(client.streams.read(id, 'k', { startIndex: 1 }))).toEqual([])
        const resumed = async (path: string, lastId: string): Promise<string> => {
          const headers = { authorization: `Bearer ${SECRET}`, 'last-event-id': lastId }
          return (await fetch(new Request(`http://engine.test${path}`, { headers }))).text()
        }
        for (const answer of [
          await resumed(`/realtime/v1/streams/${id}/k`, '0'),
          await resumed(`/api/v1/runs/${id}/stream`, 'k=1'),
        ]) {
          const [last = ''] = answer.split('\n\n').slice(-2)
          expect(last).toMatch(/^event: error\n[^]*"code":"ERR_STREAM_INTERRUPTED"[^]*"key":"k","next":1/)
        }
      })
    })
  })
})
