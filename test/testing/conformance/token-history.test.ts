import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type TokenCall, tokenHistoryFault } from '../../../src/testing/conformance/token-history.ts'

interface Plan {
  readonly isSettle: boolean
  /** When the call takes effect; it is made a little earlier and answered a little later. */
  readonly at: number
  readonly before: number
  readonly after: number
}

/** What callers see of a token that takes their calls one after the other, whenever they are made and answered. */
function historyOf(plans: readonly Plan[]): TokenCall[] {
  let settled: string | undefined
  const inOrder = plans.map((plan, number) => ({ ...plan, number })).sort((one, other) => one.at - other.at)
  return inOrder.map(({ isSettle, at, before, after, number }) => {
    const settledNow = isSettle && settled === undefined
    if (settledNow) settled = `output ${number}`
    return { what: `call ${number}`, madeAt: at - before, answeredAt: at + after, settled, settledNow }
  })
}

const plans = fc.array(
  fc.record({
    isSettle: fc.boolean(),
    at: fc.nat(1_000),
    before: fc.nat(50),
    after: fc.integer({ min: 1, max: 50 }),
  }),
  { maxLength: 20 },
)

function call(fields: Partial<TokenCall>): TokenCall {
  return { what: 'a call', madeAt: 0, answeredAt: 1, settled: undefined, settledNow: false, ...fields }
}

describe('tokenHistoryFault', () => {
  it('finds nothing wrong with calls that took effect one after the other', () => {
    fc.assert(
      fc.property(plans, (drawn) => {
        expect(tokenHistoryFault(historyOf(drawn))).toBeUndefined()
      }),
    )
  })

  it('finds two outcomes', () => {
    const calls = [call({ settled: 'one', settledNow: true }), call({ settled: 'other' })]
    expect(tokenHistoryFault(calls)).toContain('"other"')
  })

  it('finds two winners', () => {
    const calls = [call({ settled: 'one', settledNow: true }), call({ settled: 'one', settledNow: true })]
    expect(tokenHistoryFault(calls)).toContain('both')
  })

  it('finds an outcome that was known before anybody settled it', () => {
    const early = call({ settled: 'one', answeredAt: 1 })
    const settle = call({ settled: 'one', settledNow: true, madeAt: 2, answeredAt: 3 })
    expect(tokenHistoryFault([settle, early])).toContain('knew')
  })

  it('finds a token that is open again', () => {
    const settle = call({ settled: 'one', settledNow: true, answeredAt: 3 })
    expect(tokenHistoryFault([settle, call({ what: 'a read', madeAt: 4, answeredAt: 5 })])).toContain(
      'a read',
    )
    expect(tokenHistoryFault([settle, call({ madeAt: 2, answeredAt: 5 })])).toBeUndefined()
  })
})
