import { describe, expect, it } from 'vitest'
import { BenchSide } from '../../bench/bench-side.ts'
import { type Contest, holdContest, type Side } from '../../bench/contest.ts'

const contest: Contest<'one' | 'other'> = {
  name: 'a contest',
  count: 1,
  rounds: 3,
  warmUps: 2,
  sides: { one: () => ({ pass: () => undefined }), other: () => ({ pass: () => undefined }) },
}

/** A side that says when it has its turn. */
function tellingSide(name: string, turns: string[]): Side {
  return {
    pass: async () => {
      turns.push(name)
      return { ns: 1, cpuNs: 1 }
    },
    close: async () => void turns.push(`${name} closed`),
  }
}

describe('holdContest', () => {
  it('lets the sides take turns, after as many passes that do not count', async () => {
    const turns: string[] = []
    const sides = await holdContest(contest, { ...contest, open: async (name) => tellingSide(name, turns) })
    expect(sides.one.values).toHaveLength(3)
    expect(turns).toEqual([
      ...Array.from({ length: 5 }, () => ['one', 'other']).flat(),
      'one closed',
      'other closed',
    ])
  })

  it('begins one round and no more when there is no time', async () => {
    const open = async (name: string): Promise<Side> => tellingSide(name, [])
    const sides = await holdContest(contest, { ...contest, mostMs: 0, open })
    expect([sides.one.values, sides.other.values]).toEqual([[1], [1]])
  })
})

describe('BenchSide', () => {
  it('divides what a pass took by what it did, when it says how much', async () => {
    const overriddenDuration = 10
    const sides = {
      full: () => ({ pass: () => ({ overriddenDuration }) }),
      part: () => ({ pass: () => ({ overriddenDuration, done: 5 }) }),
    }
    const read = async (name: string): Promise<number> => {
      const side = await BenchSide.open({ ...contest, sides }, name, 10)
      return (await side.pass()).ns
    }
    expect(await read('full')).toBe(1e6)
    expect(await read('part')).toBe(2e6)
  })
})
