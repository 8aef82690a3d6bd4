import { describe, expect, it } from 'vitest'
import type { Engine, RunTools, StreamInterruptedError } from 'waitpoint'
import { createTestEngine } from '../../src/testing/create-test-engine.ts'
import type { TestEngine } from '../../src/testing/fixture/test-engine.ts'
import { testClock } from '../../src/testing/test-clock.ts'
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
      const dying = await createTestEngine({ tasks: [bodyTask(first)], ...ports })
      const { id } = await dying.engine.trigger(bodyTask(first), null)
      for (const _ of numbers(5)) await turn()
      await using t = await createTestEngine({ tasks: [bodyTask(second)], storage, clock, seed: 2 })
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
        const live = await story(engine, id)
        expect(live.filter(isChunk)).toEqual(['1a'])
        expect(await engine.runs.retrieve(id)).toMatchObject({ status: 'COMPLETED', output: 'output' })
        expect(calls).toBe(1)
        expect(await collectUntilError(engine.streams.read(id, 'k'))).toMatchObject({
          items: ['1a'],
          error: { code: 'ERR_STREAM_INTERRUPTED' },
        })
      })
    })
  })
})
