import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Engine, Run, RunTools } from 'waitpoint'
import type { ChunkRecord } from '../../../src/contract/records.ts'
import { createDeferred } from '../../../src/primitives/deferred.ts'
import { createTestEngine } from '../../../src/testing/create-test-engine.ts'
import { projectStorage, steadyStorage } from '../../support/abandon.ts'
import { bodyTask, rejection } from '../../support/body-task.ts'
import { cases } from '../../support/cases.ts'
import {
  collect,
  collectUntilError,
  CountSource,
  follow,
  nextChunk,
  numbers,
  PushSource,
  sourceOf,
  watchers,
} from '../../support/streams.ts'
import { turn } from '../../support/turn.ts'

async function turns(count: number): Promise<void> {
  for (const _ of numbers(count)) await turn()
}

interface AnyPart {
  readonly type: string
  readonly run: Run
  readonly chunk?: unknown
}

/** All parts, read at a pace. */
async function partsOf(engine: Engine, id: string, pace: number): Promise<AnyPart[]> {
  const parts: AnyPart[] = []
  for await (const part of engine.runs.subscribeToRun(id).withStreams()) {
    parts.push(part)
    await turns(pace)
  }
  return parts
}

/** What every subscription to a run promises, whenever it began and however slow its reader was. */
function expectLaws(
  parts: readonly AnyPart[],
  stored: ReadonlyMap<string, readonly unknown[]>,
  end: string,
): void {
  expect(parts[0]?.type).toBe('run')
  expect(parts.at(-1)).toMatchObject({ type: 'run', run: { status: end } })
  let shown: Run | undefined
  const seen = new Map<string, unknown[]>()
  for (const [index, { type, run, chunk }] of parts.entries()) {
    if (type === 'run') {
      if (parts[index - 1]?.type === 'run') expect(run).not.toEqual(shown)
      shown = run
      continue
    }
    const { attempt } = chunk as { attempt: number }
    expect(shown?.realtimeStreams).toContain(type)
    expect(shown?.attemptCount).toBeGreaterThanOrEqual(attempt)
    seen.set(type, [...(seen.get(type) ?? []), chunk])
  }
  for (const [key, chunks] of stored) expect(seen.get(key) ?? []).toEqual(chunks)
  for (const key of seen.keys()) expect([...stored.keys()]).toContain(key)
}

const key = fc.constantFrom('one', 'two', 'three')
const step = fc.oneof(
  fc.record({ do: fc.constant('stream' as const), key, count: fc.nat({ max: 30 }), read: fc.boolean() }),
  fc.record({ do: fc.constant('append' as const), key }),
  fc.record({ do: fc.constant('set' as const), value: fc.nat({ max: 3 }) }),
  fc.record({ do: fc.constant('turns' as const), count: fc.nat({ max: 3 }) }),
  fc.record({ do: fc.constant('sleep' as const) }),
  fc.record({ do: fc.constant('throw' as const) }),
)
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

/** Runs a plan; each attempt goes on behind the step that made the last one throw. */
function planned(plan: readonly Step[]): (tools: RunTools) => Promise<void> {
  let position = 0
  return async ({ metadata, streams, wait, ctx }) => {
    const attempt = ctx.attempt.number
    const source = async function* (count: number): AsyncGenerator {
      for (const index of numbers(count)) yield { attempt, index }
    }
    while (position < plan.length) {
      const now = plan[position++]!
      if (now.do === 'stream') {
        const stream = await metadata.stream(now.key, source(now.count))
        if (now.read) await collect(stream)
      } else if (now.do === 'append') await streams.append(now.key, { attempt })
      else if (now.do === 'set') metadata.set('value', now.value)
      else if (now.do === 'turns') await turns(now.count)
      else if (now.do === 'sleep') await wait.for({ seconds: 1 })
      else throw new Error('planned')
    }
  }
}

describe('runs.subscribeToRun', () => {
  it('yields the run whenever it changed, and ends when the run has', async () => {
    const body = bodyTask(async ({ wait }) => {
      await wait.for({ seconds: 5 })
      return 'done'
    })
    await using t = await createTestEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    const seen = await collect(t.engine.runs.subscribeToRun<typeof body>(run))
    expect(seen.at(-1)).toMatchObject({ status: 'COMPLETED', output: 'done' })
    expect(seen.map(({ status }) => status)).toContain('WAITING')
    expect(await collect(t.engine.runs.subscribeToRun(run))).toHaveLength(1)
    expect(watchers(t.engine)).toBe(0)
  })

  it('rejects for a run that does not exist, also after close()', async () => {
    const t = await createTestEngine({})
    const subscription = t.engine.runs.subscribeToRun('run_unknown')
    expect(await rejection(collect(subscription))).toMatchObject({ code: 'ERR_RUN_NOT_FOUND' })
    await t.close()
    expect(await rejection(collect(subscription))).toMatchObject({ code: 'ERR_ENGINE_CLOSED' })
    expect(watchers(t.engine)).toBe(0)
  })

  it('can be left while it waits', async () => {
    const body = bodyTask(({ wait }) => wait.for({ hours: 1 }))
    await using t = await createTestEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    const runs = t.engine.runs.subscribeToRun(run)[Symbol.asyncIterator]()
    await runs.next()
    await runs.next()
    const waiting = runs.next()
    await runs.return?.()
    expect((await waiting).done).toBe(true)
    expect(watchers(t.engine)).toBe(0)
  })
})

describe('withStreams', () => {
  it('keeps its laws, whatever the task does, whenever a subscriber comes and however slow it is', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 12 }),
        fc.array(fc.record({ late: fc.nat({ max: 12 }), pace: fc.nat({ max: 2 }) }), { maxLength: 4 }),
        async (plan, subscribers) => {
          const throws = plan.filter((planned) => planned.do === 'throw').length
          const body = bodyTask(planned(plan), { retry: { maxAttempts: throws + 1, randomize: false } })
          const storage = projectStorage()
          await using t = await createTestEngine({ tasks: [body], storage })
          const { id, ...handle } = await t.engine.trigger(body, null, { delay: '1s' })
          const early = partsOf(t.engine, id, 0)
          const others = subscribers.map(async ({ late, pace }) => {
            await turns(late)
            return partsOf(t.engine, id, pace)
          })
          await handle.outcome()
          const after = partsOf(t.engine, id, 0)
          const { status, realtimeStreams } = await t.engine.runs.retrieve(id)
          const stored = new Map<string, readonly unknown[]>()
          for (const key of realtimeStreams) {
            const read = await storage.chunks.read({ runId: id, key, from: 0, limit: 1_000 })
            stored.set(
              key,
              read!.chunks.map((chunk: ChunkRecord) => chunk.value),
            )
          }
          for (const parts of [early, ...others, after]) expectLaws(await parts, stored, status)
          expect(watchers(t.engine)).toBe(0)
        },
      ),
      { numRuns: cases(100) },
    ))

  it('shows a run without streams from its first to its last state', async () => {
    const body = bodyTask(() => 'output')
    await using t = await createTestEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null, { delay: '1s' })
    const live = follow(t.engine, run)
    await run.result()
    expect((await live)[0]).toEqual(['run', 'DELAYED'])
    expect((await live).at(-1)).toEqual(['run', 'COMPLETED'])
    expect(await follow(t.engine, run)).toEqual([['run', 'COMPLETED']])
  })

  it('carries the run as it was shown with every chunk', async () => {
    const body = bodyTask(async ({ metadata }) => {
      await metadata.stream('k', sourceOf('a'))
    })
    await using t = await createTestEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    const parts = await partsOf(t.engine, run.id, 0)
    const index = parts.findIndex((part) => part.type === 'k')
    expect(parts[index]!.run).toBe(parts[index - 1]!.run)
    expect(parts[index]!.run.realtimeStreams).toEqual(['k'])
  })

  it('discovers keys that are registered later', async () => {
    const body = bodyTask(async ({ metadata, wait }) => {
      for (const key of ['a', 'b', 'c']) {
        await metadata.stream(key, sourceOf(key))
        await wait.for({ seconds: 1 })
      }
    })
    await using t = await createTestEngine({ tasks: [body], storage: steadyStorage() })
    const run = await t.engine.trigger(body, null)
    const parts = await follow(t.engine, run)
    expect(parts.filter(([type]) => type !== 'run')).toEqual([['a', 'a'], ['b', 'b'], ['c', 'c']]) // prettier-ignore
  })

  it('discovers a key at once, while nothing else changes', async () => {
    const source = new PushSource<string>()
    source.push('a')
    const register = createDeferred<void>()
    const body = bodyTask(async ({ metadata }) => {
      await register.promise
      await collect(await metadata.stream('k', source))
    })
    await using t = await createTestEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    await turns(3)
    const parts = t.engine.runs.subscribeToRun(run).withStreams()[Symbol.asyncIterator]()
    const next = nextChunk(parts)
    await turns(3)
    register.resolve()
    expect(await next).toBe('a')
    await parts.return?.()
    source.end()
    await run.result()
  })

  it('yields a chunk while the task still runs, as soon as it is there', async () => {
    const source = new PushSource<string>()
    const body = bodyTask(async ({ metadata }) => collect(await metadata.stream('k', source)))
    await using t = await createTestEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    const parts = t.engine.runs.subscribeToRun(run).withStreams()[Symbol.asyncIterator]()
    for (const value of ['a', 'b', 'c']) {
      const next = nextChunk(parts)
      source.push(value)
      expect(await next).toBe(value)
    }
    source.end()
    await run.result()
    await parts.return?.()
  })

  it('coalesces run parts: a slow reader sees the last state, not every one', async () => {
    const body = bodyTask(async ({ metadata }) => {
      for (const value of numbers(1_000)) {
        metadata.set('value', value)
        await metadata.flush()
      }
    })
    await using t = await createTestEngine({ tasks: [body], storage: steadyStorage() })
    const run = await t.engine.trigger(body, null)
    const parts = await partsOf(t.engine, run.id, 20)
    expect(parts.length).toBeLessThan(10)
    expect(parts.at(-1)?.run.metadata).toEqual({ value: 999 })
  })

  it('rejects for a run that does not exist', async () => {
    await using t = await createTestEngine({})
    expect(await rejection(follow(t.engine, 'run_unknown'))).toMatchObject({ code: 'ERR_RUN_NOT_FOUND' })
    expect(watchers(t.engine)).toBe(0)
  })

  it('rejects after close()', async () => {
    const t = await createTestEngine({})
    await t.close()
    expect(await rejection(follow(t.engine, 'run_x'))).toMatchObject({ code: 'ERR_ENGINE_CLOSED' })
    expect(watchers(t.engine)).toBe(0)
  })

  it.each([0, 1, 3])('rejects when the engine closes in the middle, after %i parts', async (count) => {
    const source = new PushSource<string>()
    source.push('a', 'b', 'c')
    const body = bodyTask(async ({ metadata }) => collect(await metadata.stream('k', source)))
    const t = await createTestEngine({ tasks: [body], storage: steadyStorage() })
    const run = await t.engine.trigger(body, null)
    await turns(5)
    const parts = t.engine.runs.subscribeToRun(run).withStreams()[Symbol.asyncIterator]()
    for (const _ of numbers(count)) await parts.next()
    const rest = collectUntilError({ [Symbol.asyncIterator]: () => parts })
    await turns(1)
    const late = t.engine.runs.subscribeToRun(run).withStreams()[Symbol.asyncIterator]()
    await late.next()
    await t.engine.close()
    expect(await rest).toMatchObject({ error: { code: 'ERR_ENGINE_CLOSED' } })
    expect(await collectUntilError({ [Symbol.asyncIterator]: () => late })).toMatchObject({
      error: { code: 'ERR_ENGINE_CLOSED' },
    })
    expect(watchers(t.engine)).toBe(0)
    expect(source.isReturned).toBe(true)
  })

  it.each(['break', 'throw', 'return() while it waits'])('leaves nothing behind after %s', async (way) => {
    const source = new PushSource<string>()
    source.push('a')
    const body = bodyTask(async ({ metadata }) => collect(await metadata.stream('k', source)))
    await using t = await createTestEngine({ tasks: [body], storage: steadyStorage() })
    const run = await t.engine.trigger(body, null)
    await turns(3)
    const subscription = t.engine.runs.subscribeToRun(run).withStreams()
    expect(watchers(t.engine)).toBe(1)
    if (way === 'break') for await (const part of subscription) if (part.type === 'k') break
    if (way === 'throw') {
      const reading = (async () => {
        for await (const part of subscription) if (part.type === 'k') throw new Error('mine')
      })()
      expect(await rejection(reading)).toEqual(new Error('mine'))
    }
    if (way.startsWith('return')) {
      const parts = subscription[Symbol.asyncIterator]()
      for (const _ of numbers(2)) await parts.next()
      const waiting = parts.next()
      await turns(2)
      expect(watchers(t.engine)).toBe(2)
      await parts.return?.()
      expect((await waiting).done).toBe(true)
    }
    expect(watchers(t.engine)).toBe(1)
    source.end()
    expect(await run.result()).toEqual(['a'])
  })

  it('watches nothing before it is read', async () => {
    await using t = await createTestEngine({})
    const iterator = t.engine.runs.subscribeToRun('run_x').withStreams()[Symbol.asyncIterator]()
    expect(watchers(t.engine)).toBe(0)
    await iterator.return?.()
    expect((await iterator.next()).done).toBe(true)
  })

  it('works inside of another run', async () => {
    const child = bodyTask(
      async ({ metadata }) => {
        await metadata.stream('k', new CountSource(5))
      },
      {
        id: 'child',
      },
    )
    const body = bodyTask(async ({ tasks, runs }) => {
      const run = await tasks.trigger('child', null)
      const chunks: unknown[] = []
      for await (const part of runs.subscribeToRun(run).withStreams())
        if ('chunk' in part) chunks.push(part.chunk)
      return chunks
    })
    await using t = await createTestEngine({ tasks: [body, child], storage: steadyStorage() })
    expect(await (await t.engine.trigger(body, null)).result()).toEqual(numbers(5))
  })

  it('ends for a run that fails, expires before it starts, or is canceled', async () => {
    const failing = bodyTask(() => Promise.reject(new Error('no')), { id: 'failing' })
    const sleeping = bodyTask(({ signal }) => t.clock.sleep('1h', { signal }), { id: 'sleeping' })
    await using t = await createTestEngine({ tasks: [failing, sleeping], concurrency: 1 })
    const failed = await t.engine.trigger(failing, null)
    expect((await follow(t.engine, failed)).at(-1)).toEqual(['run', 'FAILED'])
    const running = await t.engine.trigger(sleeping, null)
    const expiring = await t.engine.trigger(failing, null, { ttl: '10s' })
    const canceled = follow(t.engine, running)
    expect((await follow(t.engine, expiring)).at(-1)).toEqual(['run', 'EXPIRED'])
    await t.engine.runs.cancel(running)
    expect((await canceled).at(-1)).toEqual(['run', 'CANCELED'])
  })
})
