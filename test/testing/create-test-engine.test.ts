import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { task } from '../../src/core/ambient/define-task.ts'
import type { Task } from '../../src/api/task.ts'
import type { PendingTimer } from '../../src/clock/virtual/timers.ts'
import { memoryStorage } from '../../src/storage/memory/memory.ts'
import { createTestEngine, type TestEngineOptions } from '../../src/testing/create-test-engine.ts'
import { testClock } from '../../src/testing/test-clock.ts'
import { cases } from '../support/cases.ts'

const START = Date.UTC(2000, 0, 1)
const DAY_MS = 86_400_000

const nap = task({
  id: 'nap',
  run: async ({ seconds }: { seconds: number }, { wait }) => {
    await wait.for({ seconds })
    return 'rested'
  },
})

const approval = task({
  id: 'approval',
  run: async (_payload: null, { wait }) => {
    const token = await wait.createToken({ timeout: '24h' })
    const result = await wait.forToken<string>(token)
    return result.ok ? result.output : 'timed out'
  },
})

/** A task that runs `body`, which may use what the test has. */
function taskOf<Output>(body: () => Promise<Output>): Task<null, Output> {
  return task({ id: 'body', run: async (_payload: null) => body() })
}

describe('createTestEngine', () => {
  it('lets virtual time pass while a result is awaited, to the millisecond', async () => {
    await using t = await createTestEngine({ tasks: [nap, approval] })
    const run = await t.engine.trigger(nap, { seconds: 3_600 })
    expect(t.clock.now()).toBe(START)
    expect(await run.result()).toBe('rested')
    expect(t.clock.now()).toBe(START + 3_600_000)
  })

  it('meets deadlines exactly: an answer a millisecond before wins, at the deadline it loses', async () => {
    await using t = await createTestEngine({ tasks: [approval], clock: { mode: 'manual' } })
    const answerAfter = async (durationMs: number): Promise<unknown> => {
      const run = await t.engine.trigger(approval, null)
      await t.clock.settle()
      const page = await t.engine.wait.listTokens({ status: 'WAITING' })
      await t.clock.advance(durationMs)
      await t.engine.wait.completeToken(page.data[0]!.id, 'approved')
      return t.clock.until(run.result())
    }
    expect(await answerAfter(DAY_MS - 1)).toBe('approved')
    expect(await answerAfter(DAY_MS)).toBe('timed out')
  })

  it('forgets nothing, unless a retention is named', async () => {
    const quick = taskOf(() => Promise.resolve('done'))
    for (const [options, left] of [
      [{}, 1],
      [{ retention: {} }, 0],
      [{ retention: { maxAge: '4h' } }, 1],
    ] as const) {
      await using t = await createTestEngine({ tasks: [quick], storage: memoryStorage(), ...options })
      const run = await t.engine.trigger(quick, null)
      await run.result()
      await t.clock.advance('3h')
      expect((await t.engine.runs.list()).data).toHaveLength(left)
    }
  })

  it('moves on until an async condition about its runs holds', async () => {
    await using t = await createTestEngine({ tasks: [nap], clock: { mode: 'manual' } })
    const run = await t.engine.trigger(nap, { seconds: 3_600 })
    const isOver = async (): Promise<boolean> => (await t.engine.runs.retrieve(run)).isCompleted
    expect(await t.clock.until(isOver)).toBe(true)
    expect(t.clock.now()).toBe(START + 3_600_000)
    expect(await t.clock.until(async () => (await run.result()) === 'rested')).toBe(true)
  })

  it.each([
    ['null', null],
    ['a clock of null', { clock: null }],
    ['a misspelt option of the clock', { clock: { stat: 0 } }],
    ['a seed of null', { seed: null }],
    ['a storage that is none', { storage: {} }],
    ['tasks of null', { tasks: null }],
    ['streams of null', { streams: null }],
    ['a misspelt option', { fakeGlobal: true }],
    ['a misspelt option of the engine', { taks: [] }],
    ['a flag that is none', { alwaysResume: 'yes' }],
    ['another flag that is none', { fakeGlobals: 1 }],
  ])('refuses options that cannot be used: %s', async (_name, options) => {
    await expect(createTestEngine(options as never)).rejects.toThrow(/^Cannot use /)
  })

  it('names an option that it does not know, and those that it does', async () => {
    await expect(createTestEngine({ fakeGlobal: true } as never)).rejects.toThrow(
      'Cannot use the options of createTestEngine: there is no option "fakeGlobal"; use tasks, codec, execute, keepAlive, ' +
        'concurrency, baseUrl, secretKey, retention, retry, maxInterruptions, isolationMs, leaseMs, storageWaitMs, streams, ' +
        'storage, clock, seed, alwaysResume, fakeGlobals',
    )
  })

  it('makes the same ids for the same seed', async () => {
    const firstRun = async (options: TestEngineOptions): Promise<string> => {
      await using t = await createTestEngine({ ...options, tasks: [nap] })
      return (await t.engine.trigger(nap, { seconds: 1 })).id
    }
    expect(await firstRun({})).toBe(await firstRun({}))
    expect(await firstRun({ seed: 'a' })).toBe(await firstRun({ seed: 'a' }))
    expect(await firstRun({ seed: 'a' })).not.toBe(await firstRun({ seed: 'b' }))

    const shared = { storage: memoryStorage() }
    expect(await firstRun(shared)).not.toBe(await firstRun(shared))
    await using clock = testClock()
    expect(await firstRun({ clock })).not.toBe(await firstRun({ clock }))
  })

  it('goes on with what another engine left in the storage', async () => {
    const storage = memoryStorage()
    const clock = testClock()
    const first = await createTestEngine({ tasks: [nap], storage, clock })
    const { id } = await first.engine.trigger(nap, { seconds: 3_600 })
    await clock.advance('10m')
    await first.close()

    await using second = await createTestEngine({ tasks: [nap], storage, clock })
    expect(await second.engine.runs.poll(id)).toMatchObject({ status: 'COMPLETED', output: 'rested' })
    expect(clock.now()).toBe(START + 3_600_000)
  })

  it('ends the wait for a result that can never come, and shows why', async () => {
    const storage = memoryStorage()
    const first = await createTestEngine({ tasks: [nap], storage })
    const { id } = await first.engine.trigger(nap, { seconds: 3_600 }, { delay: '1h' })
    await first.close()

    await using second = await createTestEngine({ tasks: [], storage })
    await second.clock.advance('1h')
    await expect(second.engine.runs.poll(id)).rejects.toMatchObject({
      code: 'ERR_STUCK',
      message: expect.stringContaining(`\nrun ${id} of task "nap", `) as unknown,
    })
  })

  it('does not let time pass during real I/O of a task', async () => {
    const instants: number[] = []
    const reading = taskOf(async () => {
      await readFile(import.meta.filename)
      instants.push(t.clock.now())
    })
    await using t = await createTestEngine({ tasks: [reading, nap] })
    const naps = await t.engine.trigger(nap, { seconds: 1 })
    const reads = await t.engine.trigger(reading, null)
    await Promise.all([naps.result(), reads.result()])
    expect(instants).toEqual([START])
  })

  it('says which run does not come to rest', async () => {
    const hanging = taskOf(() => new Promise(() => undefined))
    await using t = await createTestEngine({ tasks: [hanging], clock: { ioGraceMs: 5 } })
    const { id } = await t.engine.trigger(hanging, null)
    await expect(t.clock.settle()).rejects.toMatchObject({ code: 'ERR_STILL_BUSY', ids: [id] })
  })

  it('also rejects the awaited run, with the last call of the run', async () => {
    const hanging = task({
      id: 'hanging',
      run: async (_payload: null, { wait }) => {
        await wait.createToken()
        await new Promise(() => undefined)
      },
    })
    await using t = await createTestEngine({ tasks: [hanging], clock: { ioGraceMs: 5 } })
    const run = await t.engine.trigger(hanging, null)
    await expect(run.result()).rejects.toMatchObject({
      code: 'ERR_STILL_BUSY',
      message: expect.stringMatching(
        /"run_\w+" of task "hanging", triggered at .*create-test-engine\.test\.ts:\d+:\d+ \(executing, last seen at tokens\.insert\)/,
      ) as unknown,
    })
  })

  it('tests runs by the thousand that wait for a month in seconds, each exact to the millisecond', async () => {
    const monthly = task({
      id: 'monthly',
      run: async (_payload: null, { wait }) => {
        const { ok } = await wait.forToken(await wait.createToken({ timeout: '30d' }))
        return { ok, at: t.clock.now() }
      },
    })
    await using t = await createTestEngine({ tasks: [monthly] })
    const runs = await Promise.all(
      Array.from({ length: cases(10_000) }, () => t.engine.trigger(monthly, null)),
    )
    const results = await Promise.all(runs.map((run) => run.result()))
    expect(new Set(results.map((result) => JSON.stringify(result)))).toEqual(
      new Set([JSON.stringify({ ok: false, at: START + 30 * DAY_MS })]),
    )
  })

  describe('a wait for an answer that never comes', () => {
    const asking = task({
      id: 'asking',
      run: async (payload: { timeout?: string }, { wait }) => {
        const token = await wait.createToken({ ...payload, tags: ['ask'] })
        return (await wait.forToken(token)).ok
      },
    })
    const parent = task({ id: 'parent', run: async () => asking.triggerAndWait({}).unwrap() })

    it('fails at once, and shows which run waits for which token, and where each was made', async () => {
      await using t = await createTestEngine({ tasks: [asking, parent] })
      const run = await t.engine.trigger(parent, null)
      const token = await t.waitingToken({ tag: 'ask' })
      const here = expect.stringMatching(/create-test-engine\.test\.ts:\d+:\d+$/) as unknown
      await expect(run.result()).rejects.toMatchObject({
        code: 'ERR_STUCK',
        message: expect.stringMatching(
          new RegExp(`${token.id} \\[ask\\], until 2000-01-01T00:10:00.000Z \\(the default\\), created at `),
        ) as unknown,
        graph: [
          {
            id: run.id,
            taskId: 'parent',
            origin: here,
            waits: [
              {
                kind: 'RUN',
                run: { taskId: 'asking', origin: here, waits: [{ id: token.id, origin: here }] },
              },
            ],
          },
        ],
      })
      expect(t.clock.now()).toBe(START)
      // The run is as it was: an answer still reaches it.
      await t.complete(token)
      expect(await run.result()).toBe(true)
    })

    it('takes its time-out when the task or the test said so', async () => {
      await using t = await createTestEngine({ tasks: [asking] })
      expect(await (await t.engine.trigger(asking, { timeout: '10m' })).result()).toBe(false)
      await using other = await createTestEngine({ tasks: [asking], clock: { onUnanswered: 'timeout' } })
      expect(await (await other.engine.trigger(asking, {})).result()).toBe(false)
    })

    it('needs a run that waits for the token', async () => {
      const offering = task({
        id: 'offering',
        run: async (_payload: null, { wait }) => {
          await wait.createToken()
          await wait.for({ hours: 1 })
        },
      })
      await using t = await createTestEngine({ tasks: [offering] })
      await (await t.engine.trigger(offering, null)).result()
      expect(t.clock.now()).toBe(START + 3_600_000)
    })

    it('is found on every engine of a storage and a clock', async () => {
      const storage = memoryStorage()
      const clock = testClock()
      await using one = await createTestEngine({ storage, clock })
      await using other = await createTestEngine({ tasks: [asking], storage, clock })
      const { id } = await other.engine.trigger(asking, {})
      await expect(one.engine.runs.poll(id)).rejects.toMatchObject({
        code: 'ERR_STUCK',
        graph: [{ taskId: 'asking' }],
      })
    })

    it('lists the deadline of every waiting token and the end of every sleep, with who waits and where', async () => {
      await using t = await createTestEngine({ tasks: [nap, approval], clock: { mode: 'manual' } })
      const asleep = await t.engine.trigger(nap, { seconds: 60 })
      const asking = await t.engine.trigger(approval, null)
      await t.clock.settle()
      const token = await t.engine.wait.createToken({ timeout: '1h' })
      await t.engine.wait.createToken({ timeout: '2h' }).then(t.engine.wait.completeToken.bind(t.engine.wait))
      const pending = t.clock.pending().filter(({ background }) => !background)
      const here = expect.stringContaining('create-test-engine.test.ts:') as unknown
      expect(pending).toMatchObject([
        { at: START + 60_000, whom: expect.stringContaining(asleep.id) as unknown, stack: here },
        { at: START + 3_600_000, tokenId: token.id, label: `deadline of token ${token.id}`, stack: here },
        { at: START + DAY_MS, whom: expect.stringContaining(asking.id) as unknown, stack: here },
      ])
      expect(pending).toHaveLength(3)
    })

    it('says whom the timer of an engine is for, instead of where the engine has set it', async () => {
      let pending: readonly PendingTimer[] = []
      const limited = task({
        id: 'limited',
        maxDuration: 60,
        run: async (_payload: null) => {
          pending = t.clock.pending().filter(({ background }) => !background)
        },
      })
      await using t = await createTestEngine({ tasks: [limited] })
      const run = await t.engine.trigger(limited, null)
      await run.result()
      const whom = expect.stringMatching(
        `^run ${run.id} of task "limited", triggered at .*test\\.ts:`,
      ) as unknown
      expect(pending).toMatchObject([{ label: `maxDuration of ${run.id}`, whom, stack: '' }])
    })

    it('shows in the timeline whom the next deadline is for', async () => {
      await using t = await createTestEngine({ tasks: [asking], clock: { mode: 'manual' } })
      const { id } = await t.engine.trigger(asking, {})
      await t.clock.settle()
      expect(t.clock.timeline()).toMatch(
        new RegExp(`\\+10m deadline of token \\w+, for run ${id} of task "asking", created at .*test\\.ts:`),
      )
    })
  })

  it('fails a task that moves the clock', async () => {
    const moving = taskOf(() => t.clock.advance('1h'))
    await using t = await createTestEngine({ tasks: [moving] })
    const run = await t.engine.trigger(moving, null, { maxAttempts: 1 })
    await expect(run.result()).rejects.toMatchObject({ cause: { code: 'ERR_CLOCK_REENTRY' } })
    expect(t.clock.now()).toBe(START)
  })

  it('lets what stands in for real I/O inside a task sleep on the clock', async () => {
    const mocked = taskOf(() => t.clock.sleep('5m').then(() => 'answer'))
    await using t = await createTestEngine({ tasks: [mocked] })
    const run = await t.engine.trigger(mocked, null)
    expect(await run.result()).toBe('answer')
    expect(t.clock.now()).toBe(START + 300_000)
  })

  describe('closing', () => {
    it('ends the engine and says what is left on its clock, once', async () => {
      const t = await createTestEngine({ tasks: [approval], clock: { mode: 'manual' } })
      await t.engine.trigger(approval, null)
      await t.clock.settle()
      t.clock.setTimer(START + 5, () => undefined, { label: 'forgotten' })
      const closing = t.close()
      await expect(closing).rejects.toThrow(/timer "forgotten"/)
      expect(t[Symbol.asyncDispose]()).toBe(closing)
      await expect(t.engine.trigger(approval, null)).rejects.toMatchObject({ code: 'ERR_ENGINE_CLOSED' })
    })

    it('leaves the timers of an engine nowhere', async () => {
      const t = await createTestEngine({ tasks: [approval] })
      await t.engine.trigger(approval, null)
      await t.clock.settle()
      await expect(t.close()).resolves.toBeUndefined()
    })

    it('leaves a clock alone that was given', async () => {
      const clock = testClock()
      const t = await createTestEngine({ clock })
      clock.setTimer(START + 5, () => undefined)
      await t.close()
      await clock.runAll()
      expect(clock.now()).toBe(START + 5)
    })
  })
})
