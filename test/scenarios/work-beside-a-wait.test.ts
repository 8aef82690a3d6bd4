import { describe, expect, it } from 'vitest'
import { type MetadataNamespace, once, type Task, type TaskOptions, wait } from 'waitpoint'
import { createTestEngine, type TestClock, testClock, type TestEngine } from 'waitpoint/testing'
import { abandonable, projectStorage } from '../support/abandon.ts'
import { bodyTask } from '../support/body-task.ts'

/** Work of five minutes. */
const WORKS: Readonly<Record<string, (clock: TestClock, metadata: Metadata) => Promise<unknown>>> = {
  source: (clock, metadata) =>
    metadata.stream(
      'draft',
      (async function* () {
        for (let chunk = 1; chunk <= 5; chunk += 1) {
          await clock.sleep('1m')
          yield chunk
        }
      })(),
    ),
  effect: (clock) => once('draft', () => clock.sleep('5m').then(() => 5)),
}

type Metadata = MetadataNamespace

/** A task that works beside a question that is answered after days. */
function working(
  kind: string,
  clock: TestClock,
  options: Partial<Omit<TaskOptions<null, unknown>, 'run'>> & { readonly begun?: () => void } = {},
): Task<null, unknown> {
  const { begun, ...rest } = options
  return bodyTask(async ({ metadata }) => {
    begun?.()
    const work = WORKS[kind]?.(clock, metadata)
    const answer = await wait.forToken(await wait.createToken({ timeout: '30d', tags: ['ask'] })).unwrap()
    await work
    return answer
  }, rest)
}

const statusOf = async (t: TestEngine, { id }: { readonly id: string }): Promise<string> =>
  (await t.engine.runs.retrieve(id)).status

describe.each(Object.keys(WORKS))('a run with an open %s beside a wait', (kind) => {
  it('executes until that has ended, and parks then', async () => {
    const clock = testClock({ mode: 'manual' })
    const work = working(kind, clock)
    await using t = await createTestEngine({ tasks: [work], clock, storage: projectStorage() })
    const run = await t.engine.trigger(work, null)
    await clock.advance('4m')
    expect([await statusOf(t, run), t.engine.stats().executing]).toEqual(['EXECUTING', 1])
    await clock.advance('2m')
    expect([await statusOf(t, run), t.engine.stats().executing]).toEqual(['WAITING', 0])
    await t.complete({ tag: 'ask' }, 'yes')
    expect(await run.result()).toBe('yes')
  })

  it('keeps the slot of its queue', async () => {
    const clock = testClock({ mode: 'manual' })
    let begun = 0
    const work = working(kind, clock, { queue: { concurrencyLimit: 1 }, begun: () => (begun += 1) })
    await using t = await createTestEngine({ tasks: [work], clock, storage: projectStorage() })
    await t.engine.trigger(work, null)
    await t.engine.trigger(work, null)
    await clock.advance('4m')
    expect(begun).toBe(1)
    await clock.advance('2m')
    expect(begun).toBe(2)
    await clock.advance('10m')
  })

  it('is out of time when it takes too long', async () => {
    const clock = testClock({ mode: 'manual' })
    const work = working(kind, clock, { maxDuration: '3m' })
    await using t = await createTestEngine({ tasks: [work], clock, storage: projectStorage() })
    const run = await t.engine.trigger(work, null)
    await clock.advance('10m')
    expect((await run.outcome()).ok).toBe(false)
    expect(await statusOf(t, run)).toBe('TIMED_OUT')
  })

  it('is executed again when its process dies, and not only when it is answered', async () => {
    const [clock, storage] = [testClock({ mode: 'manual' }), projectStorage()]
    let begun = 0
    const work = working(kind, clock, { begun: () => (begun += 1) })
    const ports = abandonable(clock, storage)
    const first = await createTestEngine({
      tasks: [work],
      storage: ports.storage,
      clock: ports.clock,
    })
    const run = await first.engine.trigger(work, null)
    await clock.advance('2m')
    ports.abandon()
    await using next = await createTestEngine({ tasks: [work], storage, clock, seed: 2 })
    // The lease of the dead process has to end first.
    await clock.advance('2m')
    expect([begun, await statusOf(next, run)]).toEqual([2, 'EXECUTING'])
    await clock.advance('6m')
    expect(await statusOf(next, run)).toBe('WAITING')
    await next.complete({ tag: 'ask' }, 'yes')
    expect((await next.engine.runs.poll(run)).output).toBe('yes')
  })
})

describe('a close that drains', () => {
  async function closed(
    kind: string,
    drainMs: string,
  ): Promise<{ readonly next: TestEngine; readonly id: string }> {
    const [clock, storage] = [testClock({ mode: 'manual' }), projectStorage()]
    const work = working(kind, clock)
    const first = await createTestEngine({ tasks: [work], storage, clock })
    const { id } = await first.engine.trigger(work, null)
    await clock.advance('2m')
    const left = first.engine.close({ drainMs })
    await clock.advance('10m')
    await left
    return { next: await createTestEngine({ tasks: [], storage, clock, seed: 2 }), id }
  }

  it.each(Object.keys(WORKS))('lets an open %s end, and the run park', async (kind) => {
    const { next, id } = await closed(kind, '10m')
    expect(await statusOf(next, { id })).toBe('WAITING')
    await next.close()
  })

  it.each(Object.keys(WORKS))(
    'leaves a run with an open %s to the next engine when its time is up',
    async (kind) => {
      const { next, id } = await closed(kind, '1m')
      expect(await statusOf(next, { id })).toBe('EXECUTING')
      await next.close()
    },
  )

  it('lets readers have all of a source', async () => {
    const { next, id } = await closed('source', '10m')
    const chunks: unknown[] = []
    for await (const chunk of next.engine.streams.read(id, 'draft')) if (chunks.push(chunk) === 5) break
    expect(chunks).toEqual([1, 2, 3, 4, 5])
    await next.close()
  })
})
