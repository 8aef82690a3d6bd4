import { readFile } from 'node:fs/promises'
import { setImmediate as macrotask } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { type TestClock, bareTestClock, type BareTestClockOptions } from '../../src/clock/test.ts'
import type { WitnessedDeadline } from '../../src/clock/virtual/witnessed.ts'
import { runInChild } from './child-process.ts'
import { clockLaws } from './clock-laws.ts'

const START = Date.UTC(2000, 0, 1)

describe('testClock', () => {
  clockLaws(() => {
    const clock = bareTestClock()
    return { clock, elapse: (durationMs) => clock.advance(durationMs) }
  })

  it.each([
    ['null', null],
    ['a number', 5],
    ['a misspelt option', { stat: 0 }],
    ['a mode there is not', { mode: 'manuel' }],
    ['a start that is a string', { start: '' }],
    ['a start of null', { start: null }],
    ['a grace that is a string', { ioGraceMs: '5' }],
    ['no steps', { maxSteps: 0 }],
  ])('refuses options that cannot be used: %s', (_name, options) => {
    expect(() => bareTestClock(options as never)).toThrow(/^Cannot (use|read) /)
  })

  it.each<[string, (clock: TestClock) => unknown]>([
    ['settle(null)', (clock) => clock.settle(null as never)],
    ['until(null)', (clock) => clock.until(null as never)],
    ['until({})', (clock) => clock.until({} as never)],
    ['until with a misspelt limit', (clock) => clock.until(Promise.resolve(), { withn: 5 } as never)],
    ['advance with no signal', (clock) => clock.advance(1, { signal: null as never })],
    ['setWall(null)', (clock) => clock.setWall(null as never)],
    ['sleep with null', (clock) => clock.sleep(1, null as never)],
    ['external(5)', async (clock) => clock.external(5 as never)],
  ])('rejects calls that cannot be carried out, and stays where it is: %s', async (_name, call) => {
    const clock = bareTestClock({ mode: 'manual' })
    const start = clock.now()
    await expect(call(clock) as Promise<unknown>).rejects.toThrow(/^Cannot (use|read|wait) /)
    expect([clock.now(), clock.pending()]).toEqual([start, []])
  })

  it('starts with the year 2000, or where it is told to', () => {
    expect(bareTestClock().now()).toBe(START)
    expect(bareTestClock({ start: 5 }).now()).toBe(5)
    expect(bareTestClock({ start: new Date(7) }).now()).toBe(7)
    expect(() => bareTestClock({ start: 0.5 })).toThrow(RangeError)
    expect(() => bareTestClock({ start: new Date(NaN) })).toThrow('Cannot read instant Invalid Date')
  })

  it.each(['auto', 'manual', 'frozen'] as const)('stands still by itself in mode %s', async (mode) => {
    const clock = bareTestClock({ mode })
    clock.setTimer(START + 1, () => expect.unreachable())
    await macrotask()
    await macrotask()
    expect(clock.now()).toBe(START)
  })

  it.each(['auto', 'manual', 'frozen'] as const)(
    'fires what is due without a call in mode %s',
    async (mode) => {
      const clock = bareTestClock({ mode })
      const fired: string[] = []
      await new Promise<void>((resolve) => {
        clock.setTimer(START, () => {
          fired.push('due')
          clock.setTimer(START - 1, () => {
            fired.push('overdue')
            resolve()
          })
        })
      })
      expect(fired).toEqual(['due', 'overdue'])
      expect(clock.now()).toBe(START)
    },
  )

  it('refuses a mode, or what happens to unanswered waits, that it does not know', () => {
    const options = (name: string, value: string): BareTestClockOptions => ({ [name]: value })
    expect(() => bareTestClock(options('mode', 'automatic'))).toThrow(
      'Cannot use mode "automatic" of testClock: use auto, manual, frozen',
    )
    expect(() => bareTestClock(options('onUnanswered', 'ignore'))).toThrow(
      'Cannot use onUnanswered "ignore" of testClock: use error, timeout',
    )
  })

  it('can stand beside others', async () => {
    const [one, other] = [bareTestClock(), bareTestClock()]
    await Promise.all([one.advance('1h'), other.advance('2h')])
    expect([one.now(), other.now()]).toEqual([START + 3_600_000, START + 7_200_000])
  })

  describe('external', () => {
    it('keeps time standing still until real I/O has settled, whatever its outcome', async () => {
      const clock = bareTestClock({ ioGraceMs: 1 })
      const seen: unknown[] = []
      const read = clock.external(readFile(import.meta.filename), { label: 'reading this file' })
      const missing = clock.external(readFile('/nowhere/at/all'))
      read.then(
        () => seen.push(['read', clock.now()]),
        () => undefined,
      )
      missing.catch(() => seen.push(['missing', clock.now()]))
      expect(clock.timeline()).toContain('external reading this file')
      await clock.advance(10)
      expect(seen).toHaveLength(2)
      expect(seen).toEqual(
        expect.arrayContaining([
          ['read', START],
          ['missing', START],
        ]),
      )
    })

    it('keeps automatic time standing still as well', async () => {
      const clock = bareTestClock()
      const file = clock.external(readFile(import.meta.filename)).then(() => clock.now())
      await clock.sleep('1h')
      expect(await file).toBe(START)
    })
  })

  describe('pending', () => {
    it('lists what is scheduled in the order in which it will fire, and where it was set', async () => {
      const clock = bareTestClock()
      clock.setTimer(START + 20, () => undefined, { label: 'last' })
      clock.setTimer(START + 10, () => undefined, { label: 'upkeep', background: true })
      clock.setTimer(START + 10, () => undefined, { label: 'second' })
      clock.setTimer(START + 10, () => undefined, { label: 'canceled' })()
      await clock.advance(5)
      clock.setTimer(START + 20, () => undefined)
      expect(clock.pending()).toEqual([
        { at: START + 10, label: 'upkeep', background: true, setAt: START, stack: '' },
        {
          at: START + 10,
          label: 'second',
          background: false,
          setAt: START,
          stack: expect.any(String) as unknown,
        },
        {
          at: START + 20,
          label: 'last',
          background: false,
          setAt: START,
          stack: expect.any(String) as unknown,
        },
        {
          at: START + 20,
          label: 'timer',
          background: false,
          setAt: START + 5,
          stack: expect.any(String) as unknown,
        },
      ])
      expect(clock.pending()[1]?.stack).toContain('test.test.ts')
    })
  })

  describe('pending, with what a fixture knows', () => {
    const deadline = (id: string, at: number): WitnessedDeadline => {
      return { tokenId: id, at, createdAt: START, whom: 'run run_1', origin: '/app/review.ts:3:5' }
    }

    it('lists every deadline that a timer stands for, each once, among the other timers', () => {
      const clock = bareTestClock()
      const deadlines = (): WitnessedDeadline[] => [deadline('b', START + 20), deadline('a', START + 10)]
      for (const label of ['deadline of token a', 'deadline of token a'])
        clock.setTimer(START + 10, () => undefined, { label, deadlines })
      clock.setTimer(START + 15, () => undefined, { label: 'other' })
      expect(clock.pending().map(({ label, at, tokenId }) => [label, at - START, tokenId])).toEqual([
        ['deadline of token a', 10, 'a'],
        ['other', 15, undefined],
        ['deadline of token b', 20, 'b'],
      ])
      expect(clock.pending()[2]).toMatchObject({ whom: 'run run_1', stack: '/app/review.ts:3:5' })
    })

    it('leaves out what was due before the timer, and keeps a timer that is for something else', () => {
      const clock = bareTestClock()
      const about = { label: 'deadline of run run_1', deadlines: () => [deadline('a', START + 5)] }
      clock.setTimer(START + 10, () => undefined, about)
      expect(clock.pending().map(({ label }) => label)).toEqual(['deadline of run run_1'])
    })
  })

  describe('timeline', () => {
    it('says whom a timer is for, as far as a fixture knows', () => {
      const clock = bareTestClock()
      clock.setTimer(START + 5, () => undefined, { label: 'deadline', whom: () => 'run run_1' })
      clock.setTimer(START + 6, () => undefined, { label: 'grace', whom: () => undefined })
      expect(clock.pending().map(({ label, whom }) => [label, whom])).toEqual([
        ['deadline', 'run run_1'],
        ['grace', undefined],
      ])
      expect(clock.timeline()).toContain('+5ms deadline, for run run_1')
    })

    it('shows what fired, who waits and what comes, with distances', async () => {
      const clock = bareTestClock()
      clock.setTimer(START + 1, () => undefined, { label: 'first' })
      clock.setTimer(START + 93_784_005, () => undefined, { label: 'lease', background: true })
      clock.setTimer(START + 100, () => undefined, { label: 'overdue soon' })
      clock.hold({ kind: 'parked', id: 'run_1' })
      await clock.advance(4)
      expect(clock.timeline().split('\n')).toEqual([
        '2000-01-01T00:00:00.001Z fired first',
        '2000-01-01T00:00:00.004Z now',
        '  parked run_1',
        '2000-01-01T00:00:00.100Z +96ms overdue soon',
        '2000-01-02T02:03:04.005Z +1d 2h 3m 4s 1ms lease (background)',
      ])
    })

    it('does not list a crowd', () => {
      const clock = bareTestClock()
      for (let index = 0; index < 25; index++) clock.hold({ kind: 'parked', id: `run_${index}` })
      expect(clock.timeline()).toContain('run_19\n  and 5 more')
      for (let index = 0; index < 27; index++) clock.setTimer(START + index, () => undefined)
      expect(clock.timeline()).toMatch(/19ms timer\nand 7 more$/)
    })
  })

  describe('disposal', () => {
    it('is silent when only upkeep is left', async () => {
      const clock = bareTestClock()
      clock.setTimer(START + 1, () => undefined, { label: 'lease', background: true })
      clock.signal('1h')
      await expect(clock[Symbol.asyncDispose]()).resolves.toBeUndefined()
      expect(clock.pending()).toEqual([])
    })

    it('names what is left also when so many timers were set that their places are not kept', async () => {
      const clock = bareTestClock({ mode: 'manual' })
      for (let count = 0; count < 300; count++) clock.setTimer(START + 1, () => undefined)()
      clock.setTimer(START + 1, () => undefined, { label: 'late' })
      await expect(clock[Symbol.asyncDispose]()).rejects.toThrow(/\ntimer "late"$/)
    })

    it('names what is left and where it was set, and drops it', async () => {
      const clock = bareTestClock({ mode: 'manual' })
      clock.setTimer(START + 1, () => undefined, { label: 'forgotten' })
      clock.hold({ kind: 'awaited', id: 'run_1' })
      await expect(clock[Symbol.asyncDispose]()).rejects.toMatchObject({
        name: 'LeftoverError',
        code: 'ERR_LEFTOVER',
        message: expect.stringMatching(/timer "forgotten"[^]*test\.test\.ts[^]*awaits "run_1"/) as unknown,
      })
      expect(clock.pending()).toEqual([])
    })
  })

  it('works under fake globals and leaves an error in a callback uncaught, after the others', async () => {
    const printed = await runInChild(`
      import { bareTestClock } from './src/clock/test.ts'
      for (const name of ['setTimeout', 'setImmediate']) globalThis[name] = () => { throw new Error(name) }
      process.on('uncaughtException', (error) => console.log('uncaught', error.message))
      const clock = bareTestClock()
      clock.setTimer(clock.now() + 1, () => { throw new Error('one') })
      clock.setTimer(clock.now() + 1, () => console.log('two'))
      await clock.advance(5)
      console.log('advanced')
    `)
    expect(printed).toBe('uncaught one\ntwo\nadvanced\n')
  })
})
