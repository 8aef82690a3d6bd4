import { describe, expect, it } from 'vitest'
import { WaitpointError } from 'waitpoint'
import { refusingWrongInput } from '../../../src/http/requests/wrong-input.ts'

describe('refusingWrongInput', () => {
  it('answers what is answered', async () => {
    expect(await refusingWrongInput(async () => 1)).toBe(1)
  })

  it.each([
    new TypeError('Cannot use tags 5: it must be a list'),
    new RangeError('Cannot read timeout "soon"'),
  ])('makes a refusal of what is wrong with the input: %s', async (cause) => {
    const refusal = { status: 400, message: cause.message, cause }
    await expect(refusingWrongInput(() => Promise.reject(cause))).rejects.toMatchObject(refusal)
  })

  it('passes on everything else, faults of ours too', async () => {
    const faults: Error[] = [
      new Error('Cannot use it'),
      new WaitpointError('ERR_ENGINE_CLOSED', 'Cannot use it'),
    ]
    for (const fault of [
      () => (undefined as unknown as { readonly a: number }).a,
      () => new Date(Number.NaN).toISOString(),
      () => Object.assign(Object.freeze({ a: 1 }), { a: 2 }),
    ]) {
      try {
        fault()
      } catch (error) {
        faults.push(error as Error)
      }
    }
    expect(faults).toHaveLength(5)
    for (const fault of faults)
      await expect(refusingWrongInput(() => Promise.reject(fault))).rejects.toBe(fault)
  })
})
