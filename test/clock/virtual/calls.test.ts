import { setImmediate as macrotask } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bareTestClock, type TestClock } from '../../../src/clock/test.ts'
import { Statements } from '../../../src/testing/storages/statements.ts'

const START = Date.UTC(2000, 0, 1)

/** Offsets of timers; each sets the next one of its list when it fires. */
const chains = fc.array(fc.array(fc.integer({ min: 0, max: 30 }), { minLength: 1, maxLength: 4 }), {
  maxLength: 8,
})

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await macrotask()
}

type Log = (readonly [name: string, at: number])[]

/** Sets the chains on a clock and notes every firing, seen from some microtasks and a macrotask later. */
function setChains(clock: TestClock, offsets: readonly (readonly number[])[]): Log {
  const log: Log = []
  const link = (name: string, [offset, ...rest]: readonly number[]): void => {
    if (offset === undefined) return
    clock.setTimer(clock.now() + offset, () => void follow(`${name}/${rest.length}`, name, rest))
  }
  const follow = async (label: string, name: string, rest: readonly number[]): Promise<void> => {
    const release = clock.hold({ kind: 'executing', id: name })
    await Promise.resolve()
    await macrotask()
    log.push([label, clock.now() - START])
    link(name, rest)
    release()
  }
  for (const [index, chain] of offsets.entries()) link(`chain ${index}`, chain)
  return log
}

function setLabeled(clock: TestClock, timers: Readonly<Record<string, number>>): string[] {
  const fired: string[] = []
  for (const [label, inMs] of Object.entries(timers)) {
    const note = (): unknown => fired.push(`${label} at +${clock.now() - START}`)
    clock.setTimer(clock.now() + inMs, note, { label })
  }
  return fired
}

describe('settle', () => {
  it('waits for who is busy, through any number of turns, without moving time', async () => {
    const clock = bareTestClock()
    const release = clock.hold({ kind: 'executing', id: 'run_1' })
    let turns = 0
    const work = async (): Promise<void> => {
      for (; turns < 20; turns++) await macrotask()
      release()
    }
    const working = work()
    await clock.settle()
    expect(turns).toBe(20)
    expect(clock.now()).toBe(START)
    await working
  })

  it('waits for real I/O without a hold, however long it takes, and for its consequences', async () => {
    const io = new Statements()
    const clock = bareTestClock({ ioGraceMs: 0, io })
    const seen: string[] = []
    const ask = async (): Promise<void> => {
      const release = clock.hold({ kind: 'call', id: 'storage.tick' })
      await io.watch(turns(20))
      release()
      clock.setTimer(START, () => seen.push('fired'))
      await io.watch(turns(20))
      seen.push('answered')
    }
    const asked = ask()
    await clock.settle()
    expect(seen).toEqual(['fired', 'answered'])
    await asked
  })

  it('rejects when busy code does nothing for the grace time, and names it', async () => {
    const clock = bareTestClock({ ioGraceMs: 5 })
    clock.hold({ kind: 'executing', id: 'run_1' })
    clock.hold({ kind: 'call', id: 'storage.tick' })
    clock.hold({ kind: 'parked', id: 'run_2' })
    await expect(clock.settle()).rejects.toMatchObject({
      name: 'StillBusyError',
      code: 'ERR_STILL_BUSY',
      ids: ['run_1', 'storage.tick'],
      message: expect.stringContaining('"run_1" (executing), "storage.tick" (call)') as unknown,
    })
    await expect(clock.advance(1)).rejects.toThrow('clock.external')
  })

  it('does not wait for streams whose run has returned, nor for what is parked or awaited', async () => {
    const clock = bareTestClock({ mode: 'manual' })
    for (const kind of ['draining', 'parked', 'awaited'] as const) clock.hold({ kind, id: 'run_1' })
    await clock.advance('1h')
    expect(clock.now()).toBe(START + 3_600_000)
  })

  it('ends the hold of one caller only, however often it is released', async () => {
    const clock = bareTestClock({ ioGraceMs: 5 })
    const hold = { kind: 'executing', id: 'run_1' } as const
    const release = clock.hold(hold)
    clock.hold(hold)
    release()
    release()
    await expect(clock.settle()).rejects.toMatchObject({ ids: ['run_1'] })
  })

  it('says so when timers set timers at the same instant without end', async () => {
    const clock = bareTestClock({ maxSteps: 50 })
    const again = (): unknown => clock.setTimer(clock.now(), again, { label: 'again' })
    clock.setTimer(START, () => undefined, { label: 'once' })
    clock.setTimer(START, again, { label: 'again' })
    await expect(clock.settle()).rejects.toMatchObject({
      name: 'RunawayError',
      code: 'ERR_RUNAWAY',
      labels: ['again', 'once'],
    })
  })
})

describe('advance', () => {
  it('shows everything that follows from a timer the instant of that timer', async () => {
    await fc.assert(
      fc.asyncProperty(chains, async (offsets) => {
        const clock = bareTestClock()
        const log = setChains(clock, offsets)
        await clock.advance(200)
        const expected = offsets.flatMap((chain, index) =>
          chain.map((_offset, link) => [
            `chain ${index}/${chain.length - link - 1}`,
            chain.slice(0, link + 1).reduce((sum, offset) => sum + offset, 0),
          ]),
        )
        expect(log).toHaveLength(expected.length)
        expect(log).toEqual(expect.arrayContaining(expected))
        expect(clock.now()).toBe(START + 200)
      }),
    )
  })

  it('composes: two steps are the same as their sum', async () => {
    await fc.assert(
      fc.asyncProperty(chains, fc.nat(60), fc.nat(60), async (offsets, first, second) => {
        const [halves, whole] = [bareTestClock(), bareTestClock()]
        const [halvesLog, wholeLog] = [setChains(halves, offsets), setChains(whole, offsets)]
        await halves.advance(first)
        await halves.advance(second)
        await whole.advance(first + second)
        expect(halvesLog).toEqual(wholeLog)
        expect(halves.now()).toBe(whole.now())
        expect(halves.pending().map(({ at }) => at)).toEqual(whole.pending().map(({ at }) => at))
      }),
    )
  })

  it('lets everything rest between two timers of one instant', async () => {
    const clock = bareTestClock()
    const seen: string[] = []
    clock.setTimer(START + 1, () => {
      seen.push('first')
      void Promise.resolve().then(() => seen.push('what follows'))
    })
    clock.setTimer(START + 1, () => seen.push('second'))
    await clock.advance(1)
    expect(seen).toEqual(['first', 'what follows', 'second'])
  })

  it('stops exactly at its end, timers of that instant included', async () => {
    const clock = bareTestClock()
    const fired = setLabeled(clock, { a: 60_000, b: 60_001 })
    await clock.advance('1m')
    expect(fired).toEqual(['a at +60000'])
    expect(clock.now()).toBe(START + 60_000)
  })

  it('refuses what is no duration', async () => {
    const clock = bareTestClock()
    await expect(clock.advance(-1)).rejects.toThrow(RangeError)
    await expect(clock.advance('soon')).rejects.toThrow('"soon"')
    expect(clock.now()).toBe(START)
  })
})

describe('advanceTo', () => {
  it('moves on to an instant or a date', async () => {
    const clock = bareTestClock()
    const fired = setLabeled(clock, { a: 5, b: 10 })
    await clock.advanceTo(START + 5)
    expect(fired).toEqual(['a at +5'])
    await clock.advanceTo(new Date(START + 10))
    expect(fired).toEqual(['a at +5', 'b at +10'])
  })

  it('refuses the past', async () => {
    const clock = bareTestClock()
    await clock.advance(5)
    await expect(clock.advanceTo(START + 4)).rejects.toThrow(RangeError)
    await expect(clock.advanceTo(NaN)).rejects.toThrow(RangeError)
    expect(clock.now()).toBe(START + 5)
  })
})

describe('next', () => {
  it('fires one timer at its instant and answers what it was', async () => {
    const clock = bareTestClock()
    const fired = setLabeled(clock, { late: 10, early: 3 })
    expect(await clock.next()).toEqual({ at: START + 3, label: 'early', background: false })
    expect(fired).toEqual(['early at +3'])
    expect(clock.now()).toBe(START + 3)
    await clock.next()
    expect(await clock.next()).toBeNull()
    expect(clock.now()).toBe(START + 10)
  })
})

describe('until', () => {
  it('moves on only as far as a promise needs, and answers its value', async () => {
    const clock = bareTestClock({ mode: 'manual' })
    const fired = setLabeled(clock, { a: 5, c: 20 })
    const promise = new Promise((resolve) => clock.setTimer(START + 10, () => resolve('b')))
    expect(await clock.until(promise)).toBe('b')
    expect(clock.now()).toBe(START + 10)
    expect(fired).toEqual(['a at +5'])
  })

  it('rejects with what the promise rejects with', async () => {
    const clock = bareTestClock()
    const reason = new Error('no')
    await expect(clock.until(Promise.reject(reason))).rejects.toBe(reason)
  })

  it('asks a condition after every step and answers what it says', async () => {
    const clock = bareTestClock()
    const fired = setLabeled(clock, { a: 5, b: 10, c: 20 })
    expect(await clock.until(() => fired.find((label) => label.startsWith('b')))).toBe('b at +10')
    expect(clock.now()).toBe(START + 10)
  })

  it('asks an async condition whenever code is at rest, and answers what it resolves with', async () => {
    const clock = bareTestClock({ mode: 'manual' })
    const fired = setLabeled(clock, { a: 5, b: 10, c: 20 })
    const askedAt = new Set<number>()
    const condition = async (): Promise<string | undefined> => {
      askedAt.add(clock.now() - START)
      // A call of an engine.
      const release = clock.hold({ kind: 'call', id: 'runs.retrieve' })
      await turns(20)
      release()
      return fired.find((label) => label.startsWith('b'))
    }
    expect(await clock.until(condition)).toBe('b at +10')
    expect([...askedAt]).toEqual([0, 5, 10])
    const reason = new Error('no')
    await expect(clock.until(() => Promise.reject(reason))).rejects.toBe(reason)
    await expect(clock.until(() => Promise.resolve(false), { within: 5 })).rejects.toMatchObject({
      code: 'ERR_VIRTUAL_TIMEOUT',
    })
    await expect(clock.until(() => Promise.resolve(0))).rejects.toMatchObject({ code: 'ERR_STUCK' })
  })

  it('lets time pass for an async condition that waits for time itself', async () => {
    const clock = bareTestClock({ mode: 'manual' })
    setLabeled(clock, { a: 5, b: 10 })
    expect(await clock.until(() => clock.sleep(7).then(() => clock.now() - START))).toBe(7)
  })

  it('keeps time standing still until an async condition has answered', async () => {
    const clock = bareTestClock({ mode: 'manual', ioGraceMs: 86_400_000 })
    setLabeled(clock, { a: 5 })
    expect(await clock.until(() => turns(20).then(() => true))).toBe(true)
    expect(clock.now()).toBe(START)
  })

  it('says so when an async condition does not answer', async () => {
    const clock = bareTestClock({ ioGraceMs: 5 })
    await expect(clock.until(() => new Promise(() => undefined))).rejects.toMatchObject({
      code: 'ERR_STILL_BUSY',
      ids: ['the condition of `until`'],
    })
  })

  it('waits for the outcome of a run', async () => {
    const clock = bareTestClock()
    const outcome = new Promise((resolve) => clock.setTimer(START + 1, () => resolve({ ok: true })))
    expect(await clock.until({ outcome: () => outcome })).toEqual({ ok: true })
  })

  it('rejects at once when nothing is left that could help, and shows what there is', async () => {
    const clock = bareTestClock()
    setLabeled(clock, { a: 5 })
    clock.setTimer(START + 100, () => undefined, { label: 'lease', background: true })
    clock.hold({ kind: 'parked', id: 'run_1' })
    await expect(clock.until(() => false)).rejects.toMatchObject({
      name: 'StuckError',
      code: 'ERR_STUCK',
      message: expect.stringMatching(/fired a[^]*parked run_1(?![^]*background)/) as unknown,
    })
    expect(clock.now()).toBe(START + 5)
  })

  it('rejects past its virtual time, and not before', async () => {
    const clock = bareTestClock()
    setLabeled(clock, { a: 50 })
    await expect(clock.until(() => false, { within: 49 })).rejects.toMatchObject({
      name: 'VirtualTimeoutError',
      code: 'ERR_VIRTUAL_TIMEOUT',
      message: expect.stringContaining('+1ms a') as unknown,
    })
    expect(clock.now()).toBe(START + 49)
    await expect(clock.until(() => clock.now() >= START + 50, { within: 1 })).resolves.toBe(true)
  })

  it('does not lose patience with others once its goal is met', async () => {
    // Nor does it wait for so long.
    const clock = bareTestClock({ ioGraceMs: 86_400_000 })
    clock.hold({ kind: 'executing', id: 'run_1' })
    await expect(clock.until(macrotask('done'))).resolves.toBe('done')
  })

  it('says so when timers without end do not bring it about', async () => {
    const clock = bareTestClock({ maxSteps: 20 })
    const again = (): unknown => clock.setTimer(clock.now() + 5, again, { label: 'again' })
    again()
    await expect(clock.until(() => false)).rejects.toMatchObject({ code: 'ERR_RUNAWAY', labels: ['again'] })
  })

  it('says so after 25,000 timers, before a test runner loses its patience', async () => {
    const clock = bareTestClock()
    const again = (): unknown => clock.setTimer(clock.now() + 5, again, { label: 'again' })
    again()
    await expect(clock.until(() => false)).rejects.toThrow('25000 timers fired in one call')
  })
})

describe('runAll', () => {
  it('moves on until only upkeep is scheduled', async () => {
    const clock = bareTestClock()
    const beat = (): unknown => clock.setTimer(clock.now() + 10, beat, { label: 'lease', background: true })
    beat()
    const log = setChains(clock, [[5, 50], [7]])
    await clock.runAll()
    expect(log.map(([, at]) => at)).toEqual([5, 7, 55])
    expect(clock.now()).toBe(START + 55)
  })

  it('says so when it does not come to an end', async () => {
    const clock = bareTestClock({ maxSteps: 20 })
    const again = (): unknown => clock.setTimer(clock.now() + 5, again, { label: 'again' })
    again()
    await expect(clock.runAll()).rejects.toMatchObject({ code: 'ERR_RUNAWAY', labels: ['again'] })
  })
})

describe('jump', () => {
  it('moves first, then fires everything overdue once, in order', async () => {
    const clock = bareTestClock()
    const fired = setLabeled(clock, { b: 10, a: 5, c: 20 })
    await clock.jump(15)
    expect(fired).toEqual(['a at +15', 'b at +15'])
    expect(clock.now()).toBe(START + 15)
  })
})

describe('setWall', () => {
  it('moves deadlines with the wall clock: forwards they are overdue, backwards they are farther', async () => {
    const clock = bareTestClock()
    const fired = setLabeled(clock, { a: 5, b: 10 })
    await clock.setWall(START + 7)
    expect(fired).toEqual(['a at +7'])
    await clock.setWall(new Date(START - 100))
    await clock.advance(109)
    expect(fired).toHaveLength(1)
    await clock.advance(1)
    expect(fired).toEqual(['a at +7', 'b at +10'])
  })
})

describe('every call', () => {
  it('waits for the ones before it', async () => {
    const clock = bareTestClock()
    const fired = setLabeled(clock, { a: 5, b: 10, c: 15 })
    const ends = await Promise.all([
      clock.advance(5).then(() => fired.length),
      clock.next().then(() => fired.length),
      clock.advanceTo(START + 15).then(() => fired.length),
    ])
    expect(ends).toEqual([1, 2, 3])
  })

  it('goes on after one that failed', async () => {
    const clock = bareTestClock()
    const failing = clock.advanceTo(START - 1)
    const next = clock.advance(5)
    await expect(failing).rejects.toThrow(RangeError)
    await next
    expect(clock.now()).toBe(START + 5)
  })

  it('rejects with the reason of its signal, before it starts and on the way', async () => {
    const clock = bareTestClock()
    const reason = new Error('enough')
    await expect(clock.jump(5, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect(clock.now()).toBe(START)

    const controller = new AbortController()
    clock.setTimer(START + 5, () => controller.abort(reason))
    await expect(clock.advance(10, { signal: controller.signal })).rejects.toBe(reason)
    expect(clock.now()).toBe(START + 5)
  })

  it('does not wait for who is busy once its signal is aborted', async () => {
    const clock = bareTestClock({ ioGraceMs: 60_000 })
    clock.hold({ kind: 'executing', id: 'run_1' })
    const controller = new AbortController()
    const settled = clock.settle({ signal: controller.signal })
    await macrotask()
    await macrotask()
    controller.abort()
    await expect(settled).rejects.toMatchObject({ name: 'AbortError' })
  })

  const calls: Readonly<Record<string, (clock: TestClock) => Promise<unknown>>> = {
    settle: (clock) => clock.settle(),
    advance: (clock) => clock.advance(1),
    advanceTo: (clock) => clock.advanceTo(START + 1),
    next: (clock) => clock.next(),
    until: (clock) => clock.until(() => true),
    runAll: (clock) => clock.runAll(),
    jump: (clock) => clock.jump(1),
    setWall: (clock) => clock.setWall(START + 1),
  }

  it.each(Object.entries(calls))('%s refuses to be called by task code', async (name, call) => {
    const clock = bareTestClock({ currentRun: () => 'run_1' })
    await expect(call(clock)).rejects.toMatchObject({
      name: 'ClockReentryError',
      code: 'ERR_CLOCK_REENTRY',
      message: expect.stringMatching(new RegExp(`clock\\.${name}\\b.*run "run_1"`)) as unknown,
    })
    expect(clock.now()).toBe(START)
  })

  it.each(Object.entries(calls).slice(1))('%s does not move a frozen clock', async (_name, call) => {
    const clock = bareTestClock({ mode: 'frozen' })
    await expect(call(clock)).rejects.toThrow('use mode "manual"')
    expect(clock.now()).toBe(START)
  })
})
