import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { metadata, type Task, task, wait } from 'waitpoint'
import { type HttpServer, serve } from 'waitpoint/http'
import { streams as ownStreams } from 'waitpoint/sdk'
import { collect, CountSource, numbers, PushSource, sourceOf } from '../support/streams.ts'
import { cuttingProxy } from './cutting-proxy.ts'
import { client, isOlder, type Part, readUntil, SECRET, served, withAccess } from './published-client.ts'

const { runs, streams, tasks } = client

/** All of it is over loopback; a line that was cut is tried again after a tenth of a second. */
const TEST_MS = 300_000
const CUT_MS = 300_000

/** A task that writes one stream, and is over with it. */
const writes = (key: string, source: AsyncIterable<unknown>): Task<null, void> =>
  task({
    id: 'draft',
    run: async () => {
      await metadata.stream(key, source)
    },
  })

/** Reads all there is of a run and its streams until there is enough. */
function partsUntil(id: string, isEnough: (parts: readonly Part[]) => boolean): Promise<Part[]> {
  const subscription = runs.subscribeToRun(id)
  return readUntil(subscription, subscription.withStreams(), isEnough)
}

const chunksOf = (parts: readonly Part[], key: string): unknown[] =>
  parts.filter(({ type }) => type === key).map(({ chunk }) => chunk)

const isFinal = ({ type, run }: Part): boolean => type === 'run' && run['finishedAt'] !== undefined

describe('the published client’s subscription', { timeout: TEST_MS }, () => {
  it('to a run shows every state it waits in, and its end', async () => {
    const ask = task({ id: 'ask', run: async (token: string) => wait.forToken<string>(token).unwrap() })
    await using _app = await served([ask])
    const token = await client.wait.createToken()
    const { id } = await tasks.trigger('ask', token.id)
    const subscription = runs.subscribeToRun(id)
    const states = await readUntil(subscription, subscription, async (all) => {
      if (all.at(-1)?.status === 'WAITING') await client.wait.completeToken(token, 'yes')
      // By itself only the newer version comes to an end.
      return isOlder && all.at(-1)?.status === 'COMPLETED'
    })
    const seen = states.map(({ status }) => status)
    expect(states.at(-1)).toMatchObject({ id, output: 'yes', payload: token.id, isSuccess: true })
    expect(seen).toContain('WAITING')
    expect(seen.at(-1)).toBe('COMPLETED')
  })

  it('to a run that is over shows how it ended', async () => {
    const failing = task({
      id: 'failing',
      run: async () => {
        throw new RangeError('Too many pages')
      },
    })
    await using app = await served([failing])
    const { id } = await app.engine.trigger(failing, null)
    await app.engine.runs.poll(id)
    const subscription = runs.subscribeToRun(id)
    expect(await readUntil(subscription, subscription, () => true)).toMatchObject([
      { status: 'FAILED', error: { name: 'RangeError', message: 'Too many pages' } },
    ])
  })

  it('with streams gets every chunk of two streams in order, each as its task wrote it', async () => {
    const draft = task({
      id: 'draft',
      run: async () => {
        await metadata.stream('words', sourceOf('Dear', 'Ada', '\n', 'data: {"a":1}\n\n', ''))
        await metadata.stream(
          'steps',
          sourceOf<unknown>({ name: 'one', at: [1, null] }, null, 3, ['x'], false),
        )
        return 'sent'
      },
    })
    await using _app = await served([draft])
    const { id } = await tasks.trigger('draft')
    const parts = await partsUntil(
      id,
      (all) => all.filter(({ type }) => type !== 'run').length === 10 && all.some(isFinal),
    )
    expect(parts[0]?.type).toBe('run')
    expect(chunksOf(parts, 'words')).toEqual(['Dear', 'Ada', '\n', 'data: {"a":1}\n\n', ''])
    expect(chunksOf(parts, 'steps')).toEqual([{ name: 'one', at: [1, null] }, null, 3, ['x'], false])
    expect(parts.filter(({ type }) => type === 'run').at(-1)?.run).toMatchObject({
      status: 'COMPLETED',
      output: 'sent',
    })
  })

  it('with streams gets a chunk while the run goes on, and a stream that begins later', async () => {
    const [words, notes] = [new PushSource<string>(), new PushSource<string>()]
    const draft = task({
      id: 'draft',
      run: async () => {
        for await (const word of await metadata.stream('words', words)) {
          if (word === 'note') break
        }
        await metadata.stream('notes', notes)
      },
    })
    await using _app = await served([draft])
    const { id } = await tasks.trigger('draft')
    words.push('first')
    const parts = await partsUntil(id, (all) => {
      const last = all.at(-1)
      if (last?.chunk === 'first') words.push('second')
      if (last?.chunk === 'second') words.push('note')
      if (last?.chunk === 'note') notes.push('late')
      return last?.chunk === 'late'
    })
    for (const source of [words, notes]) source.end()
    expect(parts.map(({ chunk }) => chunk).filter(Boolean)).toEqual(['first', 'second', 'note', 'late'])
  })

  it(
    'loses no chunk and repeats none, wherever in mid-stream its connections are cut off',
    { timeout: CUT_MS },
    async () => {
      const total = 150
      const letters = async function* (): AsyncGenerator<string> {
        for (const index of numbers(total)) yield `${index} ${'é'.repeat(40)}`
      }
      const draft = task({
        id: 'draft',
        run: async () => {
          await metadata.stream('letters', letters())
          await metadata.stream('counts', new CountSource(total))
        },
      })
      await using app = await served([draft])
      const { id } = await app.engine.trigger(draft, null)
      await app.engine.runs.poll(id)
      // At least what a run is in, at most half of a stream.
      const cutAfter = fc.integer({ min: 3_000, max: 8_000 })
      await fc.assert(
        fc.asyncProperty(cutAfter, async (bytes) => {
          await using proxy = await cuttingProxy(app.server.url, { afterBytes: bytes })
          client.configure({ baseURL: proxy.url, accessToken: SECRET })
          const parts = await partsUntil(
            id,
            (all) => chunksOf(all, 'letters').length >= total && chunksOf(all, 'counts').length >= total,
          )
          expect(chunksOf(parts, 'letters').map((chunk) => parseInt(chunk as string))).toEqual(numbers(total))
          expect(chunksOf(parts, 'counts')).toEqual(numbers(total))
          expect(proxy.cuts).toBeGreaterThan(1)
        }),
        { numRuns: 8, interruptAfterTimeLimit: CUT_MS / 2, endOnFailure: true },
      )
    },
  )

  it(
    'goes on after all its connections were cut off while nothing came',
    {
      timeout: CUT_MS,
    },
    async () => {
      const words = new PushSource<string>()
      const draft = writes('words', words)
      await using app = await served([draft])
      await using proxy = await cuttingProxy(app.server.url)
      client.configure({ baseURL: proxy.url, accessToken: SECRET })
      const { id } = await tasks.trigger('draft')
      words.push('1')
      const parts = await partsUntil(id, (all) => {
        const last = all.at(-1)
        if (last?.chunk === '1' || last?.chunk === '2') {
          proxy.cut()
          words.push(String(Number(last.chunk) + 1))
        }
        if (last?.chunk === '3') words.end()
        return last !== undefined && isFinal(last)
      })
      expect(chunksOf(parts, 'words')).toEqual(['1', '2', '3'])
      expect(parts.at(-1)?.run.status).toBe('COMPLETED')
    },
  )

  it('goes on when the server comes back at its address', { timeout: CUT_MS }, async () => {
    const words = new PushSource<string>()
    const draft = writes('words', words)
    await using app = await served([draft])
    const { id } = await tasks.trigger('draft')
    words.push('1')
    let again: Promise<HttpServer> | undefined
    const parts = await partsUntil(id, (all) => {
      const last = all.at(-1)
      if (last?.chunk === '1') {
        const { port } = new URL(app.server.url)
        again = app.server.close().then(() => serve(app.engine, { port: Number(port) }))
        words.push('2')
      }
      if (last?.chunk === '2') words.end()
      return last !== undefined && isFinal(last)
    })
    await (await again)?.close()
    expect(chunksOf(parts, 'words')).toEqual(['1', '2'])
    expect(parts.at(-1)?.run.status).toBe('COMPLETED')
  })

  it('shows what a run says about itself in its metadata', async () => {
    const work = task({
      id: 'work',
      run: async (token: string) => {
        metadata.set('progress', 0.5)
        await wait.forToken(token).unwrap()
        metadata.set('progress', 1)
      },
    })
    await using _app = await served([work])
    const token = await client.wait.createToken()
    const { id } = await tasks.trigger('work', token.id)
    const subscription = runs.subscribeToRun(id)
    const progress = ({ metadata: said }: Readonly<Record<string, unknown>>): unknown =>
      (said as { readonly progress?: number } | undefined)?.progress
    const states = await readUntil(subscription, subscription, async (all) => {
      if (progress(all.at(-1)!) === 0.5) await client.wait.completeToken(token, null)
      return all.at(-1)?.status === 'COMPLETED'
    })
    expect(states.map(progress)).toContain(0.5)
    expect(progress(states.at(-1)!)).toBe(1)
  })

  it('gets what a stream had when its source failed, and the end of the run', async () => {
    const words = new PushSource<string>()
    const draft = writes('words', words)
    await using _app = await served([draft])
    const { id } = await tasks.trigger('draft')
    words.push('1')
    const parts = await partsUntil(id, (all) => {
      if (all.at(-1)?.chunk === '1') words.fail(new Error('The model is gone'))
      return isFinal(all.at(-1)!)
    })
    expect(chunksOf(parts, 'words')).toEqual(['1'])
    expect(await collect(await streams.read(id, 'words'))).toEqual(['1'])
  })

  it('to all runs with a tag shows those that are there and those that come', async () => {
    const nothing = task({ id: 'nothing', run: async () => null })
    await using _app = await served([nothing])
    const first = await tasks.trigger('nothing', null, { tags: ['a'] })
    await tasks.trigger('nothing', null, { tags: ['b'] })
    const subscription = runs.subscribeToRunsWithTag('a')
    let later: string | undefined
    const states = await readUntil(subscription, subscription, async (all) => {
      later ??= (await tasks.trigger('nothing', null, { tags: ['a', 'c'] })).id
      return all.some(({ id }) => id === later)
    })
    expect([...new Set(states.map(({ id }) => id))]).toEqual([first.id, later])
  })

  it('to a batch shows each of its runs, to the end, and no others', async () => {
    const double = task({
      id: 'double',
      run: async ({ token, n }: { readonly token: string; readonly n: number }) => {
        await wait.forToken(token).unwrap()
        return 2 * n
      },
    })
    await using _app = await served([double])
    const token = await client.wait.createToken()
    const { batchId } = await tasks.batchTrigger(
      'double',
      numbers(3).map((n) => ({ payload: { token: token.id, n } })),
    )
    const other = await tasks.trigger('double', { token: token.id, n: 7 })
    const subscription = runs.subscribeToBatch(batchId)
    const outputs = (all: readonly Readonly<Record<string, unknown>>[]): ReadonlyMap<unknown, unknown> =>
      new Map(all.flatMap(({ id, output }) => (output === undefined ? [] : [[id, output]])))
    let hasBegun = false
    const states = await readUntil(subscription, subscription, async (all) => {
      if (!hasBegun) await client.wait.completeToken(token, null)
      hasBegun = true
      return outputs(all).size === 3
    })
    expect([...outputs(states).values()].map(Number).sort()).toEqual([0, 2, 4])
    expect(states.map(({ id }) => id)).not.toContain(other.id)
    await runs.poll(other.id, { pollIntervalMs: 20 })
  })

  it('to a batch may be made with the access token that comes with it', async () => {
    const nothing = task({ id: 'nothing', run: async () => null })
    await using app = await served([nothing])
    const { batchId, publicAccessToken } = await tasks.batchTrigger('nothing', [{ payload: null }])
    const states = await withAccess(app, publicAccessToken, () => {
      const subscription = runs.subscribeToBatch(batchId)
      return readUntil(subscription, subscription, (all) => all.at(-1)?.status === 'COMPLETED')
    })
    expect(states.at(-1)?.status).toBe('COMPLETED')
  })
})

describe('the published client’s streams', { timeout: TEST_MS }, () => {
  it('read a stream while it is written, and end with it', async () => {
    const words = new PushSource<string>()
    const draft = writes('words', words)
    await using _app = await served([draft])
    const { id } = await tasks.trigger('draft')
    words.push('1')
    const seen: unknown[] = []
    for await (const chunk of await streams.read(id, 'words')) {
      seen.push(chunk)
      if (seen.length < 5) words.push(String(seen.length + 1))
      else words.end()
    }
    expect(seen).toEqual(['1', '2', '3', '4', '5'])
  })

  it('read a stream that is over, from its start or from a place', async () => {
    const draft = writes('n', new CountSource(50))
    await using app = await served([draft])
    const { id } = await app.engine.trigger(draft, null)
    await app.engine.runs.poll(id)
    expect(await collect(await streams.read(id, 'n'))).toEqual(numbers(50))
    for (const startIndex of [0, 1, 2, 40, 49]) {
      const rest = numbers(50, startIndex)
      expect(await collect(await streams.read(id, 'n', { startIndex }))).toEqual(rest)
      // In process it counts as over HTTP: from 0, with the chunk of that number.
      const own = app.engine.makeDefault()
      try {
        expect(await collect(await ownStreams.read(id, 'n', { startIndex }))).toEqual(rest)
      } finally {
        own()
      }
    }
  })

  it('stop reading when they are told', async () => {
    const words = new PushSource<string>()
    const draft = writes('words', words)
    await using app = await served([draft])
    const { id } = await tasks.trigger('draft')
    words.push('1')
    const stop = new AbortController()
    const seen: unknown[] = []
    for await (const chunk of await streams.read(id, 'words', { signal: stop.signal })) {
      seen.push(chunk)
      stop.abort()
    }
    expect(seen).toEqual(['1'])
    words.end()
    expect((await app.engine.runs.poll(id)).status).toBe('COMPLETED')
  })
})
