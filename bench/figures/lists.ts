import { createEngine, type ListTokensParams } from 'waitpoint'
import type { Contest, Contestant } from '../contest.ts'
import type { Figure } from '../lab.ts'
import type { Measurement } from '../measurement.ts'

type ListContest = Contest<'ours' | 'bare'>

const TOKENS = 1_000_000
const PAGE = 25
const NS_OF_THE_GOAL = 1e6
const DAY_MS = 86_400_000
/** One token in a thousand. */
const RARE = 1_000

/** Pages of a list of a million tokens, the newest, of one key and of a rare tag. */
const contests: readonly ListContest[] = [
  listContest('the newest', {}),
  listContest('those of a key', { idempotencyKey: 'key-7' }),
  listContest('those of a tag that 1 in 1,000 has', { tags: 'rare' }),
]

/** How long one page takes when there are many tokens, beside a slice of a sorted array. */
export const lists: Figure = {
  name: 'lists',
  contests,
  async measure(lab) {
    const measurements: Measurement[] = []
    for (const contest of contests) {
      measurements.push({
        what: contest.name,
        unit: 'ns',
        count: lab.count(contest.count),
        ...(await lab.hold(contest)),
        goal: { kind: 'value', most: NS_OF_THE_GOAL },
      })
    }
    return measurements
  },
}

function listContest(which: string, filter: ListTokensParams): ListContest {
  const count = 100
  return {
    name: `page of 1,000,000 tokens, ${which}`,
    count,
    rounds: 10,
    warmUps: 3,
    sides: {
      // As many tokens as pages asked for, times the same: next to none in a test.
      ours: (pages) => ourPages(filter, { pages, tokens: (TOKENS / count) * pages }),
      bare: (pages) => barePages({ pages, tokens: (TOKENS / count) * pages }),
    },
  }
}

interface Extent {
  readonly pages: number
  readonly tokens: number
}

async function ourPages(filter: ListTokensParams, { pages, tokens }: Extent): Promise<Contestant> {
  const engine = createEngine()
  for (let index = 0; index < tokens; index++) {
    await engine.wait.createToken({
      timeout: DAY_MS,
      tags: index % RARE === 0 ? ['rare', 'all'] : ['all'],
      idempotencyKey: `key-${index}`,
      idempotencyKeyTTL: DAY_MS,
    })
  }
  return {
    pass: async () => {
      for (let page = 0; page < pages; page++) await engine.wait.listTokens({ ...filter, limit: PAGE })
    },
    close: () => engine.close(),
  }
}

function barePages({ pages, tokens }: Extent): Contestant {
  const records = Array.from({ length: tokens }, (_, index) => ({ id: index, status: 'WAITING' }))
  return {
    pass: async () => {
      for (let page = 0; page < pages; page++) await Promise.resolve(records.slice(-PAGE).reverse())
    },
  }
}
