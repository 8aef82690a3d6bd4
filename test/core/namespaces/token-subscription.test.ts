import { describe, expect, it } from 'vitest'
import { type Token, wait } from 'waitpoint'
import { createTestEngine, testClock, type TestEngine } from 'waitpoint/testing'
import { kernelOf } from '../../../src/core/engine.ts'
import { projectStorage } from '../../support/abandon.ts'
import { bodyTask, rejection } from '../../support/body-task.ts'

const manual = { clock: { mode: 'manual' } } as const

/** A subscriber that asks for one list after the other. */
function subscriber(
  t: TestEngine,
  params = {},
): { readonly next: () => Promise<readonly string[] | 'over'>; readonly leave: () => Promise<unknown> } {
  const lists = t.engine.wait.subscribeToTokens(params)[Symbol.asyncIterator]()
  return {
    next: async () => {
      const step = (await lists.next()) as IteratorResult<readonly Token[], undefined>
      return step.done === true ? 'over' : step.value.map(({ id }) => id)
    },
    leave: async () => lists.return?.(),
  }
}

describe('subscribeToTokens', () => {
  it('lists what waits, and lists it anew whenever that is something else', async () => {
    await using t = await createTestEngine(manual)
    const tokens = t.engine.wait
    const first = await tokens.createToken({ tags: ['review'] })
    const { next, leave } = subscriber(t, { tags: ['review', 'urgent'] })
    expect(await next()).toEqual([first.id])
    await tokens.createToken({ tags: ['other'] })
    const created = next()
    const second = await tokens.createToken({ tags: ['urgent'], timeout: '1m' })
    expect(await created).toEqual([second.id, first.id])
    const completed = next()
    await tokens.completeToken(first)
    expect(await completed).toEqual([second.id])
    const timedOut = next()
    await t.clock.advance('2m')
    expect(await timedOut).toEqual([])
    await leave()
  })

  it('tells several changes in one list, and misses none', async () => {
    await using t = await createTestEngine(manual)
    const { next, leave } = subscriber(t, { limit: 2 })
    expect(await next()).toEqual([])
    const ids: string[] = []
    for (let at = 0; at < 3; at++) ids.unshift((await t.engine.wait.createToken()).id)
    await t.clock.settle()
    expect(await next()).toEqual(ids.slice(0, 2))
    await leave()
  })

  it('finds what runs of another process wait for within a fifth of a second', async () => {
    const [clock, storage] = [testClock({ mode: 'manual' }), projectStorage()]
    const ask = bodyTask(async () => wait.forToken(await wait.createToken({ timeout: '1h' })))
    await using t = await createTestEngine({ tasks: [], clock, storage })
    await using worker = await createTestEngine({ tasks: [ask], clock, storage })
    const { next, leave } = subscriber(t)
    expect(await next()).toEqual([])
    for (const wanted of [1, 2, 3]) {
      const found = next()
      await worker.engine.trigger(ask, null)
      await clock.advance('200ms')
      expect(await found).toHaveLength(wanted)
    }
    const answered = next()
    await worker.complete((await worker.engine.wait.listTokens()).data[0]!)
    await clock.advance('200ms')
    expect(await answered).toHaveLength(2)
    await leave()
  })

  it('finds what another process does to tokens of no run within a fifth of a second', async () => {
    const [clock, storage] = [testClock({ mode: 'manual' }), projectStorage()]
    await using t = await createTestEngine({ clock, storage })
    await using other = await createTestEngine({ clock, storage })
    const { next, leave } = subscriber(t)
    expect(await next()).toEqual([])
    const created = next()
    const { id } = await other.engine.wait.createToken()
    await clock.advance('200ms')
    expect(await created).toEqual([id])
    const completed = next()
    await other.engine.wait.completeToken(id)
    await clock.advance('200ms')
    expect(await completed).toEqual([])
    await leave()
  })

  it('finds it within ten seconds where the storage tells nothing of it', async () => {
    const clock = testClock({ mode: 'manual' })
    const storage = { ...projectStorage(), subscribe: () => () => undefined }
    await using t = await createTestEngine({ clock, storage })
    await using other = await createTestEngine({ clock, storage })
    const { next, leave } = subscriber(t)
    expect(await next()).toEqual([])
    const { id } = await other.engine.wait.createToken()
    const found = next()
    await clock.advance('10s')
    expect(await found).toEqual([id])
    await leave()
  })

  it('costs nothing before it is read and after its reader has left', async () => {
    await using t = await createTestEngine(manual)
    const { watchers, events } = kernelOf(t.engine)
    let listeners = 0
    const on = events.on.bind(events)
    events.on = (...listening) => {
      const off = on(...listening)
      listeners += 1
      return () => {
        listeners -= 1
        off()
      }
    }
    const timers = (): number =>
      t.clock.pending().filter(({ label }) => label === 'tokens that are followed').length
    const { next, leave } = subscriber(t)
    expect([watchers.size, listeners, timers()]).toEqual([0, 0, 0])
    await next()
    const never = next()
    await t.clock.settle()
    expect([watchers.size, listeners, timers()]).toEqual([1, 1, 1])
    await leave()
    expect(await never).toBe('over')
    expect([watchers.size, listeners, timers()]).toEqual([0, 0, 0])
    await t.engine.wait.createToken()
    expect(await next()).toBe('over')
  })

  it('ends with the engine, and leaves no timer', async () => {
    const t = await createTestEngine(manual)
    const { next } = subscriber(t)
    await next()
    const pending = rejection(next())
    await t.clock.settle()
    await t.engine.close()
    expect(await pending).toMatchObject({ code: 'ERR_ENGINE_CLOSED' })
    expect(t.clock.pending()).toEqual([])
    await t.close()
  })

  it('refuses options that cannot be used', async () => {
    await using t = await createTestEngine(manual)
    for (const params of [{ tagged: 'review' }, { limit: 0 }, { tags: [1] }]) {
      const error = await rejection(subscriber(t, params).next())
      expect(error instanceof TypeError || error instanceof RangeError, String(error)).toBe(true)
    }
  })
})

describe('subscribeToToken', () => {
  it('shows a token, each change of its deadline and approvers, and last who answered', async () => {
    await using t = await createTestEngine(manual)
    const { wait: tokens } = t.engine
    const { id } = await tokens.createToken({ message: 'Ship it?', approvers: ['ann'], timeout: '1h' })
    const states = tokens.subscribeToToken<boolean>(id)[Symbol.asyncIterator]()
    const next = async (): Promise<unknown> => {
      const step = (await states.next()) as IteratorResult<Token, undefined>
      if (step.done === true) return 'over'
      const { status, timeoutAt, question } = step.value
      return [status, +timeoutAt - t.clock.now(), question?.approvers]
    }
    expect(await next()).toEqual(['WAITING', 3_600_000, ['ann']])
    const extended = next()
    await tokens.extendToken(id, '2h')
    expect(await extended).toEqual(['WAITING', 7_200_000, ['ann']])
    const reassigned = next()
    await tokens.createToken()
    await tokens.reassignToken(id, ['bob'])
    expect(await reassigned).toEqual(['WAITING', 7_200_000, ['bob']])
    const answered = states.next()
    await tokens.completeToken(id, true, { by: { id: 'bob' } })
    expect((await answered).value).toMatchObject({
      status: 'COMPLETED',
      output: true,
      answeredBy: { id: 'bob' },
    })
    expect(await next()).toBe('over')
  })

  it('shows that a token has timed out, whether or not a run waits for it', async () => {
    await using t = await createTestEngine(manual)
    const { id } = await t.engine.wait.createToken({ timeout: '1m' })
    const states = t.engine.wait.subscribeToToken(id)[Symbol.asyncIterator]()
    await states.next()
    const ended = states.next()
    await t.clock.advance('2m')
    expect((await ended).value).toMatchObject({ status: 'TIMED_OUT' })
    await states.return?.()
  })

  it('finds what another process does to a token of no run within a fifth of a second', async () => {
    const [clock, storage] = [testClock({ mode: 'manual' }), projectStorage()]
    await using t = await createTestEngine({ clock, storage })
    await using other = await createTestEngine({ clock, storage })
    const { id } = await other.engine.wait.createToken()
    const states = t.engine.wait.subscribeToToken(id)[Symbol.asyncIterator]()
    await states.next()
    const ended = states.next()
    await other.engine.wait.completeToken(id, 'yes')
    await clock.advance('200ms')
    expect((await ended).value).toMatchObject({ status: 'COMPLETED', output: 'yes' })
    await states.return?.()
  })

  it('refuses what is no token, and throws for one that does not exist', async () => {
    await using t = await createTestEngine()
    // @ts-expect-error A number is no token.
    expect(() => t.engine.wait.subscribeToToken(5)).toThrow(TypeError)
    const missing = t.engine.wait.subscribeToToken('waitpoint_none')[Symbol.asyncIterator]()
    expect(await rejection(missing.next())).toMatchObject({ code: 'ERR_TOKEN_NOT_FOUND' })
  })
})
