import { describe, expect, it } from 'vitest'
import { task } from '../../src/core/define-task.ts'
import { createTestEngine } from '../../src/testing/create-test-engine.ts'

const charge = task({
  id: 'charge',
  run: async (payload: { cents: number }): Promise<string> => {
    throw new Error(`no network for ${payload.cents}`)
  },
})

const order = task({
  id: 'order',
  run: async (payload: { cents: number }) => charge.triggerAndWait(payload).unwrap(),
})

const tasks = [charge, order]

describe('t.mock', () => {
  it('replaces what a child task does', async () => {
    await using t = await createTestEngine({ tasks })
    t.mock(charge, ({ cents }) => `charged ${cents}`)
    const run = await t.engine.trigger(order, { cents: 5 })
    expect(await run.result()).toBe('charged 5')
  })

  it('may wait and sleep like a task', async () => {
    await using t = await createTestEngine({ tasks })
    t.mock(charge, async (_payload, { wait }) => {
      await wait.for({ hours: 1 })
      await t.clock.sleep('1h')
      return 'late'
    })
    const run = await t.engine.trigger(order, { cents: 5 })
    expect(await run.result()).toBe('late')
    expect(t.clock.now()).toBe(Date.UTC(2000, 0, 1, 2))
  })

  it('ends when what it answers is called, unless there is a newer one', async () => {
    await using t = await createTestEngine({ tasks })
    const first = t.mock(charge, () => 'first')
    const second = t.mock(charge, () => 'second')
    first()
    expect(await (await t.engine.trigger(charge, { cents: 1 })).result()).toBe('second')
    second()
    await expect((await t.engine.trigger(charge, { cents: 1 })).result()).rejects.toThrow('no network for 1')
  })

  it('concerns one engine only', async () => {
    await using t = await createTestEngine({ tasks })
    await using other = await createTestEngine({ tasks })
    t.mock(charge, () => 'mocked')
    const run = await other.engine.trigger(charge, { cents: 1 })
    expect(await run.outcome()).toMatchObject({ ok: false })
    expect(t.calls(charge)).toEqual([])
  })

  it('refuses a task that the engine does not know', async () => {
    await using t = await createTestEngine({ tasks: [order] })
    expect(() => t.mock(charge, () => 'x')).toThrow(
      expect.objectContaining({ code: 'ERR_TASK_NOT_FOUND' }) as Error,
    )
  })
})

describe('t.calls', () => {
  it('lists every call with its payload, its attempt and what came of it', async () => {
    await using t = await createTestEngine({ tasks })
    let isDown = true
    t.mock(charge, ({ cents }) => {
      if (!isDown) return `charged ${cents}`
      isDown = false
      throw new Error('down')
    })
    const run = await t.engine.trigger(charge, { cents: 5 }, { maxAttempts: 2 })
    await run.result()
    const call = { runId: run.id, payload: { cents: 5 } }
    expect(t.calls(charge)).toEqual([
      { ...call, attempt: 1, outcome: { ok: false, error: new Error('down') } },
      { ...call, attempt: 2, outcome: { ok: true, output: 'charged 5' } },
    ])
  })

  it('lists a call that is under way without an outcome', async () => {
    await using t = await createTestEngine({ tasks, clock: { mode: 'manual' } })
    t.mock(charge, async (_payload, { wait }) => wait.for({ hours: 1 }).then(() => 'x'))
    const run = await t.engine.trigger(charge, { cents: 5 })
    await t.clock.settle()
    expect(t.calls(charge)).toEqual([{ runId: run.id, attempt: 1, payload: { cents: 5 } }])
    await t.clock.advance('1h')
    expect(t.calls(charge)).toMatchObject([{ outcome: { ok: true, output: 'x' } }])
  })
})
