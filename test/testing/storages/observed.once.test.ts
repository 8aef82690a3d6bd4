import { describe, expect, it } from 'vitest'
import { createDeferred } from '../../../src/primitives/deferred.ts'
import { memoryStorage } from '../../../src/storage/memory/memory.ts'
import { observedStorage } from '../../../src/testing/storages/observed.ts'
import { testClock } from '../../../src/testing/test-clock.ts'

describe('observedStorage', () => {
  it('answers at once where the other one does, and holds nothing', () => {
    const clock = testClock()
    const storage = observedStorage(memoryStorage(), clock)
    expect(storage.settings.getOrInsert('key', 'value')).toBe('value')
    expect(clock.timeline()).not.toContain('storage')
  })

  it.each(['resolve', 'reject'] as const)(
    'keeps time from passing while an operation is out: %s',
    async (end) => {
      const clock = testClock({ ioGraceMs: 5 })
      const answer = createDeferred<undefined>()
      const storage = observedStorage({ ...memoryStorage(), open: () => answer.promise }, clock)
      const opening = storage.open()
      await expect(clock.advance(1)).rejects.toMatchObject({ code: 'ERR_STILL_BUSY', ids: ['storage.open'] })
      answer[end](undefined)
      await Promise.resolve(opening).catch(() => undefined)
      await clock.advance(1)
      expect(clock.now()).toBe(Date.UTC(2000, 0, 1) + 1)
    },
  )
})
