import type { Contestant } from '../contest.ts'
import { importPeer } from './installed.ts'
import type { PeerPackage } from './peer.ts'

const DAYS = 30
const DAY_MS = 86_400_000
/** A longer timer fires at once, in Node and in fake timers. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** Virtual time of another library, with functions that wait thirty days and time out. */
export interface VirtualSleepers extends PeerPackage {
  open(count: number): Promise<Contestant>
}

interface FakeTimers {
  withGlobal(global: object): {
    install(): { tickAsync(ms: number): Promise<number>; uninstall(): void }
  }
}

/** The fake timers that `vi.useFakeTimers()` installs. */
export const fakeTimers: VirtualSleepers = {
  name: "vitest's fake timers",
  packageName: '@sinonjs/fake-timers',
  place: 'memory',
  leastNode: 20,
  async open(count) {
    const fake = (await importPeer<{ readonly default: FakeTimers }>('@sinonjs/fake-timers')).default
    return {
      pass: async () => {
        const clock = fake.withGlobal(globalThis).install()
        try {
          const sleepers = Array.from({ length: count }, () => timeOut(DAYS * DAY_MS))
          await clock.tickAsync(DAYS * DAY_MS)
          await Promise.all(sleepers)
        } finally {
          clock.uninstall()
        }
      },
    }
  },
}

/** Waits in several steps. */
async function timeOut(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= LONGEST_TIMER_MS) {
    await new Promise((resolve) => setTimeout(resolve, Math.min(left, LONGEST_TIMER_MS)))
  }
}

type Opaque = { readonly pipe: (...steps: unknown[]) => Opaque }
type Effectful<Output> = Opaque & { [Symbol.iterator](): Iterator<unknown, Output> }

interface EffectModule {
  readonly Effect: {
    gen<Output>(body: () => Generator<unknown, Output>): Effectful<Output>
    forkChild(effect: Opaque): Effectful<Opaque>
    timeoutOption(duration: string): unknown
    provide(layer: Opaque): unknown
    runPromise(effect: Opaque): Promise<unknown>
  }
  readonly Deferred: { make(): Effectful<Opaque>; await(deferred: Opaque): Opaque }
  readonly Fiber: { join(fiber: Opaque): Effectful<unknown> }
}

interface TestingModule {
  readonly TestClock: { adjust(duration: string): Effectful<void>; layer(): Opaque }
}

/** Fibers that wait for a `Deferred`, with a timeout. */
export const effectTestClock: VirtualSleepers = {
  name: "Effect's TestClock",
  packageName: 'effect',
  place: 'memory',
  leastNode: 20,
  async open(count) {
    const { Effect, Deferred, Fiber } = await importPeer<EffectModule>('effect')
    const { TestClock } = await importPeer<TestingModule>('effect/testing')
    const program = Effect.gen(function* () {
      const fibers: Opaque[] = []
      while (fibers.length < count) {
        const wait = Deferred.await(yield* Deferred.make())
        fibers.push(yield* Effect.forkChild(wait.pipe(Effect.timeoutOption(`${DAYS} days`))))
      }
      yield* TestClock.adjust(`${DAYS} days`)
      for (const fiber of fibers) yield* Fiber.join(fiber)
    })
    return { pass: () => Effect.runPromise(program.pipe(Effect.provide(TestClock.layer()))) }
  },
}
