import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  checkTokenHistory,
  type TokenOperation,
  type TokenReply,
} from '../../../src/testing/conformance/token-history.ts'
import {
  isSameState,
  tokenAfter,
  type TokenState,
  type TokenStep,
} from '../../../src/testing/conformance/token-model.ts'

const TIMEOUT_AT = 3

/** Whether any order explains a history: all of them are tried. A call without an answer may have taken effect or not. */
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
    if (reply !== undefined && !isTold(reply, after)) return false
    return isExplained(operations.toSpliced(index, 1), after.state)
  })
}

function isTold(reply: TokenReply, { state, won, settledNow }: TokenStep): boolean {
  return isSameState(state, reply.seen) && won === reply.won && settledNow === reply.settledNow
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
      isTimeOut: fc.boolean(),
      now: fc.integer({ min: 0, max: 5 }),
      calledAt: fc.integer({ min: 0, max: 8 }),
      lasts: fc.integer({ min: 1, max: 4 }),
      seen: states,
      told: fc.constantFrom(
        { won: false, settledNow: false },
        { won: false, settledNow: true },
        { won: true, settledNow: true },
        { won: true, settledNow: false },
      ),
      isAnswered: fc.boolean(),
    }),
    { maxLength: 5 },
  )
  .map((drafts) =>
    drafts.map(({ lasts, seen, told, isAnswered, calledAt, ...action }, index) => {
      // No two things happen at once.
      const operation = { ...action, what: `call ${index}`, calledAt: calledAt + index / 100 }
      const answeredAt = calledAt + lasts + index / 100
      return isAnswered ? { ...operation, reply: { answeredAt, seen, ...told } } : operation
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
      const { state: seen, won, settledNow } = after
      return { ...operation, reply: { ...operation.reply, seen, won, settledNow } }
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

  const seen = { status: 'COMPLETED', outputJson: '1' } as const
  const settle: TokenOperation = {
    kind: 'complete',
    what: 'settle',
    outputJson: '1',
    now: 0,
    calledAt: 0,
    reply: { answeredAt: 1, seen, won: true, settledNow: true },
  }
  const look: TokenOperation = { kind: 'look', what: 'get', now: 1, calledAt: 2 }
  const told = (reply: Partial<TokenReply>): TokenReply => {
    return { answeredAt: 3, seen, won: false, settledNow: false, ...reply }
  }

  it.each<[string, TokenOperation[], string, string]>([
    [
      'two winners',
      [settle, { ...settle, what: 'another' }],
      'single assignment',
      'both settle and another were told that they settled it',
    ],
    [
      'two outcomes',
      [settle, { ...look, reply: told({ seen: { status: 'TIMED_OUT' } }) }],
      'single assignment',
      'settle was told that it is COMPLETED with 1, but get was told that it is TIMED_OUT',
    ],
    [
      'two instants',
      [
        { ...look, reply: told({ completedAt: 4 }) },
        { ...look, reply: told({ completedAt: 5 }) },
      ],
      'single assignment',
      'get was told that it is COMPLETED with 1 at 4, but get was told that it is COMPLETED with 1 at 5',
    ],
    [
      'a token that waits again',
      [settle, { ...look, reply: told({ seen: { status: 'WAITING' } }) }],
      'tokens are linearizable',
      'get found it waiting after settle was told that it is COMPLETED with 1',
    ],
    [
      'an outcome before anybody settled it',
      [{ ...look, calledAt: -2, reply: told({ answeredAt: -1 }) }, settle],
      'tokens are linearizable',
      'no operation can have made it COMPLETED with 1 by the time get was told',
    ],
    [
      'a settler who was told that it was not the one',
      [{ ...settle, reply: told({ answeredAt: 1 }) }],
      'tokens are linearizable',
      'no operation can have made it COMPLETED with 1 by the time settle was told',
    ],
    [
      'a look that settled it before its deadline',
      [{ ...look, reply: told({ seen: { status: 'TIMED_OUT' }, settledNow: true }) }],
      'tokens are linearizable',
      'get was told that it settled it, and that it is TIMED_OUT',
    ],
    [
      'a look that left it waiting at its deadline',
      [{ ...look, now: TIMEOUT_AT, reply: told({ seen: { status: 'WAITING' } }) }],
      'tokens are linearizable',
      'get, at or after its deadline, left it waiting',
    ],
  ])('says what is wrong with %s', (_what, operations, invariant, message) => {
    expect(checkTokenHistory(operations, TIMEOUT_AT)).toEqual({ invariant, message })
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
