import type { QueueRate, RunClaim } from '../../../../src/contract/storage.ts'
import type { Break, Memory } from './broken-storage.ts'
import { claimedLike } from './claims.ts'
import { queuesLike } from './queues.ts'

type Rates = NonNullable<RunClaim['queueRates']>

/** With claims that are made under other rates. */
function ratedLike(change: (rates: Rates, claim: RunClaim, memory: Memory) => Rates | undefined): Break {
  return (memory) => ({
    runs: {
      claim(claim) {
        const { queueRates } = claim
        if (queueRates === undefined) return memory.runs.claim(claim)
        return memory.runs.claim({ ...claim, queueRates: change(queueRates, claim, memory) })
      },
    },
  })
}

function each(rates: Rates, change: (rate: QueueRate) => Partial<QueueRate>): Rates {
  return new Map(Array.from(rates, ([name, rate]) => [name, { ...rate, ...change(rate) }]))
}

export const brokenRates: Readonly<Record<string, Break>> = {
  'rates/bound-starts': ratedLike((rates) => each(rates, ({ perMs }) => ({ perMs: perMs - 1 }))),
  'rates/of-each-key': ratedLike((rates, _, memory) => {
    const { records } = memory.runs.list({}, { limit: 100 })
    return records.some(({ concurrencyKey }) => concurrencyKey !== undefined) ? undefined : rates
  }),
  'rates/count-what-starts': ratedLike((rates, _, memory) => {
    const { records } = memory.runs.list({ status: ['DELAYED'] }, { limit: 100 })
    return records.some(({ policyAttempt }) => policyAttempt > 0) ? undefined : rates
  }),
  'rates/hold-back-no-others': claimedLike(({ runs, nextStartAt }) =>
    nextStartAt === undefined ? {} : { runs: runs.filter(({ queue }) => queue !== 'queue') },
  ),
  'rates/clock-set-back': (memory) => {
    let last = -Infinity
    return ratedLike((rates, { now }) => {
      const isBack = now < last
      last = now
      return isBack ? undefined : rates
    })(memory)
  },
  'rates/count-once': (memory) => {
    const last = new Map<string, number>()
    let repeated = 0
    return ratedLike((rates, { by, number }) => {
      if (last.get(by) === number) repeated += 1
      last.set(by, number)
      return each(rates, ({ limit }) => ({ limit: Math.max(1, limit - repeated) }))
    })(memory)
  },
  'rates/of-many-starts': (memory) => {
    let hasMany = false
    return ratedLike((rates) =>
      each(rates, ({ limit, perMs }) => {
        hasMany ||= limit > 100
        return { perMs: hasMany && limit <= 100 ? perMs - 10 : perMs }
      }),
    )(memory)
  },
  'rates/over-all-owners': (memory) => {
    let underWay = 0
    return {
      runs: {
        async claim(claim) {
          const isAlone = underWay === 0
          underWay += 1
          await Promise.resolve()
          underWay -= 1
          return memory.runs.claim(isAlone ? claim : { ...claim, queueRates: undefined })
        },
      },
    }
  },
  'rates/that-are-set': queuesLike((queues) => ({
    set: ({ rate, ...change }) => queues.set({ ...change, ...(rate === null ? {} : { rate }) }),
  })),
}
