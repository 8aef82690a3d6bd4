import { describe, expect, it } from 'vitest'
import { createTestEngine } from '../../src/testing/create-test-engine.ts'
import { projectStorage, storageOfThisProcess } from '../support/abandon.ts'
import { bodyTask } from '../support/body-task.ts'
import {
  collect,
  collectUntilError,
  CountSource,
  numbers,
  PushSource,
  reportedErrors,
} from '../support/streams.ts'

/** Real milliseconds the clock waits for a source that may be doing real I/O. */
const clock = { ioGraceMs: 5 }
const MINUTE = 60_000

describe('a stream longer than 60 s', () => {
  it('is read to its end by a task that reads it', async () => {
    const body = bodyTask(async ({ metadata }) => collect(await metadata.stream('k', seconds(300))))
    const seconds = async function* (count: number): AsyncGenerator<number> {
      for (const second of numbers(count)) {
        await t.clock.sleep('1s')
        yield second
      }
    }
    await using t = await createTestEngine({ tasks: [body], clock })
    const run = await t.engine.trigger(body, null)
    const read = collect(t.engine.streams.read(run, 'k'))
    expect(await run.result()).toEqual(numbers(300))
    expect(await read).toEqual(numbers(300))
  })

  it('is stopped 60 s after the task has returned if the task does not read it; the run completes', async () => {
    let isReturned = false
    const seconds = async function* (): AsyncGenerator<number> {
      try {
        for (let second = 1; ; second++) {
          await t.clock.sleep('1s')
          yield second
        }
      } finally {
        isReturned = true
      }
    }
    const body = bodyTask(async ({ metadata }) => {
      await metadata.stream('k', seconds())
      await t.clock.sleep('10s')
      return 'output'
    })
    const storage = projectStorage()
    await using t = await createTestEngine({ tasks: [body], clock, storage })
    const errors = reportedErrors(t.engine)
    const start = t.clock.now()
    const run = await t.engine.trigger(body, null)
    const live = collectUntilError(t.engine.streams.read(run, 'k'))
    const parts = collectUntilError(t.engine.runs.subscribeToRun(run).withStreams())
    await t.clock.sleep('69s')
    expect(await storage.runs.get(run.id)).toMatchObject({
      status: 'EXECUTING',
      returned: true,
      outputJson: '"output"',
    })
    expect(await run.result()).toBe('output')
    expect(t.clock.now() - start).toBe(10_000 + MINUTE)

    const { items, error } = await live
    expect(items.length).toBeGreaterThanOrEqual(69)
    expect(items).toEqual(numbers(items.length + 1, 1))
    expect(error).toMatchObject({ name: 'StreamInterruptedError', code: 'ERR_STREAM_INTERRUPTED', key: 'k' })
    expect(await collectUntilError(t.engine.streams.read(run, 'k'))).toMatchObject({
      items,
      error: { code: 'ERR_STREAM_INTERRUPTED' },
    })
    const followed = await parts
    expect(followed.items.at(-1)).toMatchObject({ type: 'run', run: { status: 'COMPLETED' } })
    expect(followed.error).toMatchObject({ code: 'ERR_STREAM_INTERRUPTED', key: 'k' })
    expect(errors).toEqual([])
    await t.clock.advance('2s')
    expect(isReturned).toBe(true)
  })

  it('counts from the return of the task, not from the end of another stream', async () => {
    const silent = new PushSource<string>()
    const body = bodyTask(async ({ metadata }) => {
      await metadata.stream('silent', silent)
      await metadata.stream('busy', busy())
    })
    const busy = async function* (): AsyncGenerator<number> {
      for (const second of numbers(59)) {
        await t.clock.sleep('1s')
        yield second
      }
    }
    await using t = await createTestEngine({ tasks: [body], clock })
    const start = t.clock.now()
    const run = await t.engine.trigger(body, null)
    await run.result()
    expect(t.clock.now() - start).toBe(MINUTE)
    expect(silent.isReturned).toBe(true)
    expect(await collect(t.engine.streams.read(run, 'busy'))).toEqual(numbers(59))
    expect(await collectUntilError(t.engine.streams.read(run, 'silent'))).toMatchObject({
      items: [],
      error: { code: 'ERR_STREAM_INTERRUPTED' },
    })
  })

  it('counts the time that onSuccess takes', async () => {
    const silent = new PushSource<string>()
    const body = bodyTask(
      async ({ metadata }) => {
        await metadata.stream('k', silent)
      },
      {
        onSuccess: async () => {
          await t.clock.sleep('30s')
        },
      },
    )
    await using t = await createTestEngine({ tasks: [body], clock })
    const start = t.clock.now()
    await (await t.engine.trigger(body, null)).result()
    expect(t.clock.now() - start).toBe(MINUTE)
  })

  it('drains what onSuccess registers, too', async () => {
    const late = async function* (): AsyncGenerator<string> {
      await t.clock.sleep('10s')
      yield 'late'
    }
    const body = bodyTask(({ streams }) => streams.append('k', 'early'), {
      onSuccess: async () => {
        await t.clock.sleep('1s')
        t.engine.streams.pipe('k', late())
      },
    })
    await using t = await createTestEngine({ tasks: [body], clock })
    const run = await t.engine.trigger(body, null)
    await run.result()
    expect(await collect(t.engine.streams.read(run, 'k'))).toEqual(['early', 'late'])
  })

  it('never completes the run before a source that ends in time', async () => {
    const late = async function* (): AsyncGenerator<string> {
      await t.clock.sleep(MINUTE - 1)
      yield 'last'
    }
    const body = bodyTask(async ({ metadata }) => {
      await metadata.stream('k', late())
    })
    await using t = await createTestEngine({ tasks: [body], clock })
    const start = t.clock.now()
    const run = await t.engine.trigger(body, null)
    await run.result()
    expect(t.clock.now() - start).toBe(MINUTE - 1)
    expect(await collect(t.engine.streams.read(run, 'k'))).toEqual(['last'])
  })

  it('is stopped as well when its source never waits for anything', async () => {
    const source = new CountSource()
    const body = bodyTask(async ({ metadata }) => {
      await metadata.stream('k', source)
    })
    // The task has returned after some turns: so soon only a storage in this process answers.
    const storage = storageOfThisProcess()
    await using t = await createTestEngine({ tasks: [body], storage, clock: { ...clock, mode: 'manual' } })
    const run = await t.engine.trigger(body, null)
    const result = run.result()
    for (const _ of numbers(10)) await new Promise((resolve) => setImmediate(resolve))
    expect((await t.engine.runs.retrieve(run)).status).toBe('EXECUTING')
    await t.clock.jump(MINUTE)
    await result
    expect(source.isReturned).toBe(true)
    expect(source.produced).toBeGreaterThan(10_000)
  })

  it('takes no slot and no time of maxDuration meanwhile', async () => {
    const body = bodyTask(
      async ({ metadata }) => {
        await metadata.stream('k', new PushSource<string>())
      },
      {
        maxDuration: 1,
      },
    )
    const other = bodyTask(() => t.clock.now(), { id: 'other' })
    await using t = await createTestEngine({ tasks: [body, other], clock, concurrency: 1 })
    const start = t.clock.now()
    const run = await t.engine.trigger(body, null)
    expect(await (await t.engine.trigger(other, null)).result()).toBe(start)
    expect(await run.outcome()).toMatchObject({ ok: true })
  })
})
