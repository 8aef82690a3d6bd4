import { describe, expect, it } from 'vitest'
import { createEngine, once, type RunTools, streams, task, wait } from 'waitpoint'
import { type AppendOptions, createClient } from 'waitpoint/client'
import { createTestEngine, type TestEngine } from 'waitpoint/testing'
import { projectStorage } from '../../support/abandon.ts'
import { bodyTask, rejection } from '../../support/body-task.ts'
import { collect, collectUntilError, sourceOf } from '../../support/streams.ts'

const retry = { maxAttempts: 3, minTimeoutInMs: 1_000, randomize: false }

/** All chunks that a run has written to `k`. */
async function written(t: TestEngine, id: string, key = 'k'): Promise<unknown[]> {
  const chunks: unknown[] = []
  for await (const part of t.engine.runs.subscribeToRun(id).withStreams())
    if ('chunk' in part && part.type === key) chunks.push(part.chunk)
  return chunks
}

/** Runs `body` as a task that is executed again after each wait, and up to three times after errors. */
async function chunksOf(body: (tools: RunTools) => unknown): Promise<unknown[]> {
  const only = bodyTask(body, { retry })
  await using t = await createTestEngine({ tasks: [only], storage: projectStorage(), alwaysResume: true })
  const run = await t.engine.trigger(only, null)
  await run.result()
  const seen = await written(t, run.id)
  expect(await collect(t.engine.streams.read(run, 'k', { attempts: 'last' }))).toEqual(seen)
  return seen
}

describe('streams.append with once', () => {
  it('adds one chunk, however often the run is executed', async () => {
    const seen = await chunksOf(async ({ ctx, wait: waits }) => {
      await streams.append('k', 'a', { once: 'first' })
      await waits.for({ seconds: 1 })
      await streams.append('k', 'b', { once: 'second' })
      if (ctx.attempt.policyNumber < 3) throw new Error('again')
    })
    expect(seen).toEqual(['a', 'b'])
  })

  it('adds one chunk for all flows that name it, and the first of those that do one after the other', async () => {
    const seen = await chunksOf(async () => {
      await Promise.all([1, 2, 3].map(() => streams.append('k', 'a', { once: 'first' })))
      await streams.append('k', 'b', { once: 'first' })
      await wait.for({ seconds: 1 })
    })
    expect(seen).toEqual(['a'])
  })

  it('knows a name in each stream by itself, and no effect of once by it', async () => {
    const body = bodyTask(async () => {
      await once('name', () => 1)
      await streams.append('k', 'a', { once: 'name' })
      await streams.append('other', 'b', { once: 'name' })
      return once('name', () => 2)
    })
    await using t = await createTestEngine({ tasks: [body], storage: projectStorage() })
    const run = await t.engine.trigger(body, null)
    expect(await run.result()).toBe(1)
    expect([await written(t, run.id), await written(t, run.id, 'other')]).toEqual([['a'], ['b']])
  })

  it('takes any name and any key', async () => {
    const names = [
      '__proto__',
      'constructor',
      'a b',
      '"',
      '/',
      '💥',
      '\u0000',
      ' ',
      '\ud800',
      'x'.repeat(500),
    ]
    const body = bodyTask(async () => {
      for (const key of names.slice(0, 6))
        for (const name of names) for (const _ of [1, 2]) await streams.append(key, name, { once: name })
      await wait.for({ seconds: 1 })
    })
    await using t = await createTestEngine({ tasks: [body], storage: projectStorage(), alwaysResume: true })
    const run = await t.engine.trigger(body, null)
    await run.result()
    for (const key of names.slice(0, 6)) {
      expect(await written(t, run.id, key)).toEqual(names)
      expect(await collect(t.engine.streams.read(run, key, { attempts: 'last' }))).toEqual(names)
    }
  })

  it('refuses what is no name, no JSON and a stream of another run, and takes what is right then', async () => {
    const parent = task({ id: 'parent', run: () => child.triggerAndWait(null).unwrap() })
    const child = bodyTask(async () => {
      const options = [{ once: '' }, { once: 1 as never }, { once: 'a', target: 'parent' }] as const
      const errors: unknown[] = []
      for (const option of options) errors.push(await rejection(streams.append('k', 'a', option)))
      errors.push(await rejection(streams.append('k', () => 1, { once: 'a' })))
      errors.push(await rejection(streams.append('k', new Uint8Array(1), { once: 'a' })))
      errors.push(await rejection(streams.append('run', 'a', { once: 'a' })))
      await streams.append('k', 'a', { once: 'a' })
      return errors.map(String)
    })
    await using t = await createTestEngine({ tasks: [parent, child], storage: projectStorage() })
    const run = await t.engine.trigger(parent, undefined)
    expect(await run.result()).toEqual([
      'TypeError: Cannot use once "": it must be a non-empty string',
      'TypeError: Cannot use once 1: it must be a non-empty string',
      expect.stringContaining('RangeError: Cannot append once to stream "k" of run "'),
      expect.stringContaining('Cannot store a chunk of stream "k": $ is not JSON'),
      expect.stringContaining('raw bytes'),
      expect.stringContaining('RangeError: Cannot use stream "run"'),
    ])
    const { data } = await t.engine.runs.list({ taskIdentifier: 'body' })
    expect(await written(t, data[0]?.id ?? '')).toEqual(['a'])
  })

  it('is refused outside of a run, by a client, and in onCancel', async () => {
    await using engine = createEngine()
    expect(await rejection(engine.streams.append('k', 1, { once: 'a' }))).toMatchObject({
      code: 'ERR_NOT_IN_RUN',
    })
    const client = createClient({ baseUrl: 'http://localhost', accessToken: 'key' })
    const options = { target: 'run_1', once: 'a' } as AppendOptions
    await expect(client.streams.append('k', 1, options)).rejects.toThrow(/"once"/)
  })

  it('takes the chunk as it was when it was called', async () => {
    const seen = await chunksOf(async () => {
      const chunk = { at: 1 }
      const appended = streams.append('k', chunk, { once: 'a' })
      chunk.at = 2
      await appended
    })
    expect(seen).toEqual([{ at: 1 }])
  })

  it('goes on with a stream that has ended, and beside a source that goes on', async () => {
    const seen = await chunksOf(async () => {
      await once('source', () => streams.pipe('k', sourceOf('a')).waitUntilComplete())
      await streams.append('k', 'b', { once: 'b' })
      await wait.for({ seconds: 1 })
    })
    expect(seen).toEqual(['a', 'b'])
  })

  it('is once for all triggers of one key, and once more for a replay', async () => {
    const body = bodyTask(() => streams.append('k', 'a', { once: 'a' }))
    await using t = await createTestEngine({ tasks: [body], storage: projectStorage() })
    const runs = [1, 2].map(() => t.engine.trigger(body, null, { idempotencyKey: 'order' }))
    const [run, same] = await Promise.all(runs)
    await run?.result()
    expect(same?.id).toBe(run?.id)
    expect(await written(t, run?.id ?? '')).toEqual(['a'])
    const replay = await t.engine.runs.replay(run?.id ?? '')
    await t.engine.runs.poll(replay)
    expect(await written(t, replay.id)).toEqual(['a'])
    expect(await written(t, run?.id ?? '')).toEqual(['a'])
  })

  it('keeps its chunk for readers whose run failed in the end', async () => {
    const body = bodyTask(
      async ({ ctx }) => {
        await streams.append('k', 'kept', { once: 'a' })
        await streams.append('k', `lost ${ctx.attempt.number}`)
        throw new Error('again')
      },
      { retry },
    )
    await using t = await createTestEngine({ tasks: [body], storage: projectStorage() })
    const run = await t.engine.trigger(body, null)
    await run.outcome()
    expect(await collectUntilError(t.engine.streams.read(run, 'k', { attempts: 'last' }))).toMatchObject({
      items: ['kept', 'lost 3'],
      error: { code: 'ERR_STREAM_FAILED' },
    })
  })
})
