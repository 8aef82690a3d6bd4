import { isSameState, type TokenAction, type TokenState } from './token-model.ts'

/** Something that was done to a token, from the call to the answer. */
export interface TokenOperation extends TokenAction {
  readonly calledAt: number
  /** None: nobody knows what became of it, or whether it took effect. */
  readonly reply?: {
    readonly answeredAt: number
    readonly seen: TokenState
    /** Whether it was told that it completed the token. */
    readonly won: boolean
  }
}

/** What is wrong with a history. */
export interface HistoryProblem {
  readonly invariant: 'single assignment' | 'tokens are linearizable'
  readonly message: string
}

type Answered = TokenOperation & { readonly reply: NonNullable<TokenOperation['reply']> }

/**
 * Whether there is an order of these operations, each between its call and its answer, in which the model of a token
 * answers the same. In linear time, because a token is written once: all that matters is whether one operation that can
 * have settled it fits between the last look that found it waiting and the first that found it settled.
 */
export function checkTokenHistory(
  operations: readonly TokenOperation[],
  timeoutAt: number,
): HistoryProblem | undefined {
  const answered = operations.filter((operation): operation is Answered => operation.reply !== undefined)
  return (
    checkOne(answered) ?? checkEach(answered, timeoutAt) ?? checkOrder({ operations, answered, timeoutAt })
  )
}

/** All who saw it settled saw the same, and at most one was told that it was the one. */
function checkOne(answered: readonly Answered[]): HistoryProblem | undefined {
  let settled: TokenState | undefined
  let winners = 0
  for (const { reply } of answered) {
    if (reply.won) winners += 1
    if (winners > 1) return problem('single assignment', 'two completions were told that they won')
    if (reply.seen.status === 'WAITING') continue
    if (settled !== undefined && !isSameState(settled, reply.seen))
      return problem('single assignment', `it was seen as ${spell(settled)} and as ${spell(reply.seen)}`)
    settled = reply.seen
  }
  return undefined
}

/** What each was told is possible, whatever the others did. */
function checkEach(answered: readonly Answered[], timeoutAt: number): HistoryProblem | undefined {
  for (const operation of answered) {
    const { kind, outputJson, now, reply } = operation
    if (reply.seen.status === 'WAITING' && (now >= timeoutAt || kind === 'complete'))
      return notLinear(`a ${kind} ${now >= timeoutAt ? 'at or after its deadline ' : ''}left it waiting`)
    if (!reply.won) continue
    const isOwn = isSameState(reply.seen, { status: 'COMPLETED', outputJson })
    if (kind !== 'complete' || now >= timeoutAt || !isOwn)
      return notLinear(`a ${kind} was told that it won, and that the token is ${spell(reply.seen)}`)
  }
  return undefined
}

interface OrderQuestion {
  readonly operations: readonly TokenOperation[]
  readonly answered: readonly Answered[]
  readonly timeoutAt: number
}

function checkOrder({ operations, answered, timeoutAt }: OrderQuestion): HistoryProblem | undefined {
  let settled: Answered | undefined
  let lastWaiting = -Infinity
  for (const operation of answered) {
    const { reply, calledAt } = operation
    if (reply.seen.status === 'WAITING') lastWaiting = Math.max(lastWaiting, calledAt)
    else if (settled === undefined || reply.answeredAt < settled.reply.answeredAt) settled = operation
  }
  if (settled === undefined) return undefined
  const { seen, answeredAt: firstSettled } = settled.reply
  if (lastWaiting > firstSettled)
    return notLinear(`it was found waiting after it had been seen as ${spell(seen)}`)
  const winner = answered.find(({ reply }) => reply.won)
  const mayHaveSettled = (operation: TokenOperation): boolean => {
    if (winner !== undefined && operation !== winner) return false
    // Who was told that it lost did not settle it with a completion.
    if (seen.status === 'COMPLETED' && operation.reply?.won === false) return false
    return operation.calledAt < firstSettled && settles(operation, seen, timeoutAt)
  }
  if (operations.some(mayHaveSettled)) return undefined
  return notLinear(`nobody can have made it ${spell(seen)} by then`)
}

function settles(operation: TokenOperation, seen: TokenState, timeoutAt: number): boolean {
  const { kind, outputJson, now } = operation
  if (seen.status === 'TIMED_OUT') return now >= timeoutAt
  return kind === 'complete' && now < timeoutAt && isSameState(seen, { status: 'COMPLETED', outputJson })
}

function notLinear(message: string): HistoryProblem {
  return problem('tokens are linearizable', message)
}

function problem(invariant: HistoryProblem['invariant'], message: string): HistoryProblem {
  return { invariant, message }
}

function spell(state: TokenState): string {
  return state.status === 'COMPLETED' ? `COMPLETED with ${state.outputJson ?? 'nothing'}` : state.status
}
