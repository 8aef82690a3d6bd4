import { describe, expect, it } from 'vitest'
import { memoryStorage, task } from 'waitpoint'
import { ApiError } from 'waitpoint/client'
import { rejection } from '../../support/body-task.ts'
import { reachedEngine } from '../reached-engine.ts'

const mail = task({ id: 'mail', queue: { name: 'post/air %', concurrencyLimit: 3 }, run: () => undefined })
const echo = task({ id: 'echo', run: (payload: unknown) => payload })

describe('the queues of a client', () => {
  it.each(['post/air %', 'task/echo'])('change as those of the engine do: %s', async (name) => {
    await using t = await reachedEngine({ tasks: [mail, echo] })
    const [near, far] = [t.engine.queue(name), t.client.queue(name)]
    expect(far.name).toBe(name)
    expect(await far.pause()).toMatchObject({ name, isPaused: true })
    await t.engine.trigger(name === 'task/echo' ? echo : mail, undefined)
    expect(await far.retrieve()).toEqual(await near.retrieve())
    expect(await far.retrieve()).toMatchObject({ queued: 1, isPaused: true })
    expect(await far.setLimit(0)).toEqual(await near.retrieve())
    expect((await near.retrieve()).limit).toBe(0)
    expect(await far.resetLimit()).toEqual(await near.retrieve())
    expect((await near.retrieve()).limitedAt).toBeUndefined()
    expect((await far.resume()).isPaused).toBe(false)
    expect((await near.retrieve()).isPaused).toBe(false)
  })

  it('are listed, however many there are', async () => {
    await using t = await reachedEngine({ tasks: [mail, echo] })
    for (let number = 0; number < 101; number += 1) await t.engine.queue(`queue ${number}`).setLimit(number)
    const all = await t.client.queues()
    expect(all).toHaveLength(103)
    expect(all).toEqual(await t.engine.queues())
  })

  it('refuse what cannot be, before anything is sent', async () => {
    await using t = await reachedEngine({ tasks: [mail] }, { fetch: () => Promise.reject(new Error('sent')) })
    const queue = t.client.queue('mail')
    expect(() => t.client.queue('')).toThrow(TypeError)
    expect(() => t.client.queue('a%2Fb')).toThrow(RangeError)
    expect(await rejection(queue.setLimit(-1))).toBeInstanceOf(RangeError)
    expect(await rejection(queue.pause({ signl: undefined } as object))).toBeInstanceOf(TypeError)
    expect(await rejection(t.client.queues({ signl: undefined } as object))).toBeInstanceOf(TypeError)
    const reason = new Error('enough')
    expect(await rejection(queue.resume({ signal: AbortSignal.abort(reason) }))).toBe(reason)
  })

  it('reject with the error of the engine, and without a secret key', async () => {
    const { queues: _, ...storage } = memoryStorage()
    await using t = await reachedEngine({ tasks: [mail], storage })
    expect(await rejection(t.client.queue('mail').pause())).toMatchObject({ code: 'ERR_CANNOT_SET_QUEUE' })
    await using other = await reachedEngine({}, { accessToken: 'none' })
    expect(await rejection(other.client.queues())).toBeInstanceOf(ApiError)
  })
})
