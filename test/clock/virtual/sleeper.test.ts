import { setImmediate as macrotask } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { bareTestClock } from '../../../src/clock/test.ts'

const START = Date.UTC(2000, 0, 1)

describe('sleep', () => {
  it('takes virtual time only, and no more than it said', async () => {
    const clock = bareTestClock()
    clock.setTimer(START + 86_400_001, () => expect.unreachable())
    await clock.sleep('24h')
    await macrotask()
    await macrotask()
    expect(clock.now()).toBe(START + 86_400_000)
  })

  it('needs an explicit call where time does not move by itself', async () => {
    const clock = bareTestClock({ mode: 'manual' })
    let isAwake = false
    const sleep = clock.sleep(10).then(() => (isAwake = true))
    await clock.advance(9)
    expect(isAwake).toBe(false)
    await clock.advance(1)
    expect(isAwake).toBe(true)
    await sleep
  })

  it('does not make the run busy in whose code it is called', async () => {
    let caller: string | undefined
    const clock = bareTestClock({ ioGraceMs: 5, currentRun: () => caller })
    const release = clock.hold({ kind: 'executing', id: 'run_1' })
    caller = 'run_1'
    const slept = clock.sleep('1m').then(release)
    caller = undefined
    await clock.advance('1m')
    await slept
    expect(clock.now()).toBe(START + 60_000)
  })

  it('does not move time by itself when it is task code that sleeps', async () => {
    const clock = bareTestClock({ currentRun: () => 'run_1' })
    void clock.sleep(5).then(() => expect.unreachable())
    await macrotask()
    await macrotask()
    expect(clock.now()).toBe(START)
  })

  it('rejects with the reason of its signal and leaves nothing behind', async () => {
    const clock = bareTestClock({ mode: 'manual' })
    const reason = new Error('enough')
    await expect(clock.sleep(5, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    const controller = new AbortController()
    const sleep = clock.sleep(5, { signal: controller.signal })
    controller.abort(reason)
    await expect(sleep).rejects.toBe(reason)
    expect(clock.pending()).toEqual([])
    await expect(clock.sleep('soon')).rejects.toThrow(RangeError)
  })
})

describe('signal', () => {
  it('aborts after its virtual time with a TimeoutError', async () => {
    const clock = bareTestClock()
    const signal = clock.signal('5m')
    await clock.advance(299_999)
    expect(signal.aborted).toBe(false)
    await clock.advance(1)
    expect(signal.reason).toMatchObject({
      name: 'TimeoutError',
      message: expect.stringContaining('"5m"') as unknown,
    })
  })
})
