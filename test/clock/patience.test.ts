import { setImmediate as macrotask } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { losePatience } from '../../src/clock/patience.ts'
import { createDeferred } from '../../src/primitives/deferred.ts'
import { standStill } from '../support/stand-still.ts'

describe('losePatience', () => {
  it('takes as long as it said, at least', async () => {
    const lost = createDeferred<number>()
    const start = performance.now()
    losePatience(30, () => lost.resolve(performance.now() - start))
    // An OS timer may be early by less than one millisecond, and here there are ten of them.
    expect(await lost.promise).toBeGreaterThanOrEqual(20)
  })

  it.each([0, 30])('is not lost by a process that stood still, with %i ms of it', async (ms) => {
    const lost = createDeferred<void>()
    let isLost = false
    losePatience(ms, () => {
      isLost = true
      lost.resolve()
    })
    for (let stop = 0; stop < 3; stop++) {
      standStill(ms + 5)
      await macrotask()
      expect(isLost).toBe(false)
    }
    await lost.promise
  })

  it('is not lost soon when there is more of it than a timer can take', async () => {
    let isLost = false
    const end = losePatience(Number.MAX_SAFE_INTEGER, () => (isLost = true))
    const after = createDeferred<void>()
    losePatience(30, after.resolve)
    await after.promise
    end()
    expect(isLost).toBe(false)
  })

  it('is not lost any more once it was ended, at whatever moment', async () => {
    let isLost = false
    const ends = Array.from({ length: 4 }, () => losePatience(0, () => (isLost = true)))
    for (const end of ends) {
      end()
      end()
      await macrotask()
    }
    const after = createDeferred<void>()
    losePatience(20, after.resolve)
    await after.promise
    expect(isLost).toBe(false)
  })
})
