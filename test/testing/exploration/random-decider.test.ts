import { describe, expect, it } from 'vitest'
import { type Choice, type Decider, pct, random } from 'waitpoint/testing'

const next = (...options: string[]): Choice => ({ kind: 'next', at: options[0] ?? '', options })
const three = next('a/x#1', 'b/x#1', 'c/x#1')

function taken(decider: Decider, choices: readonly Choice[]): readonly (readonly number[])[] {
  return Array.from({ length: 1_000 }, () => {
    const choose = decider.begin()
    return choices.map((choice) => choose?.(choice) ?? -1)
  })
}

describe.each([
  ['random', (seed: number) => random(seed)],
  ['pct', (seed: number) => pct(seed, 2)],
])('%s', (_name, deciderOf) => {
  it('decides the same for the same seed, something else for another one, and everything at some time', () => {
    const choices = [three, three, { ...three, kind: 'crash' as const }]
    const first = taken(deciderOf(1), choices)
    expect(taken(deciderOf(1), choices)).toEqual(first)
    expect(taken(deciderOf(2), choices)).not.toEqual(first)
    for (const place of [0, 1, 2]) {
      expect(new Set(first.map((indices) => indices[place]))).toEqual(new Set([0, 1, 2]))
    }
  })

  it('lets crashes and faults be rare', () => {
    const crashes = taken(deciderOf(1), [{ ...three, kind: 'crash' }]).filter(([index]) => index !== 0)
    expect(crashes.length).toBeGreaterThan(0)
    expect(crashes.length).toBeLessThan(200)
  })
})

describe('pct', () => {
  it('lets who has the highest priority go first for as long as it can', () => {
    for (const indices of taken(pct(1, 1), [three, three, three])) expect(new Set(indices).size).toBe(1)
  })

  it('lets any flow of an actor go first, and go on first', () => {
    const pending = next('a/x#1', 'a/y#1', 'a/z#1')
    const orders = taken(pct(1, 1), [pending, next('a/y#1', 'a/z#1', 'a/on#1')])
    expect(new Set(orders.map(([first]) => first))).toEqual(new Set([0, 1, 2]))
    const afterX = orders.filter(([first]) => first === 0).map(([, second]) => second)
    expect(new Set(afterX)).toEqual(new Set([0, 2]))
  })

  it.each([1, 3])('lets every flow go on at some time, with depth %i', (depth) => {
    const decider = pct(1, depth)
    for (let schedule = 0; schedule < 50; schedule++) {
      const choose = decider.begin()
      let polls = 0
      while (polls < 5_000 && choose?.(next(`poller/get#${polls}`, 'other/settle#1')) === 0) polls += 1
      expect(polls).toBeLessThan(5_000)
    }
  })
})
