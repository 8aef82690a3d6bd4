import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ChunkRecord, SegmentEnd } from '../../../src/contract/records.ts'
import type { ChunkAppend, StreamHistory } from '../../../src/contract/storage.ts'
import { kernelOf } from '../../../src/core/engine.ts'
import { currentAttempt, type Attempt } from '../../../src/core/attempt/attempt.ts'
import { StreamChannel, streamTopic } from '../../../src/core/streams/channel.ts'
import { createDeferred } from '../../../src/primitives/deferred.ts'
import { createTestEngine } from '../../../src/testing/create-test-engine.ts'
import { wrapStorage } from '../../../src/testing/storages/wrapped.ts'
import { memoryOfProject, projectStorage } from '../../support/abandon.ts'
import { bodyTask } from '../../support/body-task.ts'
import { cases } from '../../support/cases.ts'
import { numbers, reportedErrors } from '../../support/streams.ts'

const DONE: SegmentEnd = { reason: 'done' }

interface Bench {
  readonly channel: StreamChannel
  readonly attempt: Attempt
  /** All that the channel asked storage to append. */
  readonly calls: ChunkAppend[]
  /** How often the channel found its attempt stale. */
  readonly stale: { count: number }
  /** What the engine reported. */
  readonly errors: unknown[]
  /** Storage fails this many times from now on. */
  readonly fail: (times: number) => void
  /** What storage has. */
  readonly stored: () => Promise<{ chunks: unknown[]; end: SegmentEnd | undefined }>
  /** How often readers were woken since the last call. */
  readonly woken: () => number
  /** Another engine takes the run. */
  readonly fence: () => Promise<void>
  readonly advance: (duration: string) => Promise<void>
}

/** Gives `use` a channel of a run that executes. */
async function withChannel(use: (bench: Bench) => Promise<void>, history?: StreamHistory): Promise<void> {
  const calls: ChunkAppend[] = []
  let failures = 0
  // What a history is for, only a storage in memory shows.
  const inner = history === undefined ? projectStorage() : memoryOfProject()
  const storage = wrapStorage(inner, (name, operation) => (...args) => {
    if (name !== 'chunks.append') return operation(...args)
    calls.push(args[0] as ChunkAppend)
    if (failures > 0) {
      failures -= 1
      throw new Error('disk full')
    }
    return operation(...args)
  })
  const used = createDeferred<void>()
  const body = bodyTask(async () => {
    const attempt = currentAttempt()!
    const { host, watchers, outage } = kernelOf(t.engine)
    const { id, record } = attempt
    const { epoch, attempt: number } = record
    const request = { runId: id, key: 'k', epoch, attempt: number, by: host.owner, now: host.now() }
    const stream = (await host.storage.chunks.open(request))!
    const stale = { count: 0 }
    const upcalls = { stale: () => void (stale.count += 1) }
    const kernel = { host, watchers, outage, upcalls }
    const options = { attempt, key: 'k', stream, history: history ?? { chunks: 10_000, bytes: 1e9 } }
    const channel = new StreamChannel(kernel, options)
    let wakes = 0
    const wake = watchers.wake.bind(watchers)
    watchers.wake = (topic) => {
      if (topic === streamTopic(id, 'k')) wakes += 1
      wake(topic)
    }
    const bench: Bench = {
      channel,
      attempt,
      calls,
      stale,
      errors,
      fail: (times) => void (failures = times),
      stored: async () => {
        const read = await inner.chunks.read({ runId: id, key: 'k', from: 0, limit: 1e6 })
        return { chunks: values(read!.chunks), end: read!.stream.segments.at(-1)?.end }
      },
      woken: () => {
        const count = wakes
        wakes = 0
        return count
      },
      fence: async () => {
        const expected = { status: ['EXECUTING'] as const }
        await inner.runs.update({ id, expected, change: { epoch: epoch + 1 }, by: 'other', now: 0 })
      },
      advance: (duration) => t.clock.sleep(duration),
    }
    await use(bench).then(used.resolve, used.reject)
  })
  await using t = await createTestEngine({ tasks: [body], storage })
  const errors = reportedErrors(t.engine)
  const run = await t.engine.trigger(body, null)
  // A caller has to wait for time to pass; how the run itself ends does not matter here.
  run.outcome().catch(() => undefined)
  try {
    await used.promise
  } finally {
    await t.engine.close()
  }
}

function values(chunks: readonly ChunkRecord[]): unknown[] {
  return chunks.map(({ value }) => value)
}

/** What readers of this process see. */
function seen(channel: StreamChannel, from = 0): unknown[] {
  return values(channel.read(from, 1_000)!.chunks)
}

function endOf(channel: StreamChannel): SegmentEnd | undefined {
  return channel.read(channel.next, 1)?.stream.segments.at(-1)?.end
}

describe('StreamChannel', () => {
  it('shows readers what storage has, and nothing earlier', () =>
    withChannel(async ({ channel, stored }) => {
      void channel.append('a')
      expect([channel.next, channel.tail]).toEqual([0, 1])
      expect(seen(channel)).toEqual([])
      await channel.flushed()
      expect([channel.next, channel.tail]).toEqual([1, 1])
      expect(seen(channel)).toEqual(['a'])
      expect((await stored()).chunks).toEqual(['a'])
    }))

  it('makes one write and one wake-up of all that was appended in one go', () =>
    withChannel(async ({ channel, calls, woken }) => {
      for (const value of numbers(500)) void channel.append(value)
      await channel.flushed()
      expect(calls.map(({ first, chunks }) => [first, chunks.length])).toEqual([[0, 500]])
      expect(woken()).toBe(1)
    }))

  it('asks for patience once a thousand chunks are not stored, and only then', () =>
    withChannel(async ({ channel }) => {
      const answers = numbers(1_024).map(() => channel.append('x'))
      expect(answers.findIndex((answer) => answer !== undefined)).toBe(1_023)
      await answers.at(-1)
      expect(channel.next).toBe(1_024)
      expect(channel.append('x')).toBeUndefined()
    }))

  it('ends right after the last chunk', () =>
    withChannel(async ({ channel, stored }) => {
      void channel.append('a')
      await channel.end(DONE)
      expect(await stored()).toEqual({ chunks: ['a'], end: DONE })
      expect(channel.read(1, 10)?.stream.segments.at(-1)?.end).toEqual(DONE)
      await channel.end({ reason: 'interrupted' })
      expect((await stored()).end).toEqual(DONE)
    }))

  it('goes on after its end, also in the same breath', () =>
    withChannel(async ({ channel, stored }) => {
      void channel.append('a')
      void channel.end(DONE)
      void channel.append('b')
      await channel.flushed()
      expect(await stored()).toEqual({ chunks: ['a', 'b'], end: undefined })
      await channel.end(DONE)
      expect(endOf(channel)).toEqual(DONE)
      void channel.append('c')
      await channel.flushed()
      expect(endOf(channel)).toBeUndefined()
      expect(await stored()).toEqual({ chunks: ['a', 'b', 'c'], end: undefined })
      await channel.end({ reason: 'interrupted' })
      expect((await stored()).end).toEqual({ reason: 'interrupted' })
    }))

  it('keeps nothing without a reader, then what its history allows', () =>
    withChannel(
      async ({ channel, stored }) => {
        for (const value of numbers(4)) void channel.append(value)
        await channel.flushed()
        expect(channel.read(0, 10)).toBeUndefined()
        expect(seen(channel, 4)).toEqual([])
        for (const value of numbers(10, 4)) void channel.append(value)
        await channel.flushed()
        expect(channel.read(6, 10)).toBeUndefined()
        expect(seen(channel, 7)).toEqual([7, 8, 9])
        expect((await stored()).chunks).toEqual([7, 8, 9])
      },
      { chunks: 3, bytes: 1e6 },
    ))

  it('turns a chunk into text once, for all readers that need text', () =>
    withChannel(async ({ channel }) => {
      let calls = 0
      const chunk = { toJSON: () => ((calls += 1), { calls }) }
      channel.read(0, 1)
      void channel.append(chunk)
      await channel.flushed()
      const [one] = channel.read(0, 1)!.chunks
      const checks = calls
      expect([one!.text, channel.read(0, 1)!.chunks[0]!.text]).toEqual([one!.text, one!.text])
      // A storage on disk has asked for it before.
      expect(calls).toBeLessThanOrEqual(checks + 1)
    }))

  it('holds, whatever is appended, ended and awaited in whatever order', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('append', 'end', 'flushed', 'turn', 'fail', 'read'), { maxLength: 40 }),
        fc.boolean(),
        (steps, reads) =>
          withChannel(async ({ channel, stored, fail, advance }) => {
            let said = 0
            let isEnded = false
            if (reads) channel.read(0, 1)
            for (const step of steps) {
              if (step === 'append') {
                expect(channel.tail).toBe(said)
                void channel.append(said++)
                isEnded = false
              } else if (step === 'end') {
                void channel.end(DONE)
                isEnded = true
              } else if (step === 'fail') fail(1)
              else if (step === 'turn') await Promise.resolve()
              else if (step === 'read') channel.read(channel.next, 1)
              else {
                const flushed = channel.flushed()
                await advance('2s')
                await flushed
              }
              if (reads) expect(seen(channel)).toEqual(numbers(channel.next))
            }
            fail(0)
            await advance('2s')
            await channel.flushed()
            expect(channel.next).toBe(said)
            if (reads) expect(seen(channel)).toEqual(numbers(said))
            expect(await stored()).toEqual({ chunks: numbers(said), end: isEnded ? DONE : undefined })
          }),
      ),
      { numRuns: cases(60) },
    ))

  it('keeps the order while storage fails, says so, and goes on when it is back', () =>
    withChannel(async ({ channel, fail, stored, errors, advance }) => {
      fail(3)
      void channel.append('a')
      await advance('1s')
      void channel.append('b')
      void channel.end(DONE)
      expect(channel.next).toBe(0)
      await advance('10s')
      await channel.flushed()
      expect(await stored()).toEqual({ chunks: ['a', 'b'], end: DONE })
      expect(errors).toEqual([new Error('disk full'), new Error('disk full'), new Error('disk full')])
    }))

  it('writes nothing more once its attempt is stale, and says so once', () =>
    withChannel(async ({ channel, fence, stale, stored, calls }) => {
      void channel.append('a')
      await channel.flushed()
      await fence()
      void channel.append('b')
      await channel.flushed()
      void channel.append('c')
      await channel.end(DONE)
      expect(stale.count).toBe(1)
      expect(calls.length).toBe(2)
      expect((await stored()).chunks).toEqual(['a'])
      expect(channel.next).toBe(1)
    }))

  describe('a chunk that is not JSON', () => {
    it.each([
      ['a bigint', { items: [{ price: 10n }] }, '$.items[0].price is not JSON: a bigint'],
      ['nothing', undefined, '$ is not JSON: undefined'],
      ['a function', () => 1, '$ is not JSON: a function'],
      ['a buffer', Buffer.from('bytes'), '`new TextDecoderStream()`'],
      ['bytes', new Uint8Array(3), '`new TextDecoderStream()`'],
      ['an array buffer', new ArrayBuffer(3), '`new TextDecoderStream()`'],
    ])('is refused: %s', (_name, chunk, message) =>
      withChannel(async ({ channel, calls }) => {
        expect(() => channel.append(chunk)).toThrow(
          expect.objectContaining({
            code: 'ERR_NOT_SERIALIZABLE',
            message: expect.stringContaining(message) as unknown,
          }),
        )
        expect(() => channel.append(chunk)).toThrow('Cannot store a chunk of stream "k"')
        await channel.flushed()
        expect([channel.tail, calls.length]).toEqual([0, 0])
      }),
    )
  })

  describe('tells when a reader is far behind', () => {
    const fill = (
      count: number,
      history: StreamHistory,
      check: (channel: StreamChannel) => void,
    ): Promise<void> =>
      withChannel(async ({ channel }) => {
        for (const value of numbers(count)) void channel.append(value)
        await channel.flushed()
        check(channel)
      }, history)

    it('by the number of chunks', () =>
      fill(5, { chunks: 5, bytes: 1e6 }, (channel) => {
        expect([channel.isFarBehind(0), channel.isFarBehind(1), channel.isFarBehind(5)]).toEqual([
          true,
          false,
          false,
        ])
      }))

    it('by their size', () =>
      fill(6, { chunks: 100, bytes: 64 }, (channel) => {
        const tight = numbers(7).map((sequence) => channel.isFarBehind(sequence))
        expect(tight).toEqual([true, true, false, false, false, false, false])
      }))

    it('by the number of chunks it has lost track of', () =>
      fill(40, { chunks: 100, bytes: 1e6 }, (channel) => {
        expect([channel.isFarBehind(23), channel.isFarBehind(24)]).toEqual([true, false])
      }))
  })
})
