import { describe, expect, it } from 'vitest'
import { createDeferred } from '../../src/primitives/deferred.ts'

describe('createDeferred', () => {
  it('is settled by the first call', async () => {
    const { promise, resolve, reject } = createDeferred<string>()
    resolve('first')
    resolve('second')
    reject(new Error('third'))
    expect(await promise).toBe('first')
  })

  it('rejects with the reason itself', async () => {
    const { promise, reject } = createDeferred<string>()
    const reason = new Error('no')
    reject(reason)
    await expect(promise).rejects.toBe(reason)
  })

  it('follows the promise it is resolved with', async () => {
    const inner = createDeferred<number>()
    const outer = createDeferred<number>()
    outer.resolve(inner.promise)
    inner.resolve(1)
    expect(await outer.promise).toBe(1)
  })
})
