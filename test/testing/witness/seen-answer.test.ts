import { describe, expect, it } from 'vitest'
import { createDeferred } from '../../../src/primitives/deferred.ts'
import { seen } from '../../../src/testing/witness/seen-answer.ts'

describe('seen', () => {
  it('looks at an answer that is there at once, and hands it on', () => {
    const log: unknown[] = []
    expect(seen('answer', (answer) => void log.push(answer))).toBe('answer')
    expect(log).toEqual(['answer'])
  })

  it('returns the very same promise, and looks before the caller does', async () => {
    const log: string[] = []
    const { promise, resolve } = createDeferred<string>()
    const answer = seen(promise, () => void log.push('looked'))
    expect(answer).toBe(promise)
    const asked = promise.then(() => void log.push('asked'))
    resolve('answer')
    await asked
    expect(log).toEqual(['looked', 'asked'])
  })

  it('leaves a failure to the caller', async () => {
    const { promise, reject } = createDeferred<string>()
    const answer = seen(promise, () => expect.unreachable())
    reject(new Error('storage is down'))
    await expect(answer).rejects.toThrow('storage is down')
  })
})
