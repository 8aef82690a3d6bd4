import { describe, expect, it } from 'vitest'
import * as core from '../../src/core/run-status.ts'
import * as storage from '../../src/contract/run-states.ts'

describe('RUN_STATUSES', () => {
  it('are those of the engine, and final where it says so', () => {
    expect(storage.RUN_STATUSES).toEqual(core.STATUSES)
    expect(storage.RUN_STATUSES.map(storage.isFinal)).toEqual(core.STATUSES.map(core.isFinal))
  })
})
