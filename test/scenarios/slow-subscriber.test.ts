import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Engine } from 'waitpoint'
import { createTestEngine } from '../../src/testing/create-test-engine.ts'
import { storageOfThisProcess } from '../support/abandon.ts'
import { bodyTask } from '../support/body-task.ts'
import { cases } from '../support/cases.ts'
import { chunksOf, collect, CountSource, follow, numbers, watchers } from '../support/streams.ts'
import { turn } from '../support/turn.ts'

/** Counts turns of the event loop until it is stopped. */
function turnCounter(): { readonly count: () => number; readonly stop: () => void } {
  let count = 0
  let isStopped = false
  const next = (): void => {
    count += 1
    if (!isStopped) setImmediate(next)
  }
  setImmediate(next)
  return { count: () => count, stop: () => void (isStopped = true) }
}

type Manner = 'slow' | 'stalled' | 'throwing' | 'leaving' | 'reading one stream'

/** A subscriber with a manner of its own; answers how to end it. */
function subscribe(engine: Engine, id: string, manner: Manner): () => Promise<unknown> {
  const parts = engine.runs.subscribeToRun(id).withStreams()[Symbol.asyncIterator]()
  const all = { [Symbol.asyncIterator]: () => parts }
  const loop = async (): Promise<void> => {
    let count = 0
    if (manner === 'reading one stream') {
      for await (const _ of engine.streams.read(id, 'k')) count += 1
      return
    }
    if (manner === 'stalled') {
      for (const _ of numbers(3)) await parts.next()
      return
    }
    for await (const _ of all) {
      count += 1
      if (manner === 'slow') for (const _ of numbers(5)) await turn()
      if (manner === 'throwing' && count === 4) throw new Error('mine')
      if (manner === 'leaving' && count === 4) break
    }
  }
  const done = loop().catch(() => undefined)
  return async () => {
    await parts.return?.()
    await done
  }
}

/** The turn of the event loop in which each chunk was produced, with these subscribers around. */
async function production(
  bursts: readonly { readonly size: number; readonly turns: number }[],
  reads: boolean,
  manners: readonly Manner[],
): Promise<number[]> {
  const log: number[] = []
  const counter = turnCounter()
  const source = async function* (): AsyncGenerator<string> {
    const start = counter.count()
    for (const { size, turns } of bursts) {
      for (const _ of numbers(size)) {
        log.push(counter.count() - start)
        yield 'chunk'
      }
      for (const _ of numbers(turns)) await turn()
    }
  }
  const body = bodyTask(async ({ metadata }) => {
    const stream = await metadata.stream('k', source())
    if (reads) await collect(stream)
  })
  // Turns are counted: a storage that is far away answers in whichever it likes.
  const storage = storageOfThisProcess()
  await using t = await createTestEngine({ tasks: [body], storage, streams: { historyChunks: 8 } })
  const run = await t.engine.trigger(body, null, { delay: '1s' })
  const ends = manners.map((manner) => subscribe(t.engine, run.id, manner))
  await run.result()
  for (const end of ends) await end()
  counter.stop()
  expect(watchers(t.engine)).toBe(0)
  return log
}

describe('a slow subscriber', () => {
  it('never slows a task down: it produces in the same turns with and without', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ size: fc.nat({ max: 20 }), turns: fc.nat({ max: 2 }) }), { maxLength: 8 }),
        fc.boolean(),
        fc.array(fc.constantFrom<Manner>('slow', 'stalled', 'throwing', 'leaving', 'reading one stream'), {
          minLength: 1,
          maxLength: 4,
        }),
        async (bursts, reads, manners) => {
          expect(await production(bursts, reads, manners)).toEqual(await production(bursts, reads, []))
        },
      ),
      { numRuns: cases(40) },
    ))

  it('does not hold back a source that a fast one reads to its end', async () => {
    const body = bodyTask(async ({ metadata }) => {
      await metadata.stream('k', new CountSource(9_000))
    })
    await using t = await createTestEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    const stalled = t.engine.runs.subscribeToRun(run).withStreams()[Symbol.asyncIterator]()
    await stalled.next()
    expect(chunksOf(await follow(t.engine, run), 'k')).toEqual(numbers(9_000))
    const rest = await collect({ [Symbol.asyncIterator]: () => stalled })
    expect(rest.flatMap((part) => ('chunk' in part ? [part.chunk] : []))).toEqual(numbers(9_000))
  })

  it('does not change what others or the task get when it changes a part', async () => {
    const body = bodyTask(async ({ metadata }) => collect(await metadata.stream('k', new CountSource(3))))
    await using t = await createTestEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    for await (const part of t.engine.runs.subscribeToRun(run).withStreams())
      Object.assign(part, { chunk: 'mine' })
    expect(await run.result()).toEqual([0, 1, 2])
    expect(chunksOf(await follow(t.engine, run), 'k')).toEqual([0, 1, 2])
  })
})
