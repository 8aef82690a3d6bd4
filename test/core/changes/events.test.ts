import { describe, expect, it } from 'vitest'
import { type EngineErrorEvent, type Run, task, wait } from 'waitpoint'
import { createTestEngine, type TestEngine, testClock } from 'waitpoint/testing'
import { projectStorage } from '../../support/abandon.ts'
import { bodyTask } from '../../support/body-task.ts'
import { steeredStorage } from '../../support/steered-storage.ts'
import { turn, until } from '../../support/turn.ts'

const manual = { clock: { mode: 'manual' } } as const

describe('engine.on', () => {
  it('are of runs and tokens, in the order of the changes', async () => {
    const seen: string[] = []
    const only = bodyTask(async ({ wait }) => {
      const token = await wait.createToken()
      await wait.forToken(token)
    })
    await using t = await createTestEngine({ tasks: [only], ...manual })
    t.engine.on('run', ({ status }) => seen.push(`run ${status}`))
    t.engine.on('token', ({ status }) => seen.push(`token ${status}`))
    await t.engine.trigger(only, null)
    await t.clock.settle()
    const { data } = await t.engine.wait.listTokens()
    await t.engine.wait.completeToken(data[0]!, null)
    await t.clock.settle()
    expect(seen).toEqual([
      'run QUEUED',
      'run EXECUTING',
      'token WAITING',
      'run WAITING',
      'token COMPLETED',
      'run EXECUTING',
      'run COMPLETED',
    ])
  })

  it('calls listeners in a microtask of their own, never inside the call that made the event', async () => {
    await using t = await createTestEngine(manual)
    const seen: string[] = []
    t.engine.on('token', () => seen.push('listener'))
    const creating = t.engine.wait.createToken()
    seen.push('called')
    await creating
    await t.clock.settle()
    expect(seen).toEqual(['called', 'listener'])
  })

  it('does not let a listener that throws or rejects stop the others, and reports it', async () => {
    const seen: string[] = []
    const errors: unknown[] = []
    const only = bodyTask(() => 'done')
    await using t = await createTestEngine({ tasks: [only] })
    t.engine.on('run', () => {
      throw new Error('listener threw')
    })
    t.engine.on('run', () => Promise.reject<void>(new Error('listener rejected')) as unknown as void)
    t.engine.on('run', ({ status }) => seen.push(status))
    t.engine.on('error', ({ error }) => errors.push((error as Error).message))
    expect(await (await t.engine.trigger(only, null)).result()).toBe('done')
    await t.clock.settle()
    expect(seen).toEqual(['QUEUED', 'EXECUTING', 'COMPLETED'])
    expect(errors.sort()).toEqual([
      ...Array.from({ length: 3 }, () => 'listener rejected'),
      ...Array.from({ length: 3 }, () => 'listener threw'),
    ])
  })

  it('survives a listener of errors that throws, or none', async () => {
    const unhandled: unknown[] = []
    const collect = (reason: unknown): void => void unhandled.push(reason)
    process.on('unhandledRejection', collect)
    const told: EngineErrorEvent[] = []
    await using t = await createTestEngine(manual)
    const dispose = t.engine.on('token', () => {
      throw new Error('first')
    })
    await t.engine.wait.createToken()
    await t.clock.settle()
    t.engine.on('error', () => {
      throw new Error('second')
    })
    t.engine.on('error', () => Promise.reject<void>(new Error('third')) as unknown as void)
    t.engine.on('error', (event) => told.push(event))
    await t.engine.wait.createToken()
    await t.clock.settle()
    dispose()
    await t.engine.wait.createToken()
    await t.clock.settle()
    process.off('unhandledRejection', collect)
    expect(told.map(({ error }) => (error as Error).message)).toEqual(['first'])
    expect(unhandled).toEqual([])
  })

  it('stops with what it answers, any number of times, and for that listener only', async () => {
    await using t = await createTestEngine(manual)
    let calls = 0
    const listener = (): void => void (calls += 1)
    const [stopOne, stopOther] = [t.engine.on('token', listener), t.engine.on('token', listener)]
    await t.engine.wait.createToken()
    await t.clock.settle()
    expect(calls).toBe(2)
    stopOne()
    stopOne()
    await t.engine.wait.createToken()
    await t.clock.settle()
    expect(calls).toBe(3)
    stopOther()
    await t.engine.wait.createToken()
    await t.clock.settle()
    expect(calls).toBe(3)
  })

  it('gives snapshots: an event shows what was, not what is', async () => {
    const runs: Run[] = []
    const only = bodyTask(({ wait }) => wait.for({ seconds: 1 }))
    await using t = await createTestEngine({ tasks: [only] })
    t.engine.on('run', (run) => runs.push(run))
    await (await t.engine.trigger(only, null)).result()
    await t.clock.settle()
    expect(runs.map(({ status, attemptCount }) => [status, attemptCount])).toEqual([
      ['QUEUED', 0],
      ['EXECUTING', 1],
      ['WAITING', 1],
      ['EXECUTING', 1],
      ['COMPLETED', 1],
    ])
  })

  it('tells a listener nothing after close(), also when the answer to a write comes later', async () => {
    const seen: string[] = []
    const only = bodyTask(() => 'done')
    const steered = steeredStorage(projectStorage())
    const t = await createTestEngine({ tasks: [only], storage: steered.storage, ...manual })
    const ended = steered.holdAnswer('runs.update')
    await t.engine.trigger(only, null)
    await until(() => steered.calls.includes('runs.update'))
    const created = steered.holdAnswer('runs.insert')
    const late = t.engine.trigger(only, null).catch(() => undefined)
    await until(() => steered.calls.filter((name) => name === 'runs.insert').length === 2)
    await t.engine.close()
    t.engine.on('run', ({ status }) => seen.push(status))
    t.engine.on('error', ({ error }) => seen.push(String(error)))
    ended()
    created()
    await late
    await turn()
    expect(seen).toEqual([])
  })

  it('tells a listener nothing after close(), whatever is still under way', async () => {
    const seen: string[] = []
    const only = bodyTask(({ wait }) => wait.for({ hours: 1 }))
    const t = await createTestEngine({ tasks: [only], ...manual })
    await t.engine.trigger(only, null)
    await t.clock.settle()
    t.engine.on('run', ({ status }) => seen.push(status))
    t.engine.on('error', ({ error }) => seen.push(String(error)))
    await t.close()
    await t.clock.advance('2h')
    expect(seen).toEqual([])
  })
})

describe('the token event', () => {
  /** Whatever meets a token past its deadline, and settles it by that, before a tick does. */
  const meetings: readonly (readonly [string, (t: TestEngine, id: string) => unknown])[] = [
    ['is retrieved', (t, id) => t.engine.wait.retrieveToken(id)],
    ['is listed', (t) => t.engine.wait.listTokens()],
    ['is left out of a list of waiting ones', (t) => t.engine.wait.listTokens({ status: 'WAITING' })],
    ['is completed too late', (t, id) => t.engine.wait.completeToken(id)],
    ['is waited for', async (t, id) => (await t.engine.trigger(asking, id)).result()],
    ['is bound to a key', async (t, id) => (await t.engine.trigger(binding, id)).result()],
  ]
  const asking = task({ id: 'asking', run: async (id: string) => (await wait.forToken(id)).ok })
  const binding = task({
    id: 'binding',
    run: async (id: string) => (await wait.forToken(id, { idempotencyKey: 'key' })).ok,
  })

  it.each(meetings)('comes once for a token that %s past its deadline', async (_name, meet) => {
    const steered = steeredStorage(projectStorage())
    const tasks = [asking, binding]
    await using t = await createTestEngine({ tasks, storage: steered.storage, clock: { mode: 'manual' } })
    const seen: string[] = []
    t.engine.on('token', ({ id, status }) => void seen.push(`${id} ${status}`))
    const { id } = await t.engine.wait.createToken({ timeout: 5_000 })
    await t.clock.settle()
    steered.fail('tick', 3)
    await t.clock.advance(6_000)
    expect(seen).toEqual([`${id} WAITING`])
    await Promise.all([meet(t, id), meet(t, id)])
    await t.clock.settle()
    expect(seen).toEqual([`${id} WAITING`, `${id} TIMED_OUT`])
    await t.clock.advance('1m')
    await meet(t, id)
    await t.clock.settle()
    expect(seen).toHaveLength(2)
  })

  it('comes at the engine that settled a token, and at no other one', async () => {
    const storage = projectStorage()
    const clock = testClock({ mode: 'manual' })
    await using a = await createTestEngine({ storage, clock, seed: 'a' })
    await using b = await createTestEngine({ storage, clock, seed: 'b' })
    const seen: string[] = []
    for (const [name, { engine }] of Object.entries({ a, b })) {
      engine.on('token', ({ id, status }) => {
        if (status !== 'WAITING') seen.push(`${name} ${id}`)
      })
    }
    const [one, two] = [await a.engine.wait.createToken(), await a.engine.wait.createToken({ timeout: '1m' })]
    await b.engine.wait.completeToken(one)
    await clock.settle()
    expect(seen).toEqual([`b ${one.id}`])
    await clock.advance('2m')
    expect(seen.slice(1).map((line) => line.slice(2))).toEqual([two.id])
  })
})
