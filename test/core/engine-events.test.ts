import { describe, expect, it } from 'vitest'
import type { EngineErrorEvent, Run } from 'waitpoint'
import { createTestEngine } from 'waitpoint/testing'
import { bodyTask } from '../support/body-task.ts'

const manual = { clock: { mode: 'manual' } } as const

describe('engine.on', () => {
  it('tells of runs and tokens in the order of what happened', async () => {
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

  it('calls listeners in a microtask of their own, never inside the call that made the news', async () => {
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
