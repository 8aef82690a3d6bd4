import { describe, expect, it } from 'vitest'
import { FirstClaimers } from '../../../src/storage/postgres/first-claimers.ts'

const run = (id: string, taskId = 'task'): { id: string; taskId: string } => ({ id, taskId })

/** The owners that were called for so many runs; `undefined`: all. */
function calls(claimers: FirstClaimers, count: number, own: string | null = null): (string | undefined)[] {
  return Array.from({ length: count }, (_, at) => claimers.callFor(run(`new ${at}`), own))
}

describe('FirstClaimers', () => {
  it('calls all while it knows no owner that claims runs of the task', () => {
    const claimers = new FirstClaimers()
    claimers.claimed(run('r', 'another task'), 'a')
    expect(new Set(calls(claimers, 20))).toEqual(new Set([undefined]))
  })

  it('calls those it knows in turn, and all now and then', () => {
    const claimers = new FirstClaimers()
    for (const owner of ['a', 'b', 'c']) claimers.claimed(run(`of ${owner}`), owner)
    const called = calls(claimers, 240)
    const times = (owner: string | undefined): number => called.filter((one) => one === owner).length
    expect(['a', 'b', 'c', undefined].map(times)).toEqual([70, 70, 70, 30])
  })

  it('calls the owner that has made the run if it claims runs itself', () => {
    const claimers = new FirstClaimers()
    for (const owner of ['a', 'b']) claimers.claimed(run(`of ${owner}`), owner)
    expect(new Set(calls(claimers, 7, 'b'))).toEqual(new Set(['b']))
    expect(calls(claimers, 7, 'web')).toContain('a')
  })

  it('forgets an owner that did not come first until it is seen again', () => {
    const claimers = new FirstClaimers()
    claimers.claimed(run('r'), 'gone')
    expect(claimers.callFor(run('one'), null)).toBe('gone')
    claimers.claimed(run('one'), 'here')
    expect(calls(claimers, 5)).not.toContain('gone')
    claimers.claimed(run('two'), 'gone')
    expect(calls(claimers, 20)).toContain('gone')
  })
})
