import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { createDeferred } from '../../src/primitives/deferred.ts'
import { WorkCount } from '../support/work-count.ts'

const work = await WorkCount.start()
// Loaded now: the turns of its loops are to be counted.
const { createEngine, metadata, streams, wait } = await import('waitpoint')
const { bodyTask } = await import('../support/body-task.ts')
const { turn, until } = await import('../support/turn.ts')
const { memoryStorage } = await import('../../src/storage/memory/memory.ts')
const { madeId } = await import('../../src/testing/conformance/named-storage.ts')
const { manualToken, queuedRun } = await import('../../src/testing/conformance/sample-records.ts')

const MANY = 2_000
/** How often any piece of the code is executed for each of them, at most: a walk over all for each is thousands of times. */
const MOST_EACH = 100

/** Each of them costs as much as if there were no others. */
async function expectLinear(): Promise<void> {
  const { times, where } = await work.busiest()
  expect(times, where).toBeLessThan(MOST_EACH * MANY)
}

describe('the work for each of thousands', () => {
  beforeEach(() => work.busiest())
  afterAll(() => work.stop())

  it('of runs that wait for a slot of their queue is the same', async () => {
    let executing = 0
    const token = createDeferred<string>()
    const ask = bodyTask(
      async () => {
        await wait.forToken(await token.promise)
        executing += 1
        await Promise.resolve()
        executing -= 1
        expect(executing).toBeLessThan(10)
      },
      { queue: { concurrencyLimit: 10 } },
    )
    await using engine = createEngine({ tasks: [ask] })
    const { id } = await engine.wait.createToken()
    token.resolve(id)
    const runs = await Promise.all(Array.from({ length: MANY }, () => engine.trigger(ask, null)))
    await until(() => engine.stats().attempts === MANY && engine.stats().executing === 0)
    await engine.wait.completeToken(id)
    expect((await Promise.all(runs.map((run) => run.outcome()))).every(({ ok }) => ok)).toBe(true)
    await expectLinear()
  })

  it('of streams that a subscriber follows is the same', async () => {
    const chat = bodyTask(async () => {
      for (let index = 0; index < MANY; index += 1) {
        await streams.append(`s${index}`, index)
        await turn()
      }
      for (let index = 0; index < MANY; index += 1) {
        await streams.append('s0', index)
        await turn()
      }
    })
    await using engine = createEngine({ tasks: [chat] })
    const run = await engine.trigger(chat, null)
    let chunks = 0
    for await (const part of engine.runs.subscribeToRun(run.id).withStreams()) {
      if (part.type !== 'run') chunks += 1
    }
    expect(chunks).toBe(2 * MANY)
    await expectLinear()
  })

  it('of changes of the metadata is the same', async () => {
    const log = bodyTask(() => {
      for (let index = 0; index < MANY; index += 1)
        metadata.append('log', { line: index }).set(`k${index}`, 1)
    })
    await using engine = createEngine({ tasks: [log] })
    const run = await engine.trigger(log, null)
    await run.result()
    const { metadata: stored } = await engine.runs.retrieve(run.id)
    expect(stored['log']).toHaveLength(MANY)
    expect(Object.keys(stored)).toHaveLength(MANY + 1)
    await expectLinear()
  })

  it('of lists in memory that are bounded in time is the same', async () => {
    const { runs, tokens } = memoryStorage()
    const nameOf = (prefix: string, at: number): string => madeId(prefix, '', at)
    for (let now = 0; now < MANY; now += 1) {
      await runs.insert({ record: queuedRun(nameOf('run', now), { createdAt: now }), now, by: 'a' })
      const record = manualToken(nameOf('waitpoint', now), { createdAt: now, timeoutAt: 9_999 })
      await tokens.insert({ record, now, by: 'a' })
    }
    for (let from = 0; from < MANY; from += 1) {
      const bounds = { from, to: from + 1 }
      const page = { limit: 5 }
      const listed = await runs.list(bounds, page)
      const { records } = await tokens.list({ kind: 'MANUAL', ...bounds }, page, 0)
      expect(listed.records.length + records.length).toBe(from + 1 < MANY ? 4 : 2)
    }
    await expectLinear()
  })

  it('of batches that are pruned in memory, by their number or their size, is the same', async () => {
    const storage = memoryStorage()
    const { runs } = storage
    for (let now = 0; now < 2 * MANY; now += 1) {
      const record = {
        ...queuedRun(madeId('run', '', now), { createdAt: now }),
        payloadJson: '"text"',
      }
      await runs.insert({ record, now, by: 'a' })
      const change = { status: 'CANCELED', finishedAt: now } as const
      await runs.update({ id: record.id, expected: { status: ['QUEUED'] }, change, now, by: 'a' })
    }
    const request = { before: 0, limit: 1, now: 2 * MANY }
    for (let dropped = 0; dropped < MANY; dropped += 1)
      expect(await storage.prune({ ...request, keep: 0, keepBytes: Infinity })).toBe(1)
    for (let dropped = 0; dropped < MANY; dropped += 1)
      expect(await storage.prune({ ...request, keep: Infinity, keepBytes: 0 })).toBe(1)
    await expectLinear()
  })
})
