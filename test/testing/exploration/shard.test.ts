import { afterEach, describe, expect, it, vi } from 'vitest'
import { type Decider, enumerate, explore, pct, random, type Shard } from 'waitpoint/testing'
import { allAnswer, exploreAll } from './bodies.ts'

const body = allAnswer(['ada'])

afterEach(() => void vi.unstubAllEnvs())

function shards(count: number): readonly Shard[] {
  return Array.from({ length: count }, (_, at) => ({ index: at + 1, count }))
}

/** The schedules that a decider has run, each as the choices that were made. */
async function schedulesOf(decider: Decider): Promise<readonly string[]> {
  const schedules: string[] = []
  const noting: Decider = {
    isExhaustive: decider.isExhaustive,
    begin: () => decider.begin(),
    end: (decisions) => {
      schedules.push(String(decisions.map(({ index }) => index)))
      decider.end?.(decisions)
    },
  }
  await exploreAll(body, { decider: noting })
  return schedules
}

describe('enumerate', () => {
  it.each([2, 5])('has each schedule but FIFO in one of %i parts', async (count) => {
    const [fifo = '', ...whole] = await schedulesOf(enumerate(2))
    const parts = await Promise.all(shards(count).map((shard) => schedulesOf(enumerate(2, shard))))
    expect(parts.map(([first]) => first)).toEqual(parts.map(() => fifo))
    expect(parts.flatMap(([, ...rest]) => rest).toSorted()).toEqual(whole.toSorted())
    for (const part of parts) expect(part.length).toBeLessThan(whole.length)
  })
})

describe.each([
  ['random', (shard?: Shard) => random(1, shard)],
  ['pct', (shard?: Shard) => pct(1, 16, shard)],
])('%s', (_name, deciderOf) => {
  it('deals its schedules to the parts in turn', () => {
    const choice = { kind: 'next', at: 'a', options: ['a', 'b', 'c', 'd'] } as const
    const drawn = (decider: Decider, schedules: number): readonly string[] =>
      Array.from({ length: schedules }, () => {
        const choose = decider.begin()
        return Array.from({ length: 16 }, () => choose?.(choice)).join(' ')
      })
    const whole = drawn(deciderOf(), 9)
    const parts = shards(3).map((shard) => drawn(deciderOf(shard), 3))
    expect([0, 1, 2].flatMap((turn) => parts.map((part) => part[turn]))).toEqual(whole)
    expect(new Set(whole).size).toBeGreaterThan(2)
  })
})

describe('WAITPOINT_SHARD', () => {
  it('has an exploration run its part, which may be complete', async () => {
    const { runs: all } = await exploreAll(body)
    let runs = 0
    for (const shard of ['1/3', '2/3', '3/3']) {
      vi.stubEnv('WAITPOINT_SHARD', shard)
      const part = await exploreAll(body)
      expect(part.complete).toBe(true)
      runs += part.runs - 1
    }
    // A part does not know the schedules of the others, and leaves out less.
    expect(runs + 1).toBeGreaterThanOrEqual(all)
    expect(runs + 1).toBeLessThan(2 * all)
  })

  it('leaves it to the other parts what is to happen sometimes', async () => {
    vi.stubEnv('WAITPOINT_SHARD', '1/2')
    const never = exploreAll(
      async (t) => {
        await body(t)
        t.sometimes('never', false)
      },
      { maxDeviations: 0 },
    )
    expect(await never).toMatchObject({ runs: 1 })
  })

  it.each(['0/4', '5/4', '1', '1/0', '-1/4', '1/4 ', 'one/four'])('cannot be %s', async (shard) => {
    vi.stubEnv('WAITPOINT_SHARD', shard)
    await expect(explore(body)).rejects.toThrow(
      new RangeError(
        `Cannot use WAITPOINT_SHARD "${shard}": it must be the number of a part and that of all parts, such as 1/4 to 4/4`,
      ),
    )
  })
})
