import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkTokenHistory, type TokenOperation } from '../../../src/testing/exploration/token-history.ts'
import { isSameState, tokenAfter, type TokenState } from '../../../src/testing/exploration/token-model.ts'

const TIMEOUT_AT = 3

/** Whether any order explains a history: all of them are tried. What nobody answered may have happened or not. */
function isExplained(
  operations: readonly TokenOperation[],
  state: TokenState = { status: 'WAITING' },
): boolean {
  if (operations.every(({ reply }) => reply === undefined)) return true
  const firstAnswer = Math.min(...operations.map(({ reply }) => reply?.answeredAt ?? Infinity))
  return operations.some((operation, index) => {
    // What was answered before this was called must come first.
    if (operation.calledAt > firstAnswer) return false
    const after = tokenAfter(state, operation, TIMEOUT_AT)
    const { reply } = operation
    if (reply !== undefined && !(isSameState(after.state, reply.seen) && after.won === reply.won))
      return false
    return isExplained(operations.toSpliced(index, 1), after.state)
  })
}

const outputs = fc.constantFrom('1', '2')
const states: fc.Arbitrary<TokenState> = fc.oneof(
  fc.constantFrom<TokenState>({ status: 'WAITING' }, { status: 'TIMED_OUT' }),
  outputs.map((outputJson) => ({ status: 'COMPLETED' as const, outputJson })),
)

/** Histories that overlap, of a token that may be broken. */
const histories: fc.Arbitrary<TokenOperation[]> = fc
  .array(
    fc.record({
      kind: fc.constantFrom('look' as const, 'complete' as const),
      outputJson: outputs,
      now: fc.integer({ min: 0, max: 5 }),
      calledAt: fc.integer({ min: 0, max: 8 }),
      lasts: fc.integer({ min: 1, max: 4 }),
      seen: states,
      won: fc.boolean(),
      isAnswered: fc.boolean(),
    }),
    { maxLength: 5 },
  )
  .map((drafts) =>
    drafts.map(({ lasts, seen, won, isAnswered, calledAt, ...action }, index) => {
      // No two things happen at once.
      const operation = { ...action, calledAt: calledAt + index / 100 }
      const answeredAt = calledAt + lasts + index / 100
      return isAnswered ? { ...operation, reply: { answeredAt, seen, won } } : operation
    }),
  )

/** Histories of a token that is right: every operation takes effect somewhere between its call and its answer. */
const rightHistories: fc.Arbitrary<TokenOperation[]> = histories.map((operations) => {
  let state: TokenState = { status: 'WAITING' }
  return operations
    .toSorted((one, other) => one.calledAt - other.calledAt)
    .map((operation) => {
      const after = tokenAfter(state, operation, TIMEOUT_AT)
      if (operation.reply !== undefined || operation.now % 2 === 0) state = after.state
      if (operation.reply === undefined) return operation
      return { ...operation, reply: { ...operation.reply, seen: after.state, won: after.won } }
    })
})

describe('checkTokenHistory', () => {
  it('finds something wrong exactly when no order explains what was answered', () => {
    fc.assert(
      fc.property(histories, (operations) => {
        expect(checkTokenHistory(operations, TIMEOUT_AT) === undefined).toBe(isExplained(operations))
      }),
      { numRuns: 3_000 },
    )
  })

  it('finds nothing wrong with a token that is right', () => {
    fc.assert(
      fc.property(rightHistories, (operations) => {
        expect(checkTokenHistory(operations, TIMEOUT_AT)).toBeUndefined()
      }),
      { numRuns: 1_000 },
    )
  })

  it('says which law is broken', () => {
    const won = { kind: 'complete', outputJson: '1', now: 0, calledAt: 0 } as const
    const seen = { status: 'COMPLETED', outputJson: '1' } as const
    const first = { ...won, reply: { answeredAt: 1, seen, won: true } }
    expect(checkTokenHistory([first, { ...first, calledAt: 2 }], TIMEOUT_AT)).toMatchObject({
      invariant: 'single assignment',
    })
    const late = { kind: 'look', now: 1, calledAt: 2 } as const
    const waiting = { answeredAt: 3, seen: { status: 'WAITING' }, won: false } as const
    expect(checkTokenHistory([first, { ...late, reply: waiting }], TIMEOUT_AT)).toEqual({
      invariant: 'tokens are linearizable',
      message: 'it was found waiting after it had been seen as COMPLETED with 1',
    })
  })
})

describe('tokenAfter', () => {
  it('never changes what is settled, and settles at the deadline whatever is done', () => {
    fc.assert(
      fc.property(histories, (operations) => {
        let state: TokenState = { status: 'WAITING' }
        for (const operation of operations) {
          const after = tokenAfter(state, operation, TIMEOUT_AT)
          if (state.status !== 'WAITING') expect(after.state).toBe(state)
          if (operation.now >= TIMEOUT_AT) expect(after.state.status).not.toBe('WAITING')
          expect(after.won && operation.kind === 'look').toBe(false)
          state = after.state
        }
      }),
    )
  })
})
