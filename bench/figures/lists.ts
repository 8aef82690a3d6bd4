import { createEngine, type Engine, type ListTokensParams } from 'waitpoint'
import type { Contest, Contestant } from '../contest.ts'
import type { Figure } from '../lab.ts'
import type { Measurement } from '../measurement.ts'

type ListContest = Contest<'ours' | 'bare'>

const TOKENS = 1_000_000
const PAGE = 25
const LARGEST_PAGE = 100
const NS_OF_THE_GOAL = 1e6
const DAY_MS = 86_400_000
/** One token in a thousand. */
const RARE = 1_000

/** Pages of a list of a million tokens: the newest ones, those of one key, and those of a rare tag. */
const contests: readonly ListContest[] = [
  listContest('the newest', {}),
  listContest('those of a key', { idempotencyKey: 'key-7' }),
  listContest('those of a tag that 1 in 1,000 has', { tags: 'rare' }),
]

/** The time of one page among many tokens, compared with a slice of a sorted array. */
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
      // As many tokens as the number of pages multiplied by this factor; almost none in a test.
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
  const engine = await engineWith(tokens)
  return {
    pass: async () => {
      for (let page = 0; page < pages; page++) await engine.wait.listTokens({ ...filter, limit: PAGE })
    },
    close: () => engine.close(),
  }
}

async function engineWith(tokens: number): Promise<Engine> {
  const engine = createEngine()
  for (let index = 0; index < tokens; index++) {
    await engine.wait.createToken({
      timeout: DAY_MS,
      tags: index % RARE === 0 ? ['rare', 'all'] : ['all'],
      idempotencyKey: `key-${index}`,
      idempotencyKeyTTL: DAY_MS,
    })
  }
  return engine
}

/** Lists all tokens, page by page. */
export async function walkOurs(tokens: number): Promise<Contestant> {
  const engine = await engineWith(tokens)
  return {
    pass: async () => {
      let listed = 0
      for await (const _ of engine.wait.listTokens({ limit: LARGEST_PAGE })) listed += 1
      if (listed !== tokens) throw new Error(`Cannot accept the list: it has ${listed} of ${tokens} tokens`)
    },
    close: () => engine.close(),
  }
}

function barePages({ pages, tokens }: Extent): Contestant {
  const records = recordsOf(tokens)
  return {
    pass: async () => {
      for (let page = 0; page < pages; page++) await Promise.resolve(records.slice(-PAGE).reverse())
    },
  }
}

/** Slices an array and reverses the slice, for every page. */
export function walkBare(tokens: number): Contestant {
  const records = recordsOf(tokens)
  return {
    pass: async () => {
      for (let end = tokens; end > 0; end -= LARGEST_PAGE) {
        await Promise.resolve(records.slice(Math.max(0, end - LARGEST_PAGE), end).reverse())
      }
    },
  }
}

function recordsOf(tokens: number): readonly { readonly id: number; readonly status: string }[] {
  return Array.from({ length: tokens }, (_, index) => ({ id: index, status: 'WAITING' }))
}
