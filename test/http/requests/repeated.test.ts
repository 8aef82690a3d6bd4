import { describe, expect, it } from 'vitest'
import { RepeatedRequests } from '../../../src/http/requests/repeated.ts'

describe('RepeatedRequests', () => {
  it('answers the second as the first, also while that one is still served', async () => {
    const requests = new RepeatedRequests<number>()
    let served = 0
    const serve = (name: string | undefined, whose = 'a'): Promise<number> =>
      requests.serve(whose, name, async () => ++served)
    expect(await Promise.all([serve('x'), serve('x'), serve('y')])).toEqual([1, 1, 2])
    expect(await serve('x')).toBe(1)
    expect(await serve('x', 'b')).toBe(3)
  })

  it.each([undefined, '', 'x'.repeat(129)])('serves each that has no name to go by', async (name) => {
    const requests = new RepeatedRequests<number>()
    let served = 0
    await requests.serve('a', name, async () => ++served)
    expect(await requests.serve('a', name, async () => ++served)).toBe(2)
  })

  it('serves one again that failed', async () => {
    const requests = new RepeatedRequests<number>()
    const failure = new Error('no luck')
    await expect(requests.serve('a', 'x', () => Promise.reject(failure))).rejects.toBe(failure)
    expect(await requests.serve('a', 'x', async () => 1)).toBe(1)
  })

  it('forgets the oldest of more than a thousand', async () => {
    const requests = new RepeatedRequests<number>()
    let served = 0
    for (let index = 0; index < 1_001; index++) await requests.serve('a', `${index}`, async () => ++served)
    expect(await requests.serve('a', '1', async () => ++served)).toBe(2)
    expect(await requests.serve('a', '0', async () => ++served)).toBe(1_002)
  })
})
