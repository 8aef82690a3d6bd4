import { describe, expect, it } from 'vitest'
import { type DiagnosticMessages, task, wait } from 'waitpoint'
import { createTestEngine } from 'waitpoint/testing'
import { kernelOf } from '../../src/core/engine.ts'
import { projectStorage, steadyStorage } from '../support/abandon.ts'
import { listenTo } from '../support/diagnostics.ts'

const double = task({ id: 'double', run: async (n: number) => 2 * n })
const approve = task({
  id: 'approve',
  run: async (_payload: null) => {
    const token = await wait.createToken({ timeout: '1h' })
    await wait.for({ seconds: 5 })
    await wait.forToken(token)
    // With a delay it cannot end before the wait for it has begun, however late a storage answers.
    return double.triggerAndWait(21, { delay: '1m' }).unwrap()
  },
})

/** What a message says, in a line. */
function line(
  message: DiagnosticMessages['waitpoint:attempt'] | DiagnosticMessages['waitpoint:wait'],
): string {
  const { taskId, attempt } = message.run
  if (!('tokenId' in message)) {
    const outcome = message.phase === 'end' ? ` ${message.outcome}` : ''
    return `${taskId} ${attempt} ${message.phase}${outcome}`
  }
  return `wait ${message.phase} ${message.token?.kind ?? 'DROPPED'} ${message.token?.status ?? ''}`.trim()
}

const ENDS = ['approve COMPLETED', 'double COMPLETED']

describe('the messages of an engine', () => {
  it('tell of a run from its trigger over its waits and its child to its end', async () => {
    await using t = await createTestEngine({ tasks: [approve, double], storage: steadyStorage() })
    const told: string[] = []
    using _trigger = listenTo('waitpoint:run.trigger', ({ run: { taskId, parentId } }) =>
      told.push(`trigger ${taskId}${parentId === undefined ? '' : ' of a run'}`),
    )
    using _attempt = listenTo('waitpoint:attempt', (message) => told.push(line(message)))
    using _wait = listenTo('waitpoint:wait', (message) => told.push(line(message)))
    using _end = listenTo('waitpoint:run.end', ({ run: { taskId, status } }) =>
      told.push(`${taskId} ${status}`),
    )
    const run = await t.engine.trigger(approve, null)
    expect(await run.outcome()).toMatchObject({ ok: true, output: 42 })
    // A storage may tell of an end before it answers the call that has made it.
    while (!ENDS.every((end) => told.includes(end))) await new Promise(setImmediate)
    const steps = told.filter((text) => !/ (park|resume)$/.test(text))
    const ofChild = (text: string): boolean => text.startsWith('double ')
    expect(steps.filter((text) => !ofChild(text))).toEqual([
      'trigger approve',
      'approve 1 begin',
      'wait begin SLEEP WAITING',
      'wait end SLEEP COMPLETED',
      'wait begin MANUAL WAITING',
      'wait end MANUAL TIMED_OUT',
      'trigger double of a run',
      'wait begin RUN WAITING',
      'wait end RUN COMPLETED',
      'approve 1 end returned',
      'approve COMPLETED',
    ])
    expect(steps.filter(ofChild)).toEqual(['double 1 begin', 'double 1 end returned', 'double COMPLETED'])
    const parks = told.filter((text) => / (park|resume)$/.test(text))
    expect(parks.slice(0, 4)).toEqual([
      'approve 1 park',
      'approve 1 resume',
      'approve 1 park',
      'approve 1 resume',
    ])
  })

  it('name one object for one attempt and for one wait, and instants by the clock of the engine', async () => {
    await using t = await createTestEngine({ tasks: [approve, double], storage: steadyStorage() })
    const attempts: DiagnosticMessages['waitpoint:attempt'][] = []
    const waits: DiagnosticMessages['waitpoint:wait'][] = []
    using _attempt = listenTo('waitpoint:attempt', (message) => attempts.push(message))
    using _wait = listenTo('waitpoint:wait', (message) => waits.push(message))
    const startedAt = t.clock.now()
    const run = await t.engine.trigger(approve, null)
    await run.result()
    const own = attempts.filter((message) => message.run.id === run.id)
    expect(new Set(own.map(({ attempt }) => attempt)).size).toBe(1)
    expect(new Set(waits.map((message) => message.wait)).size).toBe(3)
    expect(new Set(waits.map(({ attempt }) => attempt))).toEqual(new Set(own.map(({ attempt }) => attempt)))
    const spans = [waits.slice(0, 2), waits.slice(2, 4)].map((pair) => pair.map(({ at }) => at - startedAt))
    expect(spans).toEqual([
      [0, 5_000],
      [5_000, 3_600_000],
    ])
  })

  it('tell how an attempt ended: it returned, threw, or was aborted', async () => {
    const sleepy = task({ id: 'sleepy', run: () => wait.for({ days: 1 }) })
    const flaky = task({
      id: 'flaky',
      retry: { maxAttempts: 2, minTimeoutInMs: 1_000, randomize: false },
      run: async (_payload: null, { ctx }) => {
        if (ctx.attempt.number === 1) throw new Error('busy')
        return 'well'
      },
    })
    await using t = await createTestEngine({ tasks: [sleepy, flaky], storage: steadyStorage() })
    const ends: unknown[] = []
    using _attempt = listenTo('waitpoint:attempt', (message) => {
      if (message.phase === 'end') ends.push([message.run.attempt, message.outcome, String(message.error)])
    })
    const run = await t.engine.trigger(flaky, null)
    await run.result()
    expect(ends).toEqual([
      [1, 'threw', 'Error: busy'],
      [2, 'returned', 'undefined'],
    ])
    ends.length = 0
    const asleep = await t.engine.trigger(sleepy, undefined)
    await t.clock.settle()
    await t.engine.runs.cancel(asleep.id)
    await t.clock.settle()
    expect(ends).toEqual([[1, 'aborted', expect.stringContaining('canceled')]])
  })

  it('tell that a signal dropped a wait', async () => {
    const racing = task({
      id: 'racing',
      run: async (_payload: null) => {
        const controller = new AbortController()
        const dropped = wait.forToken(await wait.createToken(), { signal: controller.signal })
        const left = dropped.then(
          () => 'settled',
          () => 'dropped',
        )
        await wait.for({ seconds: 1 })
        controller.abort()
        return left
      },
    })
    await using t = await createTestEngine({ tasks: [racing], storage: steadyStorage() })
    const told: string[] = []
    using _wait = listenTo('waitpoint:wait', (message) => told.push(line(message)))
    const run = await t.engine.trigger(racing, null)
    expect(await run.result()).toBe('dropped')
    expect(told.filter((text) => text.includes('end'))).toEqual([
      'wait end SLEEP COMPLETED',
      'wait end DROPPED',
    ])
  })

  it('tell of tokens that this engine settled, of leases and of calls of the storage', async () => {
    await using t = await createTestEngine({ tasks: [double], storage: steadyStorage() })
    const settled: unknown[] = []
    const leases: unknown[] = []
    const calls: DiagnosticMessages['waitpoint:storage'][] = []
    using _settle = listenTo('waitpoint:token.settle', ({ token: { id, status } }) =>
      settled.push([id, status]),
    )
    using _lease = listenTo('waitpoint:lease', ({ outcome }) => leases.push(outcome))
    using _storage = listenTo('waitpoint:storage', (message) => calls.push(message))
    const token = await t.engine.wait.createToken()
    await t.engine.wait.completeToken(token, 1)
    const late = await t.engine.wait.createToken({ timeout: '1m' })
    await t.clock.advance('1m')
    expect(settled).toEqual([
      [token.id, 'COMPLETED'],
      [late.id, 'TIMED_OUT'],
    ])
    expect(leases).toContain('renewed')
    const names = calls.map(({ call }) => call)
    for (const name of ['tokens.insert', 'tokens.settle', 'tick']) expect(names).toContain(name)
    expect(names).not.toContain('subscribe')
    for (const { calledAt, at } of calls) expect(at).toBeGreaterThanOrEqual(calledAt)
  })

  it('tell why a call of the storage failed, and the caller gets the error all the same', async () => {
    const storage = steadyStorage()
    const broken = {
      ...storage,
      runs: { ...storage.runs, list: () => Promise.reject(new Error('disk full')) },
    }
    await using t = await createTestEngine({ storage: broken })
    const failed: unknown[] = []
    using _storage = listenTo('waitpoint:storage', ({ call, error }) => {
      if (error instanceof Error) failed.push([call, error.message])
    })
    await expect(t.engine.runs.list()).rejects.toThrow('disk full')
    expect(failed).toEqual([['runs.list', 'disk full']])
  })

  it('let a subscriber call the function in a context of its own', async () => {
    await using t = await createTestEngine({ tasks: [double], storage: steadyStorage() })
    const order: string[] = []
    using _attempt = listenTo('waitpoint:attempt', (message) => {
      if (message.phase !== 'begin') return
      const { call } = message
      message.call = () => {
        order.push('before')
        const answer = call()
        order.push('called')
        return answer
      }
    })
    const run = await t.engine.trigger(double, 4)
    expect(await run.result()).toBe(8)
    expect(order).toEqual(['before', 'called'])
  })
})

describe('the map that a subscriber stores with a run', () => {
  it('is in the messages of its attempts, also in another process, and not in those of a replay', async () => {
    const storage = projectStorage()
    const carriers: unknown[] = []
    using _attempt = listenTo('waitpoint:attempt', (message) => {
      if (message.phase === 'begin') carriers.push(message.carrier)
    })
    let traced: string
    {
      await using t = await createTestEngine({ storage })
      using _trigger = listenTo('waitpoint:run.trigger', ({ carrier }) => {
        carrier['traceparent'] = '00-1-2-01'
      })
      // This engine does not know the task: another one executes the run.
      await using other = await createTestEngine({ tasks: [double], storage, clock: t.clock, execute: false })
      traced = (await other.engine.trigger(double, 1, { maxAttempts: 3, delay: '1m' })).id
    }
    await using t = await createTestEngine({ tasks: [double], storage })
    await t.clock.advance('2m')
    await t.engine.runs.poll(traced)
    const replay = await t.engine.runs.replay(traced)
    await t.engine.runs.poll(replay.id)
    expect(carriers).toEqual([{ traceparent: '00-1-2-01' }, undefined])
    const { optionsJson } = (await kernelOf(t.engine).host.storage.runs.get(replay.id)) ?? {}
    expect(optionsJson).toBe('{"maxAttempts":3,"isReplay":true}')
  })

  it('costs a run nothing if it is empty, and is not stored if it is long', async () => {
    await using t = await createTestEngine({ tasks: [double], storage: steadyStorage() })
    const stored = async (): Promise<unknown> => {
      const { id } = await t.engine.trigger(double, 1)
      return (await kernelOf(t.engine).host.storage.runs.get(id))?.optionsJson
    }
    let text = ''
    using _trigger = listenTo('waitpoint:run.trigger', ({ carrier }) => {
      if (text !== '') carrier['baggage'] = text
    })
    expect(await stored()).toBeUndefined()
    text = 'x'
    expect(await stored()).toBe('{"trace":{"baggage":"x"}}')
    text = 'x'.repeat(4_096)
    expect(await stored()).toBeUndefined()
  })
})
