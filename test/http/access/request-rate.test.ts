import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Refusal } from '../../../src/http/refusal.ts'
import { RequestRate } from '../../../src/http/access/request-rate.ts'

/** What a request is answered: nothing, or the refusal. */
function ask(rate: RequestRate, credential: string): Refusal | undefined {
  try {
    rate.count(credential)
    return undefined
  } catch (refusal) {
    if (refusal instanceof Refusal) return refusal
    throw refusal
  }
}

describe('RequestRate', () => {
  it('lets through at most twice the limit in any period, and the limit in every one', () => {
    const limit = fc.record({
      requests: fc.integer({ min: 1, max: 20 }),
      perMs: fc.integer({ min: 1, max: 5_000 }),
    })
    const pauses = fc.array(fc.nat(400), { minLength: 1, maxLength: 200 })
    fc.assert(
      fc.property(limit, pauses, ({ requests, perMs }, gaps) => {
        let now = 1_000_000
        const rate = new RequestRate({ requests, perMs }, () => now)
        const passed: number[] = []
        for (const gap of gaps) {
          now += gap
          if (ask(rate, 'a') === undefined) passed.push(now)
        }
        for (const start of passed) {
          const within = passed.filter((at) => at >= start && at < start + perMs)
          expect(within.length).toBeLessThanOrEqual(2 * requests)
        }
        // A caller that returns at the stated time is admitted.
        const refusal = ask(rate, 'a')
        if (refusal !== undefined) now = Number(refusal.headers['x-ratelimit-reset'])
        expect(refusal === undefined ? undefined : ask(rate, 'a')).toBeUndefined()
      }),
    )
  })

  it('takes as many at once as the limit has, and says when the next one may come', () => {
    let now = 10_000
    const rate = new RequestRate({ requests: 3, perMs: 6_000 }, () => now)
    expect([1, 2, 3].map(() => ask(rate, 'a'))).toEqual([undefined, undefined, undefined])
    expect(ask(rate, 'a')).toMatchObject({
      status: 429,
      message: 'Too many requests',
      headers: { 'retry-after': '2', 'x-ratelimit-reset': '12000' },
    })
    now = 11_999
    expect(ask(rate, 'a')?.status).toBe(429)
    now = 12_000
    expect(ask(rate, 'a')).toBeUndefined()
    expect(ask(rate, 'a')?.status).toBe(429)
  })

  it('counts every credential on its own', () => {
    const rate = new RequestRate({ requests: 1, perMs: 1_000 }, () => 0)
    const many = Array.from({ length: 5_000 }, (_, index) => `${index}`)
    expect(many.filter((credential) => ask(rate, credential) !== undefined)).toEqual([])
    expect(many.filter((credential) => ask(rate, credential) === undefined)).toEqual([])
  })

  it('makes no caller wait longer than a period when the clock is set back', () => {
    let now = 1_000_000
    const rate = new RequestRate({ requests: 1, perMs: 1_000 }, () => now)
    rate.count('a')
    now = 0
    expect(ask(rate, 'a')?.headers['x-ratelimit-reset']).toBe('1000')
    now = 1_000
    expect(ask(rate, 'a')).toBeUndefined()
  })
})
