import { Readable } from 'node:stream'
import { describe, expect, it, vi } from 'vitest'
import { metadata, runs, streams, task, type AnyTask } from 'waitpoint/sdk'
import type { RetrievedRun, StreamSource } from 'waitpoint'
import { createTestEngine } from 'waitpoint/testing'
import { turn } from '../../support/turn.ts'

/** The output of a run, and its chunks of two streams. */
async function told(
  run: AnyTask,
): Promise<{ readonly output: unknown; readonly chunks: readonly unknown[] }> {
  await using t = await createTestEngine({ tasks: [run] })
  t.engine.makeDefault()
  const { id, output, error } = (await runs.poll(await run.trigger(undefined))) as RetrievedRun
  const chunks: unknown[] = []
  for (const key of ['notes', 'default'])
    for await (const chunk of await streams.read(id, key)) chunks.push(chunk)
  return { output: error?.message ?? output, chunks }
}

/** What is no JSON, or other than its JSON. */
const partOf = (id: number): object => ({
  id,
  error: new TypeError('no answer'),
  at: new Date(0),
  tool: { execute: () => 1, usage: Number.NaN, seen: new Map([[1, 2]]) },
})
const inJson = (id: number): object => ({
  id,
  error: {},
  at: '1970-01-01T00:00:00.000Z',
  tool: { usage: null, seen: {} },
})

describe('chunks', () => {
  const sources: Record<string, () => StreamSource<object>> = {
    'an async iterable': async function* () {
      yield* [partOf(1), partOf(2)]
    },
    'a frozen iterable': () =>
      Object.freeze({
        [Symbol.asyncIterator]: async function* () {
          yield* [partOf(1), partOf(2)]
        },
      }),
    'a web stream': () =>
      new ReadableStream({
        start: (controller) => {
          controller.enqueue(partOf(1))
          controller.enqueue(partOf(2))
          controller.close()
        },
      }),
    'a Node stream': () => Readable.from([partOf(1), partOf(2)]),
  }

  it.each(Object.keys(sources))('of %s are what JSON leaves of them', async (kind) => {
    const source = sources[kind] as () => StreamSource<object>
    const writing = task({
      id: 'writing',
      run: async () => {
        const own: unknown[] = []
        for await (const part of await metadata.stream('notes', source())) own.push(part)
        await streams.pipe(source()).waitUntilComplete()
        await streams.append(partOf(3))
        return own
      },
    })
    const [one, two, three] = [inJson(1), inJson(2), inJson(3)]
    expect(await told(writing)).toEqual({ output: [one, two], chunks: [one, two, one, two, three] })
  })

  it('that are bytes, or have no JSON, are refused', async () => {
    const writing = task({
      id: 'writing',
      run: async () => {
        const cycle: Record<string, unknown> = {}
        cycle['self'] = cycle
        const tries = [new Uint8Array([1]), 1n, cycle].map((chunk) => streams.append('notes', chunk))
        return (await Promise.allSettled(tries)).map((tried) => String('reason' in tried && tried.reason))
      },
    })
    const { output, chunks } = await told(writing)
    expect(output).toEqual([
      expect.stringContaining('raw bytes; pipe them through'),
      expect.stringContaining('$ is not JSON: a bigint'),
      expect.stringContaining('$.self is not JSON: a cycle'),
    ])
    expect(chunks).toEqual([])
  })

  it('are asked for no longer when the signal is aborted, even while one is out', async () => {
    const canceled: string[] = []
    const web = new ReadableStream({ cancel: () => void canceled.push('web') })
    const node = new Readable({
      objectMode: true,
      read: () => undefined,
      destroy: (_error, done) => {
        canceled.push('node')
        done(null)
      },
    })
    const stopping = task({
      id: 'stopping',
      run: async () => {
        const controller = new AbortController()
        const piped = [web, node].map((source) => streams.pipe('own', source, { signal: controller.signal }))
        await turn()
        controller.abort()
        await Promise.allSettled(piped.map(({ waitUntilComplete }) => waitUntilComplete()))
        return canceled
      },
    })
    expect((await told(stopping)).output).toEqual(['web', 'node'])
  })
})

describe('streams.writer', () => {
  it('logs an error of its function, and ends with the chunks that it has written', async () => {
    using log = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    const writing = task({
      id: 'writing',
      run: async () => {
        const { waitUntilComplete } = streams.writer<string>('notes', {
          execute: async ({ write }) => {
            write('one')
            throw new Error('out of ink')
          },
        })
        await waitUntilComplete()
        return 'written'
      },
    })
    expect(await told(writing)).toEqual({ output: 'written', chunks: ['one'] })
    expect(String(log.mock.calls)).toContain('A writer of stream "notes" has failed')
  })

  it('logs an error of a stream that is merged, before its function has ended', async () => {
    using log = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    const writing = task({
      id: 'writing',
      run: async () => {
        const { waitUntilComplete } = streams.writer<string>({
          execute: async ({ write, merge }) => {
            merge(new ReadableStream({ start: (merged) => merged.error(new Error('torn')) }))
            for (let turns = 0; turns < 10; turns += 1) await turn()
            write('whole')
          },
        })
        await waitUntilComplete()
      },
    })
    expect((await told(writing)).chunks).toEqual(['whole'])
    expect(String(log.mock.calls)).toContain('A writer of stream "default" has failed')
  })

  it('ends without a word when its run was canceled before its function has ended', async () => {
    let finish = (): void => undefined
    const writing = task({
      id: 'writing',
      run: () =>
        streams
          .writer<string>('notes', {
            execute: ({ write }) => {
              write('one')
              return new Promise<void>((resolve) => (finish = resolve))
            },
          })
          .waitUntilComplete(),
    })
    await using t = await createTestEngine({ tasks: [writing] })
    t.engine.makeDefault()
    const run = await writing.trigger(undefined)
    for await (const chunk of await streams.read(run.id, 'notes')) {
      expect(chunk).toBe('one')
      break
    }
    await runs.cancel(run.id)
    expect((await runs.poll(run)).status).toBe('CANCELED')
    finish()
    for (let turns = 0; turns < 10; turns += 1) await turn()
  })

  it('calls its function at once, and takes no chunk after its end', async () => {
    const writing = task({
      id: 'writing',
      run: async () => {
        let write = (_chunk: string): void => undefined
        const { waitUntilComplete } = streams.writer<string>('notes', {
          execute: (tools) => {
            write = tools.write
          },
        })
        write('in time')
        await waitUntilComplete()
        write('too late')
      },
    })
    expect((await told(writing)).chunks).toEqual(['in time'])
  })
})

describe('the stream of streams.read, in a run', () => {
  /** What a run makes of a stream of three chunks. */
  async function read(look: (stream: ReadableStream<string>) => Promise<unknown>): Promise<unknown> {
    const source = async function* (): AsyncGenerator<string> {
      yield* ['one', 'two', 'three']
    }
    const reading = task({
      id: 'reading',
      run: async (_payload: undefined, { ctx }) => {
        await streams.pipe('k', source()).waitUntilComplete()
        return look((await streams.read(ctx.run.id, 'k')) as ReadableStream<string>)
      },
    })
    return (await told(reading)).output
  }

  it('is a web stream like any other', async () => {
    expect(
      await read(async (stream) => {
        const [one, two] = stream.tee()
        const texts = [await new Response(one.pipeThrough(new TextEncoderStream())).text()]
        for await (const chunk of two) texts.push(chunk)
        return [stream instanceof ReadableStream, stream.locked, ...texts]
      }),
    ).toEqual([true, true, 'onetwothree', 'one', 'two', 'three'])
  })

  it('is canceled by an iterator that is left early, but for one that is told not to', async () => {
    expect(
      await read(async (stream) => {
        const seen: unknown[] = []
        for await (const chunk of stream.values({ preventCancel: true })) {
          seen.push(chunk, stream.locked)
          break
        }
        seen.push(stream.locked)
        for await (const chunk of stream) {
          seen.push(chunk)
          break
        }
        return [...seen, stream.locked, (await stream.getReader().read()).done]
      }),
    ).toEqual(['one', true, false, 'two', false, true])
  })

  it('lets go of a stream that has failed, and tells why', async () => {
    expect(
      await read(async () => {
        const stream = (await streams.read('run_unknown', 'k')) as ReadableStream<string>
        const error: unknown = await stream
          .values()
          .next()
          .catch((reason: unknown) => reason)
        return [(error as { code: string }).code, stream.locked]
      }),
    ).toEqual(['ERR_RUN_NOT_FOUND', false])
  })
})

describe('streams.append', () => {
  it('has the default key for a text alone, and for a text and options', async () => {
    const appending = task({
      id: 'appending',
      run: async () => {
        await streams.append('alone', undefined)
        await streams.append('with options', { target: 'self', signal: new AbortController().signal })
        await streams.append('notes', { target: 'self', text: 'a chunk' })
        await streams.append('notes', 0)
      },
    })
    expect((await told(appending)).chunks).toEqual([
      { target: 'self', text: 'a chunk' },
      0,
      'alone',
      'with options',
    ])
  })
})
