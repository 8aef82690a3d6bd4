import { describe, expect, it } from 'vitest'
import { createTestEngine } from '../../src/testing/create-test-engine.ts'
import { testClock } from '../../src/testing/test-clock.ts'
import { memoryOfProject, projectStorage } from '../support/abandon.ts'
import { bodyTask } from '../support/body-task.ts'
import {
  chunksOf,
  collect,
  collectUntilError,
  CountSource,
  follow,
  nextChunk,
  numbers,
  PushSource,
  watchers,
} from '../support/streams.ts'
import { turn } from '../support/turn.ts'

describe('a run followed from another engine', () => {
  it('shows every chunk as it is written, and ends with the run', async () => {
    const source = new PushSource<string>()
    const body = bodyTask(async ({ metadata }) => {
      await collect(await metadata.stream('k', source))
      await metadata.stream('later', new CountSource(3))
    })
    const storage = projectStorage()
    await using clock = testClock()
    await using writer = await createTestEngine({ tasks: [body], storage, clock })
    await using reader = await createTestEngine({ storage, clock })
    const run = await writer.engine.trigger(body, null)
    const parts = reader.engine.runs.subscribeToRun(run).withStreams()[Symbol.asyncIterator]()
    for (const chunk of ['a', 'b', 'c']) {
      const next = nextChunk(parts)
      await turn()
      source.push(chunk)
      expect(await next).toBe(chunk)
    }
    const read = collect(reader.engine.streams.read(run, 'later'))
    const whole = follow(reader.engine, run)
    source.end()
    await run.result()
    const rest = await collect({ [Symbol.asyncIterator]: () => parts })
    expect(rest.at(-1)).toMatchObject({ type: 'run', run: { status: 'COMPLETED' } })
    expect(rest.flatMap((part) => (part.type === 'later' && 'chunk' in part ? [part.chunk] : []))).toEqual([
      0, 1, 2,
    ])
    expect(await read).toEqual([0, 1, 2])
    expect(chunksOf(await whole, 'k')).toEqual(['a', 'b', 'c'])
    expect([watchers(reader.engine), watchers(writer.engine)]).toEqual([0, 0])
  })

  it('tells its reader what is gone', async () => {
    const body = bodyTask(async ({ metadata }) => {
      await metadata.stream('k', new CountSource(30))
    })
    const storage = memoryOfProject()
    await using clock = testClock()
    await using writer = await createTestEngine({
      tasks: [body],
      storage,
      clock,
      streams: { historyChunks: 10 },
    })
    await using reader = await createTestEngine({ storage, clock })
    const run = await writer.engine.trigger(body, null)
    await run.result()
    const read = reader.engine.streams.read(run, 'k')[Symbol.asyncIterator]()
    const again = { [Symbol.asyncIterator]: () => read }
    expect(await collectUntilError(again)).toMatchObject({ items: [], error: { missed: 20, next: 20 } })
    expect(await collect(again)).toEqual(numbers(30, 20))
  })

  it('is canceled from there, and ends on every engine', async () => {
    const source = new PushSource<string>()
    source.push('a')
    const body = bodyTask(async ({ metadata }) => collect(await metadata.stream('k', source)))
    const storage = projectStorage()
    await using clock = testClock()
    await using writer = await createTestEngine({ tasks: [body], storage, clock })
    await using reader = await createTestEngine({ storage, clock })
    const run = await writer.engine.trigger(body, null)
    const both = [writer, reader].map(({ engine }) => ({
      parts: follow(engine, run),
      read: collectUntilError(engine.streams.read(run, 'k')),
    }))
    for (const _ of numbers(5)) await turn()
    await reader.engine.runs.cancel(run)
    for (const { parts, read } of both) {
      expect((await parts).at(-1)).toEqual(['run', 'CANCELED'])
      expect(chunksOf(await parts, 'k')).toEqual(['a'])
      expect(await read).toMatchObject({ items: ['a'], error: { code: 'ERR_STREAM_INTERRUPTED' } })
    }
    expect(source.isReturned).toBe(true)
  })
})
