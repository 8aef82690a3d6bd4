import { describe, expect, it } from 'vitest'
import { createEngine, type Engine, task } from 'waitpoint'
import { postgresStorage } from 'waitpoint/postgres'
import { FreshSchema } from './postgres/fresh-schema.ts'

/** So long that no engine polls while a test runs. */
const leaseMs = 3_600_000

describe('an engine that is closed', () => {
  it('tells the others of the runs that it leaves to them', async () => {
    await using schema = new FreshSchema()
    let begin: (() => void) | undefined
    const begun = new Promise<void>((resolve) => (begin = resolve))
    const slow = task({
      id: 'slow',
      run: async (_: null, { ctx, signal }) => {
        if (ctx.attempt.number > 1) return 'done'
        begin?.()
        return new Promise<string>((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('aborted')))
        })
      },
    })
    const open = (execute: boolean): Engine =>
      createEngine({ tasks: [slow], execute, leaseMs, storage: postgresStorage(schema) })
    await using web = open(false)
    const first = open(true)
    const run = await web.trigger(slow, null)
    await first.ready()
    await begun
    await using second = open(true)
    await second.ready()
    await first.close()
    expect(await run.result()).toBe('done')
  })
})

describe('a stream with a key that Postgres cannot keep', () => {
  it('is listed and read by that key', async () => {
    await using schema = new FreshSchema()
    const key = 'a\0b'
    const say = task({
      id: 'say',
      run: async (_: null, { metadata }) => {
        for await (const _chunk of await metadata.stream(key, words())) continue
      },
    })
    await using engine = createEngine({ tasks: [say], leaseMs, storage: postgresStorage(schema) })
    const run = await engine.trigger(say, null)
    await run.result()
    const chunks: unknown[] = []
    for await (const part of engine.runs.subscribeToRun(run.id).withStreams<Record<string, string>>())
      if (part.type !== 'run') chunks.push([part.type, part.chunk])
    expect(chunks).toEqual([[key, 'hello']])
  })
})

async function* words(): AsyncGenerator<string> {
  yield 'hello'
}
