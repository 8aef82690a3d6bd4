import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Deadline, DeadlineQueue } from '../../src/primitives/deadline-queue.ts'

type Step =
  | { readonly kind: 'add'; readonly at: number }
  | { readonly kind: 'cancel'; readonly pick: number }
  | { readonly kind: 'pop' }
  | { readonly kind: 'popDue'; readonly now: number }

// Few instants, so that many deadlines share one.
const instants = fc.oneof(
  fc.integer({ min: -5, max: 20 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
)
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.record({ kind: fc.constant('add' as const), at: instants }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('cancel' as const), pick: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('pop' as const) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('popDue' as const), now: instants }) },
  ),
  { maxLength: 300 },
)

/** What the queue does, said with an array: kept sorted by instant, and by insertion within one. */
class Model {
  sorted: Deadline<number>[] = []

  add(deadline: Deadline<number>): void {
    this.sorted.push(deadline)
    this.sorted.sort((one, other) => one.at - other.at || one.value - other.value)
  }

  cancel(deadline: Deadline<number>): boolean {
    const known = this.sorted.includes(deadline)
    this.sorted = this.sorted.filter((kept) => kept !== deadline)
    return known
  }

  popDue(now: number): Deadline<number> | undefined {
    const earliest = this.sorted[0]
    return earliest !== undefined && earliest.at <= now ? this.sorted.shift() : undefined
  }
}

function drain<T>(queue: DeadlineQueue<T>): T[] {
  const values: T[] = []
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) values.push(next.value)
  return values
}

describe('DeadlineQueue', () => {
  it('gives what a sorted array would give, after any adds, cancels and pops', () => {
    fc.assert(
      fc.property(steps, (taken) => {
        const queue = new DeadlineQueue<number>()
        const model = new Model()
        const added: Deadline<number>[] = []
        const take = (step: Step): void => {
          if (step.kind === 'pop') expect(queue.pop()).toBe(model.popDue(Infinity))
          else if (step.kind === 'popDue') expect(queue.popDue(step.now)).toBe(model.popDue(step.now))
          else if (step.kind === 'add') {
            const deadline = queue.add(step.at, added.length)
            added.push(deadline)
            model.add(deadline)
          } else {
            const deadline = added[step.pick % Math.max(1, added.length)]
            if (deadline !== undefined) expect(queue.cancel(deadline)).toBe(model.cancel(deadline))
          }
        }
        for (const step of taken) {
          take(step)
          expect(queue.size).toBe(model.sorted.length)
          expect(queue.peek()).toBe(model.sorted[0])
        }
        expect(queue.first(7)).toEqual(model.sorted.slice(0, 7))
        expect(queue.first(Infinity)).toEqual(model.sorted)
        expect(drain(queue)).toEqual(model.sorted.map(({ value }) => value))
      }),
    )
  })

  it('fires, of many deadlines, all that were not canceled', () => {
    const many = fc.array(fc.tuple(fc.nat(1_000), fc.boolean()), { minLength: 20, maxLength: 200 })
    fc.assert(
      fc.property(many, (deadlines) => {
        const queue = new DeadlineQueue<number>()
        const added = deadlines.map(([at], order) => queue.add(at, order))
        const kept = added.filter((_, order) => !deadlines[order]![1])
        for (const deadline of added) if (!kept.includes(deadline)) queue.cancel(deadline)
        kept.sort((one, other) => one.at - other.at || one.value - other.value)
        expect(drain(queue)).toEqual(kept.map(({ value }) => value))
      }),
    )
  })

  it('fires deadlines of the same instant in the order they were added', () => {
    const queue = new DeadlineQueue<number>()
    for (let order = 0; order < 1_000; order++) queue.add(5, order)
    expect(drain(queue)).toEqual(Array.from({ length: 1_000 }, (_, order) => order))
  })

  it('holds a deadline back until its instant, which counts as due', () => {
    const queue = new DeadlineQueue<string>()
    queue.add(10, 'tea')
    expect(queue.popDue(9)).toBeUndefined()
    expect(queue.popDue(10)).toMatchObject({ at: 10, value: 'tea' })
  })

  it('cancels a deadline once, and not after it has fired', () => {
    const queue = new DeadlineQueue<string>()
    const canceled = queue.add(1, 'canceled')
    const fired = queue.add(2, 'fired')
    expect([queue.cancel(canceled), queue.cancel(canceled)]).toEqual([true, false])
    queue.pop()
    expect(queue.cancel(fired)).toBe(false)
  })

  it('does not cancel a deadline of another queue, or what only looks like one', () => {
    const queue = new DeadlineQueue<string>()
    queue.add(1, 'mine')
    expect(queue.cancel(new DeadlineQueue<string>().add(1, 'theirs'))).toBe(false)
    expect(queue.cancel({ at: 1, value: 'mine' })).toBe(false)
    expect(queue.size).toBe(1)
  })

  it.each([NaN, Infinity, -Infinity])('refuses a deadline at %d, and adds nothing', (at) => {
    const queue = new DeadlineQueue<string>()
    expect(() => queue.add(at, 'never')).toThrow(
      new RangeError(`Cannot add a deadline at "${at}": use a finite number`),
    )
    expect(queue.size).toBe(0)
  })
})
