import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RingBuffer } from '../../src/primitives/ring-buffer.ts'

interface Kept {
  readonly value: number
  readonly bytes: number
}

/** What a ring does, said with a plain array: the newest values that fit, and how many came before them. */
class Model {
  readonly #capacity: number
  readonly #maxBytes: number
  kept: readonly Kept[] = []
  first: number

  constructor({ capacity, maxBytes, first }: { capacity: number; maxBytes: number; first: number }) {
    this.#capacity = capacity
    this.#maxBytes = maxBytes
    this.first = first
  }

  get bytes(): number {
    return this.kept.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  get next(): number {
    return this.first + this.kept.length
  }

  push(value: number, bytes: number): void {
    this.kept = [...this.kept, { value, bytes }]
    while (this.kept.length > this.#capacity || (this.bytes > this.#maxBytes && this.kept.length > 1)) {
      this.#drop(1)
    }
  }

  clear(): void {
    this.#drop(this.kept.length)
  }

  #drop(count: number): void {
    this.kept = this.kept.slice(count)
    this.first += count
  }
}

/** In a call of its own, so that no variable of the test keeps the target. */
function pushTarget(ring: RingBuffer<object>, reference: WeakRef<object>): void {
  const target = reference.deref()
  if (target !== undefined) ring.push(target, 1)
}

/** A target lives at least until the end of the turn in which it was last reached. */
async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  await nextTurn()
  collect()
}

const pushes = fc.record({ kind: fc.constant('push' as const), value: fc.nat(), bytes: fc.nat(40) })
const actions = fc.array(
  fc.oneof(
    { weight: 30, arbitrary: pushes },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('clear' as const) }) },
  ),
  { maxLength: 200 },
)
const options = fc.record({
  capacity: fc.integer({ min: 1, max: 70 }),
  maxBytes: fc.oneof(fc.constant(Infinity), fc.integer({ min: 1, max: 400 })),
  first: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 2 ** 40 })),
})

describe('RingBuffer', () => {
  it('keeps what an array of the newest values would keep, after any pushes and clears', () => {
    fc.assert(
      fc.property(options, actions, (limits, steps) => {
        const ring = new RingBuffer<number>(limits)
        const model = new Model(limits)
        for (const step of steps) {
          if (step.kind === 'push') {
            expect(ring.push(step.value, step.bytes)).toBe(model.next)
            model.push(step.value, step.bytes)
          } else {
            ring.clear()
            model.clear()
          }
          expect([ring.first, ring.next, ring.bytes]).toEqual([model.first, model.next, model.bytes])
        }
        expect(ring.read(ring.first, Infinity)).toEqual(model.kept.map(({ value }) => value))
      }),
    )
  })

  it('reads any window of what it keeps', () => {
    fc.assert(
      fc.property(options, fc.nat(100), fc.nat(110), fc.nat(110), (limits, count, skip, limit) => {
        const ring = new RingBuffer<number>(limits)
        for (let pushed = 0; pushed < count; pushed++) ring.push(limits.first + pushed)

        const from = ring.first + skip
        const length = Math.max(0, Math.min(limit, ring.next - from))
        expect(ring.read(from, limit)).toEqual(Array.from({ length }, (_, index) => from + index))
      }),
    )
  })

  it('keeps the newest value even when it alone is too large', () => {
    const ring = new RingBuffer<string>({ capacity: 10, maxBytes: 100 })
    ring.push('small', 1)
    ring.push('huge', 1_000)
    expect(ring.read(ring.first, 10)).toEqual(['huge'])
    expect(ring.bytes).toBe(1_000)
  })

  it('keeps values that are undefined', () => {
    const ring = new RingBuffer<undefined>({ capacity: 2 })
    ring.push(undefined)
    expect(ring.read(0, 1)).toEqual([undefined])
  })

  it('lets go of what it has evicted', async () => {
    const ring = new RingBuffer<object>({ capacity: 10, maxBytes: 10 })
    const evicted = new WeakRef({})
    pushTarget(ring, evicted)
    ring.push({}, 10)
    await collectGarbage()
    expect(evicted.deref()).toBeUndefined()
    expect(ring.first).toBe(1)
  })

  it('refuses to read what is gone, naming it', () => {
    const ring = new RingBuffer<number>({ capacity: 1, first: 7 })
    ring.push(1)
    ring.push(2)
    expect(() => ring.read(7, 1)).toThrow(
      new RangeError('Cannot read sequence "7": the oldest one kept is 8'),
    )
    expect(() => ring.read(NaN, 1)).toThrow(RangeError)
  })

  it.each([{ capacity: 0 }, { capacity: 1.5 }, { capacity: NaN }, { capacity: Infinity }])(
    'refuses $capacity as a capacity',
    ({ capacity }) => {
      expect(() => new RingBuffer({ capacity })).toThrow(RangeError)
    },
  )

  it.each([0, -1, NaN])('refuses %d as a limit of bytes', (maxBytes) => {
    expect(() => new RingBuffer({ capacity: 1, maxBytes })).toThrow(RangeError)
  })

  it.each([-1, 0.5, NaN, 2 ** 53])('refuses %d as its first sequence', (first) => {
    expect(() => new RingBuffer({ capacity: 1, first })).toThrow(RangeError)
  })

  it.each([-1, 0.5, NaN, Infinity])('refuses a value of %d bytes, and changes nothing', (bytes) => {
    const ring = new RingBuffer({ capacity: 1 })
    ring.push('kept', 4)
    expect(() => ring.push('refused', bytes)).toThrow(RangeError)
    expect([ring.read(0, 10), ring.bytes]).toEqual([['kept'], 4])
  })
})
