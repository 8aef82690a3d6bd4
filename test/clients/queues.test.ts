import { describe, expect, it } from 'vitest'
import { task } from 'waitpoint'
import { client, served } from './published-client.ts'

const { queues } = client

const mail = task({ id: 'mail', queue: { name: 'post/air', concurrencyLimit: 3 }, run: async () => null })
const echo = task({ id: 'echo', run: async () => null })
const POST = { type: 'custom', name: 'post/air' } as const

describe('the published client’s queues', { timeout: 300_000 }, () => {
  it('are paused and resumed', async () => {
    await using app = await served([mail, echo])
    expect(await queues.pause(POST)).toMatchObject({ name: 'post/air', type: 'custom', paused: true })
    expect((await app.engine.queue('post/air').retrieve()).isPaused).toBe(true)
    const run = await app.engine.trigger(mail, undefined)
    expect(await queues.retrieve('post/air')).toMatchObject({ queued: 1, running: 0, paused: true })
    expect((await queues.resume('post/air')).paused).toBe(false)
    await run.result()
    expect(await queues.pause({ type: 'task', name: 'echo' })).toMatchObject({
      id: 'task/echo',
      name: 'echo',
    })
    expect((await app.engine.queue('task/echo').retrieve()).isPaused).toBe(true)
  })

  it('get a limit, and lose it', async () => {
    await using app = await served([mail])
    const overridden = await queues.overrideConcurrencyLimit(POST, 7)
    const { limitedAt } = await app.engine.queue('post/air').retrieve()
    expect(overridden).toMatchObject({
      concurrencyLimit: 7,
      concurrency: { current: 7, base: 3, override: 7, overriddenAt: limitedAt, overriddenBy: null },
    })
    expect(await queues.resetConcurrencyLimit(POST)).toMatchObject({
      concurrencyLimit: 3,
      concurrency: { current: 3, override: null, overriddenAt: null },
    })
  })

  it('are listed', async () => {
    await using app = await served([mail, echo])
    await app.engine.queue('set').setLimit(1)
    const page = await queues.list({ page: 1, perPage: 2 })
    expect([page.data.length, page.hasNextPage()]).toEqual([2, true])
    const all: unknown[] = []
    for await (const { id } of queues.list({ perPage: 2 })) all.push(id)
    expect(all).toEqual(['post/air', 'set', 'task/echo'])
  })

  it('say why they cannot be changed', async () => {
    await using _app = await served([mail])
    await expect(queues.overrideConcurrencyLimit(POST, -1)).rejects.toBeInstanceOf(client.BadRequestError)
  })
})
