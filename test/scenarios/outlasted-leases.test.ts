import { describe, expect, it } from 'vitest'
import { type Clock, createEngine, once, type Storage, task, wait } from 'waitpoint'
import { testClock } from 'waitpoint/testing'
import { wrapStorage } from '../../src/testing/storages/wrapped.ts'
import { createDeferred } from '../../src/primitives/deferred.ts'
import { steadyStorage } from '../support/abandon.ts'
import { cases } from '../support/cases.ts'
import { turn } from '../support/turn.ts'

const LEASE_MS = 30_000
/** Turns that a run may take to its end: some fifty times what it takes. */
const MOST_TURNS = 1_000

/** What is slow: the call itself, or its answer. */
type Moment = 'before' | 'after'
/** Which of the two is answered first: the call that was slow, or the tick that says that the lease is lost. */
type First = 'call' | 'tick'

/** A storage one call of which outlasts the lease of its engine, as do ticks meanwhile. */
class SlowStorage {
  readonly storage: Storage
  /** Those but ticks, from the beginning of the run on. */
  #calls = 0
  #hasBegun = false
  readonly #call = createDeferred<void>()
  #ticks = createDeferred<void>()
  #isTicking = true
  isReached = false

  constructor(storage: Storage, slowAt: number, moment: Moment) {
    this.storage = wrapStorage(storage, (name, operation) => (...args) => {
      if (name === 'tick')
        return this.#isTicking ? operation(...args) : this.#ticks.promise.then(() => operation(...args))
      if (!this.#hasBegun || (this.#calls += 1) !== slowAt) return operation(...args)
      this.isReached = true
      this.#isTicking = false
      if (moment === 'before') return this.#call.promise.then(() => operation(...args))
      const answer = operation(...args)
      return this.#call.promise.then(() => answer)
    })
  }

  begin(): void {
    this.#hasBegun = true
  }

  answerCall(): void {
    this.#call.resolve()
  }

  answerTicks(): void {
    this.#isTicking = true
    this.#ticks.resolve()
    this.#ticks = createDeferred<void>()
  }
}

const part = task({
  id: 'part',
  run: async (text: string) => {
    await wait.for({ minutes: 1 })
    return text
  },
})
const whole = task({
  id: 'whole',
  run: async (tokens: readonly string[]) => {
    const effect = await once('effect', () => 'effect')
    const ask = (at: number): Promise<string> => wait.forToken<string>(tokens[at] ?? '').unwrap()
    const together = [
      part.triggerAndWait('part').unwrap(),
      ask(0).then(async (answer) => answer + (await ask(1))),
      wait.for({ minutes: 2 }).then(() => 'slept'),
    ]
    return [effect, ...(await Promise.all(together)), await ask(2)].join(' ')
  },
})

/** Executes the run while its call of this number outlasts the lease. Answers its end, and whether there was such a call. */
async function outlasted(
  slowAt: number,
  moment: Moment,
  first: First,
): Promise<{ end: unknown; isReached: boolean }> {
  const time = testClock({ mode: 'manual' })
  // Without holds: time passes although a call is out.
  const clock: Clock = { now: () => time.now(), setTimer: (at, fire) => time.setTimer(at, fire) }
  const stored = steadyStorage()
  const slow = new SlowStorage(stored, slowAt, moment)
  const engine = createEngine({ tasks: [whole, part], storage: slow.storage, clock, leaseMs: LEASE_MS })
  await engine.ready()
  const tokens: string[] = []
  for (let at = 0; at < 3; at += 1) tokens.push((await engine.wait.createToken({ timeout: '30d' })).id)
  slow.begin()
  const triggered = engine.trigger(whole, tokens).catch(() => undefined)
  const answers = [...tokens]
  let isLost = false
  let end: unknown = 'it has no end'
  for (let turns = 0; turns < MOST_TURNS; turns += 1) {
    await turn()
    if (slow.isReached && !isLost) {
      isLost = true
      // The lease of an engine that is alone has no end.
      const other = { owner: 'other', leaseUntil: clock.now() + LEASE_MS, limit: 1 }
      await stored.tick({ ...other, now: clock.now() })
      await time.advance(LEASE_MS + 1)
      await stored.tick({ ...other, leaseUntil: clock.now() + 1, now: clock.now() })
      await stored.leave({ ...other, now: clock.now() })
      for (const one of first === 'call' ? (['call', 'tick'] as const) : (['tick', 'call'] as const)) {
        if (one === 'call') slow.answerCall()
        else slow.answerTicks()
        await turn()
      }
    }
    if (turns % 10 !== 9) continue
    const [run] = (await stored.runs.list({ taskIds: ['whole'] }, { limit: 1 })).records
    if (run?.status === 'COMPLETED') {
      end = JSON.parse(run.outputJson ?? 'null')
      break
    }
    const token = answers.shift()
    if (token !== undefined)
      void engine.wait.completeToken(token, token.slice(0, 9)).catch(() => answers.unshift(token))
    else await time.advance('1m')
  }
  const { isReached } = slow
  // It may be slow only now, to give back the lease.
  slow.answerCall()
  await triggered
  await engine.close()
  return { end, isReached }
}

/** A storage that takes a file for each case, or is asked over a wire, has some of the calls. */
const STEP = Math.round(40 / cases(40))

describe.each([
  ['before', 'call'],
  ['before', 'tick'],
  ['after', 'call'],
  ['after', 'tick'],
] as const)('a call that is slow %s its effect, for longer than the lease', (moment, first) => {
  it(`leaves a run that comes to its end, if the ${first} is answered first`, async () => {
    const ends: unknown[] = []
    for (let slowAt = 1; ; slowAt += STEP) {
      const { end, isReached } = await outlasted(slowAt, moment, first)
      if (!isReached) break
      ends.push(end)
    }
    expect(new Set(ends)).toEqual(new Set(['effect part waitpointwaitpoint slept waitpoint']))
    // A run makes some 36 calls.
    expect(ends.length).toBeGreaterThan(20 / STEP)
  })
})
