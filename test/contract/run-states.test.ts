import { describe, expect, it } from 'vitest'
import { isFinal, LIVE_STATUSES, RUN_STATUSES, statusFlags } from '../../src/contract/run-states.ts'

describe('RUN_STATUSES', () => {
  it('are live or final, never both', () => {
    const final = RUN_STATUSES.filter(isFinal)
    expect(final).toEqual(['COMPLETED', 'FAILED', 'CANCELED', 'TIMED_OUT', 'EXPIRED', 'CRASHED'])
    expect([...LIVE_STATUSES, ...final].sort()).toEqual([...RUN_STATUSES].sort())
  })

  it.each(RUN_STATUSES)('%s is one of queued, executing, waiting and completed', (status) => {
    const { isQueued, isExecuting, isWaiting, isCompleted } = statusFlags(status)
    expect([isQueued, isExecuting, isWaiting, isCompleted].filter(Boolean)).toHaveLength(1)
    expect(isCompleted).toBe(isFinal(status))
  })
})
