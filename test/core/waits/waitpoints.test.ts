import { AsyncLocalStorage } from 'node:async_hooks'
import { types } from 'node:util'
import { describe, expect, it } from 'vitest'
import {
  createEngine,
  memoryStorage,
  type Engine,
  type RunTools,
  type Task,
  type WaitNamespace,
  WaitpointTimeoutError,
} from 'waitpoint'
import { createTestEngine, type TestEngine } from 'waitpoint/testing'
import { abandonable, projectStorage } from '../../support/abandon.ts'
import { bodyTask, rejection } from '../../support/body-task.ts'
import { createDeferred } from '../../../src/primitives/deferred.ts'
import { testClock } from '../../../src/testing/test-clock.ts'
import { PushSource } from '../../support/streams.ts'
import { microtasksUntil, turn } from '../../support/turn.ts'

/** An engine with one task, whose clock stands still unless the test moves it. */
function openManual(
  body: (tools: RunTools) => unknown,
): Promise<TestEngine & { readonly tasks: Task<null, unknown> }> {
  const only = bodyTask(body)
  return createTestEngine({ tasks: [only], clock: { mode: 'manual' } }).then((t) => ({ ...t, tasks: only }))
}

async function statusOf(engine: Engine, id: string): Promise<string> {
  return (await engine.runs.retrieve(id)).status
}

describe('forToken', () => {
  it('goes on with the output of the token', async () => {
    let tokenId = ''
    await using t = await openManual(({ wait }) => wait.forToken<{ approved: boolean }>(tokenId))
    tokenId = (await t.engine.wait.createToken()).id
    const run = await t.engine.trigger(t.tasks, null)
    await t.clock.settle()
    expect(await statusOf(t.engine, run.id)).toBe('WAITING')
    expect(await t.engine.wait.completeToken(tokenId, { approved: true })).toEqual({
      success: true,
      status: 'COMPLETED',
    })
    expect(await run.result()).toEqual({ ok: true, output: { approved: true } })
  })

  it('takes a token, or anything else that carries its id', async () => {
    let tokens: readonly { readonly id: string }[] = []
    await using t = await openManual(({ wait }) =>
      Promise.all(tokens.map((token) => wait.forToken(token).unwrap())),
    )
    const created = await t.engine.wait.createToken()
    tokens = [created, { id: created.id }, await t.engine.wait.retrieveToken(created)]
    await t.engine.wait.completeToken(created, 7)
    expect(await (await t.engine.trigger(t.tasks, null)).result()).toEqual([7, 7, 7])
  })

  it('answers at once for a token that was settled long before', async () => {
    let ids: string[] = []
    await using t = await openManual(({ wait }) =>
      Promise.all(ids.map(async (id) => (await wait.forToken(id)).ok)),
    )
    const early = await t.engine.wait.createToken({ timeout: '1h' })
    const late = await t.engine.wait.createToken({ timeout: '1m' })
    await t.engine.wait.completeToken(early, null)
    await t.clock.advance('50m')
    ids = [early.id, late.id]
    expect(await t.clock.until(await t.engine.trigger(t.tasks, null))).toMatchObject({
      output: [true, false],
    })
  })

  it('is not ok when the deadline passes, and throws the same error unwrapped', async () => {
    const seen: unknown[] = []
    const only = bodyTask(async ({ wait }) => {
      const token = await wait.createToken({ timeout: '1h' })
      const waiting = wait.forToken(token)
      seen.push(await waiting, await rejection(waiting.unwrap()))
    })
    await using t = await createTestEngine({ tasks: [only] })
    await (await t.engine.trigger(only, null)).result()
    const [result, thrown] = seen as [{ ok: false; error: Error }, Error]
    expect(result.ok).toBe(false)
    expect(result).not.toHaveProperty('output')
    expect(result.error).toBeInstanceOf(WaitpointTimeoutError)
    expect(result.error).toMatchObject({ code: 'ERR_TOKEN_TIMED_OUT', name: 'WaitpointTimeoutError' })
    expect(result.error.message).toMatch(/^Waitpoint "waitpoint_\w+" timed out at 2000-01-01T01:00:00\.000Z$/)
    expect(thrown).toBe(result.error)
  })

  it('gives the error of a time-out no stack, which would tell of the engine alone', async () => {
    let error: unknown
    const only = bodyTask(async ({ wait }) => {
      error = await rejection(wait.forToken(await wait.createToken({ timeout: '1h' })).unwrap())
    })
    await using t = await createTestEngine({ tasks: [only] })
    await (await t.engine.trigger(only, null)).result()
    const { message, stack } = error as Error
    expect(stack).toBe(`WaitpointTimeoutError: ${message}`)
  })

  it('answers a native promise that can be unwrapped as often as one likes', async () => {
    let tokenId = ''
    const seen: unknown[] = []
    await using t = await openManual(async ({ wait }) => {
      const waiting = wait.forToken(tokenId)
      seen.push(types.isPromise(waiting) && waiting instanceof Promise, waiting.constructor === Promise)
      seen.push(waiting.unwrap().constructor === Promise)
      const before = waiting.unwrap()
      const chained = waiting.then((result) => result.ok)
      seen.push(Object.getPrototypeOf(chained) === Promise.prototype)
      seen.push(await before, await waiting.unwrap(), await chained, await waiting.finally(() => undefined))
    })
    tokenId = (await t.engine.wait.createToken()).id
    const run = await t.engine.trigger(t.tasks, null)
    await t.clock.settle()
    await t.engine.wait.completeToken(tokenId, 'yes')
    await run.result()
    expect(seen).toEqual([true, true, true, true, 'yes', 'yes', true, { ok: true, output: 'yes' }])
  })

  describe('with something it cannot wait for', () => {
    it.each([
      ['waitpoint_unknown', { code: 'ERR_TOKEN_NOT_FOUND' }, '"waitpoint_unknown"'],
      ['nonsense', { code: 'ERR_TOKEN_NOT_FOUND' }, '"nonsense"'],
      ['run:run_1', { code: 'ERR_TOKEN_NOT_FOUND' }, '"run:run_1"'],
      ['', { name: 'TypeError' }, 'give its id'],
      [undefined, { name: 'TypeError' }, 'undefined'],
      [null, { name: 'TypeError' }, 'null'],
      [{ id: 5 }, { name: 'TypeError' }, 'give its id'],
      [{}, { name: 'TypeError' }, 'give its id'],
    ])('rejects for %j, unwrapped as well', async (reference, error, message) => {
      const errors: unknown[] = []
      await using t = await openManual(async ({ wait }) => {
        errors.push(await rejection(wait.forToken(reference as string)))
        errors.push(await rejection(wait.forToken(reference as string).unwrap()))
      })
      await (await t.engine.trigger(t.tasks, null)).result()
      for (const thrown of errors) {
        expect(thrown).toMatchObject(error)
        expect((thrown as Error).message).toContain(message)
      }
      expect(errors).toHaveLength(2)
      expect(t.engine.stats().waits).toBe(0)
    })

    it('rejects for the id of a sleep of a run', async () => {
      let thrown: unknown
      const sleeper = bodyTask(({ wait }) => wait.for({ hours: 1 }), { id: 'sleeper' })
      const other = bodyTask(
        async ({ wait, runs }) => {
          const { data } = await runs.list({ taskIdentifier: 'sleeper' })
          const { waitingOn } = await runs.retrieve(data[0]!.id)
          thrown = await rejection(wait.forToken(waitingOn[0]!.id))
        },
        { id: 'other' },
      )
      await using t = await createTestEngine({ tasks: [sleeper, other], clock: { mode: 'manual' } })
      await t.engine.trigger(sleeper, null)
      await t.clock.settle()
      await (await t.engine.trigger(other, null)).result()
      expect(thrown).toMatchObject({ code: 'ERR_TOKEN_NOT_FOUND' })
    })
  })

  it('rejects outside of a run, saying so', async () => {
    await using t = await createTestEngine()
    const { id } = await t.engine.wait.createToken()
    const waiting = t.engine.wait.forToken(id)
    for (const promise of [waiting, waiting.unwrap(), t.engine.wait.forToken(id).unwrap()]) {
      expect(await rejection(promise)).toMatchObject({
        code: 'ERR_NOT_IN_RUN',
        message: 'Cannot call wait.forToken here: it can only be used from inside a task.run()',
      })
    }
  })

  it("rejects in a run of another engine, naming the run, also for the other engine's own token", async () => {
    await using other = await createTestEngine()
    const token = await other.engine.wait.createToken()
    let thrown: unknown
    await using t = await openManual(async () => {
      thrown = await rejection(other.engine.wait.forToken(token))
    })
    const run = await t.engine.trigger(t.tasks, null)
    await run.result()
    expect(thrown).toMatchObject({
      code: 'ERR_OTHER_ENGINE',
      message: `Cannot call wait.forToken of this engine in run "${run.id}": the run belongs to another engine`,
    })
  })

  it('rejects in an attempt that has ended', async () => {
    let wait: WaitNamespace | undefined
    let goOn: () => void = () => undefined
    const released = new Promise<void>((resolve) => (goOn = resolve))
    let straggler: Promise<unknown[]> = Promise.resolve([])
    await using t = await openManual((tools) => {
      wait = tools.wait
      straggler = released.then(() =>
        Promise.all([
          rejection(tools.wait.forToken('waitpoint_1')),
          rejection(tools.wait.createToken()),
          rejection(tools.wait.completeToken('waitpoint_1')),
          rejection(tools.wait.retrieveToken('waitpoint_1')),
          rejection(tools.wait.listTokens()),
          rejection(tools.wait.for({ seconds: 1 })),
          rejection(tools.wait.until({ date: new Date(0) })),
        ]),
      )
    })
    const run = await t.engine.trigger(t.tasks, null)
    await run.result()
    goOn()
    const errors = await straggler
    expect(errors).toHaveLength(7)
    for (const error of errors) {
      expect(error).toMatchObject({ code: 'ERR_RUN_ENDED' })
      expect((error as Error).message).toContain(run.id)
    }
    expect(await rejection(wait!.forToken('waitpoint_1'))).toMatchObject({ code: 'ERR_NOT_IN_RUN' })
    expect(await t.engine.wait.listTokens()).toMatchObject({ data: [] })
  })
})

describe('waits from several places', () => {
  it('releases every waiter for one token exactly once, in one run and in many', async () => {
    let tokenId = ''
    let released = 0
    await using t = await openManual(async ({ wait }) => {
      const waits = Array.from({ length: 5 }, async () => {
        const { ok } = await wait.forToken(tokenId)
        released += 1
        return ok
      })
      return Promise.all(waits)
    })
    tokenId = (await t.engine.wait.createToken()).id
    const runs = await Promise.all(Array.from({ length: 20 }, () => t.engine.trigger(t.tasks, null)))
    await t.clock.settle()
    expect([t.engine.stats().waits, released]).toEqual([1, 0])
    const answers = await Promise.all([1, 2, 3].map((answer) => t.engine.wait.completeToken(tokenId, answer)))
    expect(answers.map(({ success }) => success)).toEqual([true, false, false])
    for (const run of runs) expect(await run.result()).toEqual([true, true, true, true, true])
    await t.clock.advance('1h')
    expect([t.engine.stats().waits, released]).toEqual([0, 100])
  })

  it('gives each waiter an output of its own', async () => {
    let tokenId = ''
    await using t = await openManual(async ({ wait }) => {
      const waits = [1, 2].map(() => wait.forToken<{ list: number[] }>(tokenId).unwrap())
      const [one, other] = await Promise.all(waits)
      one!.list.push(2)
      return other
    })
    tokenId = (await t.engine.wait.createToken()).id
    const run = await t.engine.trigger(t.tasks, null)
    await t.clock.settle()
    await t.engine.wait.completeToken(tokenId, { list: [1] })
    expect(await run.result()).toEqual({ list: [1] })
  })

  it('waits for all of several tokens, whatever the order of the answers', async () => {
    const ids: string[] = []
    await using t = await openManual(({ wait }) => Promise.all(ids.map((id) => wait.forToken(id).unwrap())))
    for (let count = 0; count < 4; count += 1) ids.push((await t.engine.wait.createToken()).id)
    const run = await t.engine.trigger(t.tasks, null)
    await t.clock.settle()
    for (const index of [2, 0, 3, 1]) {
      await t.engine.wait.completeToken(ids[index]!, index)
      await t.clock.settle()
    }
    expect(await run.result()).toEqual([0, 1, 2, 3])
  })

  it('drops the losers of a race with the end of the run; they can still be completed by others', async () => {
    const ids: string[] = []
    await using t = await openManual(({ wait }) => Promise.race(ids.map((id) => wait.forToken(id).unwrap())))
    for (let count = 0; count < 3; count += 1) ids.push((await t.engine.wait.createToken()).id)
    const run = await t.engine.trigger(t.tasks, null)
    await t.clock.settle()
    expect(t.engine.stats().waits).toBe(3)
    await t.engine.wait.completeToken(ids[1]!, 'first')
    expect(await run.result()).toBe('first')
    await t.clock.settle()
    expect(t.engine.stats().waits).toBe(0)
    expect(await t.engine.wait.completeToken(ids[0]!, 'late')).toEqual({ success: true, status: 'COMPLETED' })
    await t.clock.advance('1h')
    expect(await t.engine.wait.retrieveToken(ids[2]!)).toMatchObject({ status: 'TIMED_OUT' })
  })

  it('leaves no rejection unhandled when a wait is not awaited any more', async () => {
    const unhandled: unknown[] = []
    const listener = (reason: unknown): void => void unhandled.push(reason)
    process.on('unhandledRejection', listener)
    let tokenId = ''
    const body = ({ wait }: RunTools): Promise<string> => {
      void wait.forToken(tokenId)
      void wait.forToken(tokenId).unwrap()
      void wait.forToken('waitpoint_unknown').unwrap()
      void wait.for({ hours: 1 })
      return Promise.race([
        wait.forToken(tokenId, { signal: AbortSignal.abort() }).unwrap(),
        Promise.resolve(''),
      ]).then(
        () => '',
        () => wait.forToken<string>(tokenId).unwrap(),
      )
    }
    const t = await openManual(body)
    tokenId = (await t.engine.wait.createToken({ timeout: '1m' })).id
    void t.engine.wait.forToken(tokenId).unwrap()
    const canceled = await t.engine.trigger(t.tasks, null)
    const timedOut = await t.engine.trigger(t.tasks, null)
    const closed = await t.engine.trigger(t.tasks, null)
    await t.clock.settle()
    await t.engine.runs.cancel(canceled.id)
    await t.clock.advance('1m')
    expect(await timedOut.outcome()).toMatchObject({ ok: false, error: { code: 'ERR_RUN_FAILED' } })
    tokenId = (await t.engine.wait.createToken()).id
    void closed.outcome().catch(() => undefined)
    await t.engine.trigger(t.tasks, null)
    await t.clock.settle()
    await t.close()
    await t.clock.settle()
    process.off('unhandledRejection', listener)
    expect(unhandled).toEqual([])
  })

  it('leaves no rejection unhandled of any call that a canceled run has left behind', async () => {
    const unhandled: unknown[] = []
    const listener = (reason: unknown): void => void unhandled.push(reason)
    process.on('unhandledRejection', listener)
    const late: (() => unknown)[] = []
    const child = bodyTask(({ wait }) => wait.for({ hours: 2 }), { id: 'child' })
    const parent = bodyTask(async ({ wait, streams, metadata }) => {
      void (await child.trigger(null)).result()
      void streams.pipe('k', new PushSource<string>()).waitUntilComplete()
      late.push(
        AsyncLocalStorage.bind(() => void streams.append('log', 'x')),
        AsyncLocalStorage.bind(() => void metadata.flush()),
        AsyncLocalStorage.bind(() => void child.trigger(null)),
      )
      await wait.for({ hours: 1 })
    })
    await using t = await createTestEngine({ tasks: [parent, child], clock: { mode: 'manual' } })
    const run = await t.engine.trigger(parent, null)
    await t.clock.settle()
    await t.engine.runs.cancel(run)
    for (const call of late) call()
    await turn()
    await t.clock.settle()
    process.off('unhandledRejection', listener)
    expect(unhandled).toEqual([])
  })

  it('leaves what was chained to a loser and left alone pending for good when the run has returned', async () => {
    const unhandled: unknown[] = []
    const listener = (reason: unknown): void => void unhandled.push(reason)
    process.on('unhandledRejection', listener)
    const seen: unknown[] = []
    const shared = new AbortController()
    await using t = await openManual(async ({ wait }) => {
      const token = await wait.createToken({ timeout: '1m' })
      void wait.forToken(token, shared).then(({ ok }) => seen.push(ok))
      void wait.for({ hours: 1, signal: shared.signal }).then(() => seen.push('slept'))
      return 'done'
    })
    expect(await (await t.engine.trigger(t.tasks, null)).result()).toBe('done')
    shared.abort()
    await t.clock.advance('2h')
    process.off('unhandledRejection', listener)
    expect([seen, unhandled]).toEqual([[], []])
    expect(t.engine.stats()).toMatchObject({ attempts: 0, waits: 0 })
  })

  it('rejects waits with RunCanceledError when the run is canceled', async () => {
    let thrown: unknown
    let tokenId = ''
    await using t = await openManual(async ({ wait }) => {
      const waiting = wait.forToken(tokenId)
      thrown = [
        await rejection(waiting),
        await rejection(waiting.unwrap()),
        await rejection(wait.createToken()),
      ]
    })
    tokenId = (await t.engine.wait.createToken()).id
    const run = await t.engine.trigger(t.tasks, null)
    await t.clock.settle()
    await t.engine.runs.cancel(run.id)
    await t.clock.settle()
    expect(thrown).toMatchObject([
      { name: 'RunCanceledError', code: 'ERR_RUN_CANCELED', runId: run.id },
      { name: 'RunCanceledError' },
      { name: 'RunCanceledError' },
    ])
    expect(await t.engine.wait.completeToken(tokenId, 1)).toEqual({ success: true, status: 'COMPLETED' })
  })
})

describe('a wait with a signal', () => {
  it('is dropped with the reason of the signal, and only that one', async () => {
    const reason = new Error('taken')
    let tokenId = ''
    const controller = new AbortController()
    const seen: unknown[] = []
    await using t = await openManual(async ({ wait }) => {
      const dropped = wait.forToken(tokenId, { signal: controller.signal })
      const kept = wait.forToken(tokenId).unwrap()
      seen.push(await rejection(dropped), await rejection(dropped.unwrap()))
      return kept
    })
    tokenId = (await t.engine.wait.createToken()).id
    const run = await t.engine.trigger(t.tasks, null)
    await t.clock.settle()
    controller.abort(reason)
    await t.clock.settle()
    expect(seen).toEqual([reason, reason])
    expect(t.engine.stats().waits).toBe(1)
    await t.engine.wait.completeToken(tokenId, 'kept')
    expect(await run.result()).toBe('kept')
  })

  it('is not begun when the signal has aborted already', async () => {
    let thrown: unknown
    await using t = await openManual(async ({ wait }) => {
      const { id } = await wait.createToken()
      thrown = await rejection(wait.forToken(id, { signal: AbortSignal.abort('over') }))
    })
    await (await t.engine.trigger(t.tasks, null)).result()
    expect(thrown).toBe('over')
  })

  it('drops sleeps as well', async () => {
    const controller = new AbortController()
    await using t = await openManual(async ({ wait }) => {
      const { signal } = controller
      const naps = [wait.for({ hours: 1, signal }), wait.until({ date: new Date(Date.UTC(2001, 0)), signal })]
      return Promise.all(naps.map((nap) => nap.then(String, String)))
    })
    const run = await t.engine.trigger(t.tasks, null)
    await t.clock.settle()
    controller.abort('up')
    expect(await run.result()).toEqual(['up', 'up'])
  })

  it('goes on with a slot when it was parked', async () => {
    const controller = new AbortController()
    let tokenId = ''
    let goOn: (answer: string) => void = () => undefined
    const outside = new Promise<string>((resolve) => (goOn = resolve))
    await using t = await openManual(async ({ wait }) => {
      await wait.forToken(tokenId, { signal: controller.signal }).catch(() => undefined)
      return outside
    })
    tokenId = (await t.engine.wait.createToken()).id
    const run = await t.engine.trigger(t.tasks, null)
    await t.clock.settle()
    expect(await statusOf(t.engine, run.id)).toBe('WAITING')
    controller.abort()
    await turn()
    expect(await statusOf(t.engine, run.id)).toBe('EXECUTING')
    expect(t.engine.stats().executing).toBe(1)
    goOn('done')
    expect(await run.result()).toBe('done')
  })

  it('does not leave a run asleep for ever whose process dies right after', async () => {
    const controller = new AbortController()
    const storage = projectStorage()
    await using clock = testClock({ mode: 'manual' })
    let attempts = 0
    const raced = bodyTask(async ({ wait }) => {
      attempts += 1
      if (attempts > 1) return 'again'
      const token = await wait.createToken({ timeout: '1h' })
      await wait.forToken(token, { signal: controller.signal }).catch(() => undefined)
      return new Promise<string>(() => undefined)
    })
    const ports = abandonable(clock, storage)
    const first = await createTestEngine({ clock: ports.clock, storage: ports.storage, tasks: [raced] })
    const run = await first.engine.trigger(raced, null)
    await clock.settle()
    expect(await statusOf(first.engine, run.id)).toBe('WAITING')
    controller.abort()
    await turn()
    ports.abandon()
    await using second = await createTestEngine({ clock, storage, tasks: [raced], seed: 2 })
    await clock.advance('1m')
    expect(await second.engine.runs.retrieve(run.id)).toMatchObject({ status: 'COMPLETED', output: 'again' })
  })
})

describe('the task after its token was settled', () => {
  /** Completes the token and says what ran in which order from then on. */
  async function orderAfter(engine: Engine, tokenId: string, order: string[]): Promise<string[]> {
    const completing = engine.wait.completeToken(tokenId, 'output')
    order.push('settled')
    let tick = Promise.resolve()
    for (const count of [1, 2, 3]) tick = tick.then(() => void order.push(`microtask ${count}`))
    await tick
    await completing
    return order
  }

  const awaits: readonly [string, (wait: WaitNamespace, id: string) => Promise<unknown>][] = [
    ['forToken', (wait, id) => wait.forToken(id)],
    ['unwrap', (wait, id) => wait.forToken(id).unwrap()],
  ]

  it.each(awaits)(
    'goes on in the first microtask, parked or not, on a test clock: %s',
    async (_name, begin) => {
      let tokenId = ''
      const order: string[] = []
      const only = bodyTask(async ({ wait }) => {
        await begin(wait, tokenId)
        order.push('task')
      })
      for (const isParked of [true, false]) {
        order.length = 0
        await using t = await createTestEngine({
          tasks: [only],
          storage: memoryStorage(),
          clock: { mode: 'frozen' },
        })
        tokenId = (await t.engine.wait.createToken()).id
        const run = await t.engine.trigger(only, null)
        await microtasksUntil(() => t.engine.stats().waits > 0)
        if (isParked) await t.clock.settle()
        expect(await statusOf(t.engine, run.id)).toBe(isParked ? 'WAITING' : 'EXECUTING')
        expect(await orderAfter(t.engine, tokenId, order)).toEqual([
          'settled',
          'task',
          'microtask 1',
          'microtask 2',
          'microtask 3',
        ])
      }
    },
  )

  it.each(awaits)('goes on in the first microtask on the system clock: %s', async (_name, begin) => {
    const order: string[] = []
    const only = bodyTask(async ({ wait }) => {
      await begin(wait, tokenId)
      order.push('task')
    })
    await using engine = createEngine({ tasks: [only] })
    const tokenId = (await engine.wait.createToken()).id
    const parked = new Promise<void>((resolve) => {
      engine.on('run', ({ status }) => (status === 'WAITING' ? resolve() : undefined))
    })
    const run = await engine.trigger(only, null)
    await parked
    expect((await orderAfter(engine, tokenId, order)).slice(0, 3)).toEqual(['settled', 'task', 'microtask 1'])
    await run.result()
  })

  it('does not park a run for a wait that its task does not await yet', async () => {
    const gate = createDeferred<void>()
    const early = bodyTask(async ({ wait }) => {
      const { signal } = new AbortController()
      const answer = wait.forToken<string>(token, { signal })
      await t.clock.external(gate.promise)
      return answer
    })
    await using t = await createTestEngine({ tasks: [early] })
    const token = await t.engine.wait.createToken()
    const run = await t.engine.trigger(early, null)
    const status = async (): Promise<string> => (await t.engine.runs.retrieve(run.id)).status
    while ((await status()) === 'QUEUED') await turn()
    for (let turns = 0; turns < 5; turns += 1) await turn()
    const meanwhile = await status()
    gate.resolve()
    while ((await status()) !== 'WAITING') await turn()
    expect(meanwhile).toBe('EXECUTING')
    await t.engine.wait.completeToken(token, 'yes')
    expect(await run.result()).toMatchObject({ ok: true, output: 'yes' })
  })
})
