import { isSameState, type TokenAction, tokenAfter, type TokenState } from './token-model.ts'

/** A call that concerns a token, from its start to its answer. */
export interface TokenOperation extends TokenAction {
  /** The name of the call, for messages. */
  readonly what: string
  readonly calledAt: number
  /** Missing if the call was never answered, so that its effect is unknown. */
  readonly reply?: TokenReply
}

/** The answer of a call, as far as it concerns the token. */
export interface TokenReply {
  readonly answeredAt: number
  readonly seen: TokenState
  /** The instant of settlement. All answers must agree on it. */
  readonly completedAt?: number | undefined
  /** Whether the answer says that the call completed the token. */
  readonly won: boolean
  /** Whether the answer says that the call settled the token, by completing it or by its deadline. */
  readonly settledNow: boolean
  /** The deadline as of this answer, if that may be another one than in the end. */
  readonly timeoutAt?: number | undefined
}

/** A contradiction in a history. */
export interface HistoryProblem {
  readonly invariant: 'single assignment' | 'tokens are linearizable'
  readonly message: string
}

type Answered = TokenOperation & { readonly reply: TokenReply }

const OPEN: TokenState = { status: 'WAITING' }

/**
 * Checks that there is an order of these operations, each between its call and its answer, in which the model of a
 * token gives the same answers. The check takes linear time, because a token is written once: it only needs one
 * operation that can have settled the token, between the last answer that found it waiting and the first that found it
 * settled.
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

/** All answers of a settled token agree, and at most one says that its call settled it. */
function checkOne(answered: readonly Answered[]): HistoryProblem | undefined {
  let settled: Answered | undefined
  let settler: Answered | undefined
  for (const operation of answered) {
    const { reply, what } = operation
    if (reply.settledNow || reply.won) {
      if (settler !== undefined)
        return problem('single assignment', `both ${settler.what} and ${what} were told that they settled it`)
      settler = operation
    }
    if (reply.seen.status === 'WAITING') continue
    settled ??= operation
    if (!isSameAnswer(settled.reply, reply))
      return problem('single assignment', `${told(settled)}, but ${told(operation)}`)
  }
  return undefined
}

/** Each answer is possible on its own. */
function checkEach(answered: readonly Answered[], timeoutAt: number): HistoryProblem | undefined {
  for (const operation of answered) {
    const { reply, what, now } = operation
    const { state, won } = tokenAfter(OPEN, operation, reply.timeoutAt ?? timeoutAt)
    if (reply.settledNow) {
      if (reply.won === won && isSameState(reply.seen, state) && state.status !== 'WAITING') continue
      return notLinear(`${what} was told that it settled it, and that it is ${spell(reply.seen)}`)
    }
    if (reply.won) return notLinear(`${what} was told that it won, and not that it settled it`)
    if (reply.seen.status === 'WAITING' && state.status !== 'WAITING')
      return notLinear(`${what}${now >= timeoutAt ? ', at or after its deadline,' : ''} left it waiting`)
  }
  return undefined
}

interface OrderQuestion {
  readonly operations: readonly TokenOperation[]
  readonly answered: readonly Answered[]
  readonly timeoutAt: number
}

function checkOrder({ operations, answered, timeoutAt }: OrderQuestion): HistoryProblem | undefined {
  let first: Answered | undefined
  let last: Answered | undefined
  for (const operation of answered) {
    const { reply, calledAt } = operation
    if (reply.seen.status === 'WAITING')
      last = last === undefined || calledAt > last.calledAt ? operation : last
    else if (first === undefined || reply.answeredAt < first.reply.answeredAt) first = operation
  }
  if (first === undefined) return undefined
  const { seen, answeredAt } = first.reply
  if (last !== undefined && last.calledAt > answeredAt)
    return notLinear(`${last.what} found it waiting after ${told(first)}`)
  const isSettlerKnown = answered.some(({ reply }) => reply.settledNow)
  const maySettle = (operation: TokenOperation): boolean => {
    // An operation that was told of another settler did not settle the token. If one operation did, no other one did.
    const mayBeIt = operation.reply === undefined ? !isSettlerKnown : operation.reply.settledNow
    return mayBeIt && operation.calledAt < answeredAt && settles(operation, seen, timeoutAt)
  }
  if (operations.some(maySettle)) return undefined
  return notLinear(`no operation can have made it ${spell(seen)} by the time ${first.what} was told`)
}

function settles(operation: TokenOperation, seen: TokenState, timeoutAt: number): boolean {
  const { state } = tokenAfter(OPEN, operation, timeoutAt)
  return state.status !== 'WAITING' && isSameState(state, seen)
}

/** Whether two answers are equal, outputs included. */
function isSameAnswer(one: TokenReply, other: TokenReply): boolean {
  return isSameState(one.seen, other.seen) && one.completedAt === other.completedAt
}

function notLinear(message: string): HistoryProblem {
  return problem('tokens are linearizable', message)
}

function problem(invariant: HistoryProblem['invariant'], message: string): HistoryProblem {
  return { invariant, message }
}

function told({ what, reply }: Answered): string {
  const at = reply.completedAt === undefined ? '' : ` at ${reply.completedAt}`
  return `${what} was told that it is ${spell(reply.seen)}${at}`
}

function spell(state: TokenState): string {
  return state.status === 'COMPLETED' ? `COMPLETED with ${state.outputJson ?? 'nothing'}` : state.status
}
