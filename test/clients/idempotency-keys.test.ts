import { describe, expect, it } from 'vitest'
import { task } from 'waitpoint'
import { client, served } from './published-client.ts'

const { idempotencyKeys, tasks } = client

const mail = task({ id: 'mail', run: async () => null })

describe('the published client’s idempotencyKeys.reset', { timeout: 300_000 }, () => {
  it('frees a key that was made, and says when no run has it', async () => {
    await using _app = await served([mail])
    const idempotencyKey = await idempotencyKeys.create('order-1', { scope: 'global' })
    const first = await tasks.trigger('mail', undefined, { idempotencyKey })
    expect(await idempotencyKeys.reset('mail', idempotencyKey)).toEqual({ id: idempotencyKey })
    const second = await tasks.trigger('mail', undefined, { idempotencyKey })
    expect(second.id).not.toBe(first.id)
    expect((await tasks.trigger('mail', undefined, { idempotencyKey })).id).toBe(second.id)
    expect(await idempotencyKeys.reset('mail', 'order-1', { scope: 'global' })).toEqual({
      id: idempotencyKey,
    })
    await expect(idempotencyKeys.reset('mail', idempotencyKey)).rejects.toBeInstanceOf(client.NotFoundError)
    await expect(idempotencyKeys.reset('none', idempotencyKey)).rejects.toBeInstanceOf(client.NotFoundError)
  })
})
