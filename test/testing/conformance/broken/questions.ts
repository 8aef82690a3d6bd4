import type { TokenChange, TokenSettle } from '../../../../src/contract/storage.ts'
import type { Break, Memory } from './broken-storage.ts'

/** Storages that take an answer, or a change, to another question than that of the token. */

function recordOf(
  memory: Memory,
  id: string,
): NonNullable<ReturnType<Memory['tokens']['get']>>['record'] | undefined {
  return memory.tokens.get(id, -Infinity)?.record
}

function settlingLike(change: (request: TokenSettle, memory: Memory) => Partial<TokenSettle>): Break {
  return (memory) => ({
    tokens: { settle: (request) => memory.tokens.settle({ ...request, ...change(request, memory) }) },
  })
}

function changingLike(change: (request: TokenChange, memory: Memory) => Partial<TokenChange>): Break {
  return (memory) => ({
    tokens: { change: (request) => memory.tokens.change({ ...request, ...change(request, memory) }) },
  })
}

export const brokenQuestions: Readonly<Record<string, Break>> = {
  'tokens.settle/answers-its-question': settlingLike(({ id, question }, memory) => ({
    question: question === undefined ? recordOf(memory, id)?.questionJson : question,
  })),
  'tokens.settle/late-for-any-question': (memory) => ({
    tokens: {
      settle(request) {
        const record = recordOf(memory, request.id)
        if (record?.status !== 'WAITING' || record.questionJson === request.question)
          return memory.tokens.settle(request)
        return { record, won: false, settledNow: false, ready: [] }
      },
    },
  }),
  'tokens.settle/says-who-answered': settlingLike(({ answeredJson, isTimeOut }) => ({
    answeredJson: isTimeOut === true ? undefined : answeredJson,
  })),
  'tokens.change/of-its-question': changingLike(({ id, question, questionJson }, memory) => ({
    question: questionJson === undefined ? recordOf(memory, id)?.questionJson : question,
  })),
  'tokens.change/moves-the-deadline': changingLike(({ timeoutAt, now }) =>
    timeoutAt === undefined || timeoutAt > now ? {} : { timeoutAt: now },
  ),
  'tokens.change/comes-too-late': changingLike(({ id, now }, memory) => ({
    now: Math.min(now, (recordOf(memory, id)?.timeoutAt ?? Infinity) - 1),
  })),
  'tokens.change/stale-fence': changingLike(() => ({ fence: undefined })),
  'subscribe/tells-of-moved-deadlines': changingLike(({ fence, by }) =>
    fence === undefined ? { by: 'engine-b' } : { by },
  ),
  'tokens.change/moves-what-waits': (memory) => {
    let isMoved = false
    return {
      tokens: {
        change(request) {
          isMoved ||= request.timeoutAt !== undefined
          return memory.tokens.change(request)
        },
      },
      runs: {
        claim: (request) => memory.runs.claim({ ...request, now: isMoved ? request.now - 1 : request.now }),
      },
    }
  },
}
