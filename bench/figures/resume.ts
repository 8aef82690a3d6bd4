import { AsyncLocalStorage } from 'node:async_hooks'
import type { DeferredPromise } from 'p-defer'
import pDefer from 'p-defer'
import { createEngine, task, wait } from 'waitpoint'
import { Mailbox } from '../bare/mailbox.ts'
import type { Contest, Contestant } from '../contest.ts'
import type { Figure } from '../lab.ts'
import type { Series } from '../measurement.ts'
import { spreadOf } from '../measurement.ts'
import { turn } from '../turn.ts'

/** A function that waits repeatedly, and reports when it continues. */
interface Waiting {
  /** Begins to wait. Returns a function that completes the wait. */
  begin(): Promise<() => void>
  /** The time at which the line after the wait ran; `undefined` before. */
  resumedAt(): number | undefined
  close(): Promise<void>
}

const moments: Contest<'ours' | 'bare'> = {
  name: 'complete → next line',
  count: 2_000,
  rounds: 20,
  warmUps: 5,
  sides: {
    ours: (count) => momentsOf(engineWaiting(), count),
    bare: (count) => momentsOf(bareWaiting(), count),
  },
}

/** From the completion of a token to the next line of its task: in microtasks, which is exact, and in time. */
export const resume: Figure = {
  name: 'resume',
  contests: [moments],
  async measure(lab) {
    const rounds = lab.rounds(100)
    const ticks = { ours: await ticksOf(engineWaiting(), rounds), bare: await ticksOf(bareWaiting(), rounds) }
    const { ours, bare } = await lab.hold(moments)
    return [
      {
        what: 'complete → next line, microtasks',
        unit: 'count',
        count: 1,
        ...ticks,
        goal: { kind: 'value', most: 1 },
      },
      // These times are too short for the CPU clock.
      {
        what: moments.name,
        unit: 'ns',
        count: lab.count(moments.count),
        ours: { values: ours.values },
        bare: { values: bare.values },
      },
    ]
  },
}

/** The number of microtasks from right after the call until the line runs. */
async function ticksOf(waiting: Waiting, rounds: number): Promise<Series> {
  const values: number[] = []
  while (values.length < rounds) {
    await turn()
    const complete = await waiting.begin()
    complete()
    values.push(await ticksUntilResumed(waiting))
  }
  await waiting.close()
  return { values }
}

async function ticksUntilResumed(waiting: Waiting): Promise<number> {
  let ticks = 0
  while (waiting.resumedAt() === undefined) {
    await Promise.resolve()
    ticks += 1
  }
  return ticks
}

function momentsOf(waiting: Waiting, count: number): Contestant {
  return {
    pass: async () => {
      const moments: number[] = []
      while (moments.length < count) {
        // An engine that has kept the event loop for long lets go of it: it would wait for a turn that never comes here.
        await turn()
        const complete = await waiting.begin()
        const start = performance.now()
        complete()
        await ticksUntilResumed(waiting)
        moments.push((waiting.resumedAt() ?? NaN) - start)
      }
      // Not the mean, because the machine sometimes does other work in between.
      return { overriddenDuration: spreadOf(moments).median * count }
    },
    close: () => waiting.close(),
  }
}

function engineWaiting(): Waiting {
  const mailbox = new Mailbox()
  let resumedAt: number | undefined
  const pause = task({
    id: 'pause',
    run: async (_: null) => {
      const token = await wait.createToken()
      mailbox.say(token.id)
      await wait.forToken(token)
      resumedAt = performance.now()
    },
  })
  const engine = createEngine({ tasks: [pause] })
  return {
    begin: async () => {
      resumedAt = undefined
      await engine.trigger(pause, null)
      const id = await mailbox.next()
      return () => void engine.wait.completeToken(id, { approved: true })
    },
    resumedAt: () => resumedAt,
    close: () => engine.close(),
  }
}

/** The minimum: a `p-defer` in a `Map`, awaited by a function in an AsyncLocalStorage scope. */
function bareWaiting(): Waiting {
  const scopes = new AsyncLocalStorage<object>()
  const waits = new Map<number, DeferredPromise<unknown>>()
  let started = 0
  let resumedAt: number | undefined
  const pause = async (id: number): Promise<void> => {
    const deferred = pDefer<unknown>()
    waits.set(id, deferred)
    await deferred.promise
    resumedAt = performance.now()
  }
  const complete = (id: number): void => {
    const wait = waits.get(id)
    waits.delete(id)
    wait?.resolve({ approved: true })
  }
  return {
    begin: async () => {
      resumedAt = undefined
      const id = (started += 1)
      void scopes.run({}, () => pause(id))
      return () => complete(id)
    },
    resumedAt: () => resumedAt,
    close: () => Promise.resolve(),
  }
}
