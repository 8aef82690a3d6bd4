import { AsyncLocalStorage } from 'node:async_hooks'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Clock } from '../../src/contract/clock.ts'

/** A clock and the way in which time passes on it. */
export interface OpenClock {
  readonly clock: Clock
  /** Time passes, and with it everything that is due. */
  readonly elapse: (durationMs: number) => Promise<void> | void
}

/** One timer of a plan; offsets count from when it is set. */
interface Plan {
  readonly inMs: number
  readonly isCanceled: boolean
  /** What its callback sets in turn. */
  readonly then: readonly Plan[]
}

interface Firing {
  readonly name: string
  readonly due: number
  readonly order: number
  readonly firedAt: number
}

const { plan: plans } = fc.letrec<{ plan: Plan; wave: readonly Plan[] }>((tie) => ({
  plan: fc.record({
    inMs: fc.integer({ min: -5, max: 20 }),
    isCanceled: fc.boolean(),
    then: tie('wave'),
  }),
  wave: fc.oneof({ maxDepth: 3 }, fc.constant([]), fc.array(tie('plan'), { maxLength: 3 })),
}))

/** Sets what a plan says and notes what fires; cancels what is to be canceled right after it was set. */
function carryOut(clock: Clock, planned: readonly Plan[]): { fired: Firing[]; set: () => number } {
  const fired: Firing[] = []
  let order = 0
  let expected = 0
  const setAll = (wave: readonly Plan[], path: string): void => {
    for (const [index, { inMs, isCanceled, then }] of wave.entries()) {
      const name = `${path}/${index}`
      const due = clock.now() + inMs
      const mine = order++
      if (!isCanceled) expected += 1
      let isSetting = true
      const cancel = clock.setTimer(due, () => {
        expect(isSetting).toBe(false)
        fired.push({ name, due, order: mine, firedAt: clock.now() })
        setAll(then, name)
      })
      isSetting = false
      if (isCanceled) cancel()
    }
  }
  setAll(planned, '')
  return { fired, set: () => expected }
}

/** The laws of the contract, for any clock. */
export function clockLaws(open: () => OpenClock): void {
  it('fires every timer once, never early, and no canceled one', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(plans, { maxLength: 12 }), async (planned) => {
        const { clock, elapse } = open()
        const { fired, set } = carryOut(clock, planned)
        await elapse(500)
        expect(fired).toHaveLength(set())
        expect(new Set(fired.map(({ name }) => name)).size).toBe(fired.length)
        for (const { due, firedAt } of fired) expect(firedAt).toBeGreaterThanOrEqual(due)
      }),
    )
  })

  it('fires timers in the order of their instants, then of their creation', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: -5, max: 20 }), { maxLength: 20 }), async (offsets) => {
        const { clock, elapse } = open()
        const { fired } = carryOut(
          clock,
          offsets.map((inMs) => ({ inMs, isCanceled: false, then: [] })),
        )
        await elapse(50)
        const sorted = fired.toSorted((one, other) => one.due - other.due || one.order - other.order)
        expect(fired).toEqual(sorted)
      }),
    )
  })

  it('fires a timer that is due when it is set after the present turn, before any later one', async () => {
    const { clock, elapse } = open()
    const seen: string[] = []
    clock.setTimer(clock.now() + 1, () => seen.push('later'))
    clock.setTimer(clock.now(), () => {
      seen.push('due')
      clock.setTimer(clock.now(), () => seen.push('due again'))
      void Promise.resolve().then(() => seen.push('microtask'))
    })
    seen.push('set')
    await Promise.resolve()
    expect(seen).toEqual(['set'])
    await elapse(5)
    expect(seen).toEqual(['set', 'due', 'microtask', 'due again', 'later'])
  })

  it('does not fire a timer that another one of the same instant cancels', async () => {
    const { clock, elapse } = open()
    const fired: string[] = []
    clock.setTimer(clock.now() + 1, () => {
      fired.push('first')
      cancel()
      cancel()
    })
    const cancel = clock.setTimer(clock.now() + 1, () => fired.push('second'))
    await elapse(5)
    expect(fired).toEqual(['first'])
  })

  it('refuses an instant that is none', () => {
    const { clock } = open()
    for (const at of [NaN, Infinity, -Infinity]) {
      expect(() => clock.setTimer(at, () => undefined)).toThrow(RangeError)
    }
  })

  it('calls back in the async context in which the timer was set', async () => {
    const { clock, elapse } = open()
    const context = new AsyncLocalStorage<string>()
    const seen: unknown[] = []
    const note = (): unknown => seen.push(context.getStore())
    clock.setTimer(clock.now() + 1, note)
    context.run('a', () => clock.setTimer(clock.now() + 1, note))
    context.run('b', () => clock.setTimer(clock.now(), note))
    await elapse(5)
    expect(seen).toEqual(['b', undefined, 'a'])
  })

  it('answers whole milliseconds', () => {
    expect(Number.isInteger(open().clock.now())).toBe(true)
  })
}
