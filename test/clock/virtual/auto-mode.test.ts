import { setImmediate as macrotask } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createDeferred } from '../../../src/primitives/deferred.ts'
import type { WaitedToken, WaitingRun } from '../../../src/clock/virtual/wait-graph.ts'
import { bareTestClock, type TestClock, type BareTestClockOptions } from '../../../src/clock/test.ts'
import { Statements } from '../../../src/testing/storages/statements.ts'
import { runInChild } from '../child-process.ts'
import { standStill } from '../../support/stand-still.ts'

const START = Date.UTC(2000, 0, 1)

/** Awaits something as the engine does for a caller outside a run: `arrive` ends the wait. */
function demand(clock: TestClock, id = 'run_1'): { arrive: () => void; outcome: Promise<unknown> } {
  const { promise, resolve } = createDeferred<unknown>()
  const release = clock.hold({ kind: 'awaited', id, fail: (error) => end(error) })
  const end = (outcome: unknown): void => {
    release()
    resolve(outcome)
  }
  return { arrive: () => end(clock.now() - START), outcome: promise }
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await macrotask()
}

describe('mode auto', () => {
  it('moves on by itself to what is awaited, and no farther', async () => {
    const clock = bareTestClock()
    const { arrive, outcome } = demand(clock)
    clock.setTimer(START + 86_400_000, arrive)
    clock.setTimer(START + 86_400_001, () => expect.unreachable())
    expect(await outcome).toBe(86_400_000)
    await turns(5)
    expect(clock.now()).toBe(START + 86_400_000)
  })

  it('fires upkeep on the way, each at its instant, however often', async () => {
    const clock = bareTestClock({ maxSteps: 2 })
    const beats: number[] = []
    const beat = (): void => {
      clock.setTimer(clock.now() + 10, beat, { label: 'lease', background: true })
      beats.push(clock.now() - START)
    }
    beat()
    const { arrive, outcome } = demand(clock)
    clock.setTimer(START + 35, arrive)
    expect(await outcome).toBe(35)
    expect(beats).toEqual([0, 10, 20, 30])
  })

  it.each(['executing', 'call'] as const)('stands still while a hold says %s', async (kind) => {
    const clock = bareTestClock()
    const release = clock.hold({ kind, id: 'busy' })
    const { arrive, outcome } = demand(clock)
    clock.setTimer(START + 5, arrive)
    await turns(20)
    expect(clock.now()).toBe(START)
    release()
    expect(await outcome).toBe(5)
  })

  it('rejects an awaited call when busy code gives no sign of life, and names the busy run', async () => {
    const clock = bareTestClock({ ioGraceMs: 5 })
    clock.hold({ kind: 'executing', id: 'run_1', lastBoundary: () => 'tokens.insert' })
    const { outcome } = demand(clock)
    clock.setTimer(START + 5, () => expect.unreachable())
    expect(await outcome).toMatchObject({
      code: 'ERR_STILL_BUSY',
      ids: ['run_1'],
      message: expect.stringContaining('"run_1" (executing, last seen at tokens.insert)') as unknown,
    })
    expect(clock.now()).toBe(START)
  })

  it('lets a whole turn pass after every sign of life', async () => {
    const clock = bareTestClock()
    const release = clock.hold({ kind: 'executing', id: 'run_1' })
    const { arrive, outcome } = demand(clock)
    clock.setTimer(START + 5, arrive)
    await macrotask()
    release()
    clock.hold({ kind: 'call', id: 'storage.tick' })()
    await macrotask()
    expect(clock.now()).toBe(START)
    expect(await outcome).toBe(5)
  })

  it('stands still while there is real I/O, and is not stuck while it may bring what is awaited', async () => {
    const io = new Statements()
    const clock = bareTestClock({ ioGraceMs: 0, io })
    const { arrive, outcome } = demand(clock)
    const asked = io.watch(turns(20))
    clock.hold({ kind: 'call', id: 'storage.tick' })
    await turns(5)
    expect(clock.now()).toBe(START)
    await asked
    arrive()
    expect(await outcome).toBe(0)
  })

  it('gives streams whose run has returned real time, as long as they give signs of life', async () => {
    const clock = bareTestClock({ ioGraceMs: 20 })
    const release = clock.hold({ kind: 'reading', id: 'run_1' })
    const { arrive, outcome } = demand(clock)
    clock.setTimer(START + 60_000, arrive, { label: 'end of the drain' })
    await turns(3)
    expect(clock.now()).toBe(START)
    expect(await outcome).toBe(60_000)
    release()
  })

  it('does not lose patience with busy code because this process stood still', async () => {
    const clock = bareTestClock({ ioGraceMs: 1 })
    const release = clock.hold({ kind: 'executing', id: 'run_1' })
    const { arrive, outcome } = demand(clock)
    clock.setTimer(START + 5, arrive)
    await turns(2)
    standStill(20)
    await turns(3)
    release()
    expect(await outcome).toBe(5)
  })

  it('does not make streams wait that sleep on this clock', async () => {
    const clock = bareTestClock({ ioGraceMs: 60_000 })
    const release = clock.hold({ kind: 'reading', id: 'run_1' })
    const { arrive, outcome } = demand(clock)
    await clock.sleep('1h')
    release()
    arrive()
    expect(await outcome).toBe(3_600_000)
  })

  it('waits for a source again once no code sleeps on this clock any more', async () => {
    const clock = bareTestClock({ ioGraceMs: 60_000 })
    const release = clock.hold({ kind: 'reading', id: 'run_1' })
    const { arrive, outcome } = demand(clock)
    await clock.sleep('1h')
    clock.setTimer(START + 3_600_010, arrive)
    await turns(3)
    expect(clock.now()).toBe(START + 3_600_000)
    release()
    expect(await outcome).toBe(3_600_010)
  })

  it('leaves the decision to explicit calls while there are any', async () => {
    const clock = bareTestClock()
    const { arrive, outcome } = demand(clock)
    clock.setTimer(START + 10, arrive)
    await clock.advance(3)
    expect(clock.now()).toBe(START + 3)
    await clock.advance(4)
    expect(clock.now()).toBe(START + 7)
    expect(await outcome).toBe(10)
  })

  it('ends what can never come with an error, at once', async () => {
    const clock = bareTestClock()
    clock.setTimer(START + 5, () => undefined, { label: 'lease', background: true })
    clock.hold({ kind: 'parked', id: 'run_1' })
    const [one, other] = [demand(clock, 'run_1'), demand(clock, 'run_2')]
    const error = {
      code: 'ERR_STUCK',
      message: expect.stringMatching(
        /waiting for "run_1", "run_2"[^]*parked run_1(?![^]*background)/,
      ) as unknown,
    }
    expect(await one.outcome).toMatchObject(error)
    expect(await other.outcome).toMatchObject(error)
    expect(clock.now()).toBe(START)
  })

  describe('when an answer was forgotten', () => {
    const forgotten: WaitedToken = {
      id: 'waitpoint_1',
      kind: 'MANUAL',
      tags: [],
      timeoutAt: START + 600_000,
      isTimeoutDefault: true,
      origin: '/app/review.ts:3:5',
    }
    const run: WaitingRun = {
      id: 'run_1',
      taskId: 'review',
      origin: '/app/a.test.ts:1:1',
      waits: [forgotten],
    }
    const deadline = { label: 'deadline of token waitpoint_1', forgotten: () => forgotten }

    it('ends what is awaited, at once and with the wait graph, instead of passing a default deadline', async () => {
      const clock = bareTestClock()
      clock.setTimer(START + 5, () => undefined, { label: 'retention', background: true })
      clock.setTimer(START + 600_000, () => expect.unreachable(), deadline)
      clock.hold({ kind: 'parked', id: 'run_1', run: () => run })
      const { outcome } = demand(clock)
      expect(await outcome).toMatchObject({
        code: 'ERR_STUCK',
        graph: [run],
        message: expect.stringMatching(
          /onUnanswered[^]*run run_1 of task "review"[^]*review.ts:3:5/,
        ) as unknown,
      })
      expect(clock.now()).toBe(START)
    })

    it('passes what comes before', async () => {
      const clock = bareTestClock()
      clock.setTimer(START + 600_000, () => expect.unreachable(), deadline)
      const { arrive, outcome } = demand(clock)
      clock.setTimer(START + 599_999, arrive)
      expect(await outcome).toBe(599_999)
    })

    it('lets the token time out if told so', async () => {
      const clock = bareTestClock({ onUnanswered: 'timeout' })
      const { arrive, outcome } = demand(clock)
      clock.setTimer(START + 600_000, arrive, deadline)
      expect(await outcome).toBe(600_000)
    })

    it('lets it time out while test code sleeps for a given time', async () => {
      const clock = bareTestClock()
      const fired: number[] = []
      clock.setTimer(START + 600_000, () => fired.push(clock.now() - START), deadline)
      const { outcome } = demand(clock)
      await clock.sleep('1h')
      expect(fired).toEqual([600_000])
      expect(await outcome).toMatchObject({ code: 'ERR_STUCK' })
    })

    it('lets it time out in an explicit step', async () => {
      const clock = bareTestClock()
      const fired: number[] = []
      clock.setTimer(START + 600_000, () => fired.push(clock.now() - START), deadline)
      await clock.advance('1h')
      expect(fired).toEqual([600_000])
    })

    it('ends `until` as well, unless it only goes so far', async () => {
      const clock = bareTestClock()
      clock.setTimer(START + 600_000, () => expect.unreachable(), deadline)
      await expect(clock.until(() => false, { within: '9m' })).rejects.toMatchObject({
        code: 'ERR_VIRTUAL_TIMEOUT',
      })
      await expect(clock.until(() => false)).rejects.toMatchObject({ code: 'ERR_STUCK' })
      expect(clock.now()).toBe(START + 540_000)
    })
  })

  it('tells a wait only once that it can never end', async () => {
    const clock = bareTestClock()
    const failures: Error[] = []
    const release = clock.hold({ kind: 'awaited', id: 'run_1', fail: (error) => failures.push(error) })
    await turns(5)
    clock.hold({ kind: 'parked', id: 'run_1' })
    await turns(5)
    expect(failures).toHaveLength(1)
    release()
  })

  it('goes on with a wait that cannot be failed once there is something to wait for', async () => {
    const clock = bareTestClock()
    const { promise, resolve } = createDeferred<number>()
    const release = clock.hold({ kind: 'awaited', id: 'run_1' })
    await turns(5)
    clock.setTimer(START + 5, () => resolve(clock.now() - START))
    expect(await promise).toBe(5)
    release()
  })

  it('does not keep the process busy meanwhile', async () => {
    const printed = await runInChild(`
      import { bareTestClock } from './src/clock/test.ts'
      bareTestClock().hold({ kind: 'awaited', id: 'run_1' })
      process.on('exit', () => console.log('idle'))
    `)
    expect(printed).toBe('idle\n')
  })

  it.each([0, 5])('ends a wait that timers without end, %i ms apart, do not bring about', async (inMs) => {
    const clock = bareTestClock({ maxSteps: 20 })
    const again = (): unknown => clock.setTimer(clock.now() + inMs, again, { label: 'again' })
    again()
    expect(await demand(clock).outcome).toMatchObject({ code: 'ERR_RUNAWAY', labels: ['again'] })
  })

  it.each<[string, (again: () => void) => void]>([
    ['timers', (again) => again()],
    ['code', (again) => void Promise.resolve().then(again)],
  ])('stops a loop without end of %s once it is reported, until it is asked again', async (_what, go) => {
    const clock = bareTestClock({ mode: 'manual', maxSteps: 20 })
    let fired = 0
    let isEndless = true
    const again = (): void => {
      fired += 1
      if (isEndless) clock.setTimer(clock.now(), () => go(again), { label: 'again' })
    }
    again()
    await expect(clock.settle()).rejects.toMatchObject({ code: 'ERR_RUNAWAY' })
    const seen = fired
    await turns(50)
    expect(fired).toBe(seen)

    const release = clock.hold({ kind: 'call', id: 'a call of the engine' })
    await turns(50)
    expect(fired).toBe(seen + 21)
    release()
    await expect(clock.settle()).rejects.toMatchObject({ code: 'ERR_RUNAWAY' })

    isEndless = false
    await clock.settle()
    clock.setTimer(clock.now() + 5, again)
    await clock.advance(5)
    expect(clock.pending()).toEqual([])
  })

  it('goes on with a wait that was there before a call met a loop without end', async () => {
    const clock = bareTestClock({ maxSteps: 20 })
    const { arrive, outcome } = demand(clock)
    let fired = 0
    const again = (): unknown =>
      (fired += 1) > 30 ? arrive() : clock.setTimer(clock.now() + 5, again, { label: 'again' })
    again()
    await expect(clock.runAll()).rejects.toMatchObject({ code: 'ERR_RUNAWAY' })
    expect(await outcome).toBe(150)
  })

  it('reports a loop without end to each wait', async () => {
    const clock = bareTestClock({ maxSteps: 20 })
    const again = (): unknown => clock.setTimer(clock.now(), again, { label: 'again' })
    again()
    for (const id of ['run_1', 'run_2', 'run_3'])
      expect(await demand(clock, id).outcome).toMatchObject({ code: 'ERR_RUNAWAY' })
  })

  it('counts what happens at one instant anew for every instant', async () => {
    const clock = bareTestClock({ maxSteps: 10 })
    const { arrive, outcome } = demand(clock)
    for (let inMs = 1; inMs <= 8; inMs++) {
      clock.setTimer(START + inMs, () => {
        for (let due = 0; due < 3; due++) clock.setTimer(clock.now(), () => undefined)
      })
    }
    clock.setTimer(START + 9, arrive)
    expect(await outcome).toBe(9)
  })

  it('counts no upkeep at one instant', async () => {
    const clock = bareTestClock({ maxSteps: 10 })
    const { arrive, outcome } = demand(clock)
    for (let due = 0; due < 50; due++)
      clock.setTimer(clock.now(), () => undefined, { label: 'upkeep', background: true })
    clock.setTimer(START + 9, arrive)
    expect(await outcome).toBe(9)
  })

  it('counts anew for every new wait and sleep', async () => {
    const clock = bareTestClock({ maxSteps: 20 })
    const again = (): unknown => clock.setTimer(clock.now() + 5, again, { label: 'again' })
    again()
    for (let wait = 1; wait <= 5; wait++) {
      const { arrive, outcome } = demand(clock)
      clock.setTimer(clock.now() + 80, arrive)
      expect(await outcome).toBe(80 * wait)
    }
    for (let sleep = 1; sleep <= 5; sleep++) await clock.sleep(80)
    expect(clock.now() - START).toBe(800)
  })
})

describe.each<BareTestClockOptions['mode']>(['manual', 'frozen'])('mode %s', (mode) => {
  it('does not move for what is awaited, and does not end it', async () => {
    const clock = bareTestClock({ mode })
    const { arrive, outcome } = demand(clock)
    const outcomes: unknown[] = []
    void outcome.then((value) => outcomes.push(value))
    clock.setTimer(START + 5, () => expect.unreachable())
    await turns(10)
    expect(clock.now()).toBe(START)
    expect(outcomes).toEqual([])
    arrive()
  })
})
