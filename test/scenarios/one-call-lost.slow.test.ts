import { describe, expect, it } from 'vitest'
import { once, StorageUnavailableError, task, wait } from 'waitpoint'
import type { StorageOperation } from 'waitpoint/testing'
import type { Storage } from '../../src/contract/storage.ts'
import { seededRandom } from '../../src/clock/seeded-random.ts'
import { createEngineOn } from '../../src/core/engine.ts'
import { wrapStorage } from '../../src/testing/storages/wrapped.ts'
import { isInMemory, projectStorage } from '../support/abandon.ts'
import { RUN_OPERATIONS } from '../support/run-operations.ts'
import { collect } from '../support/streams.ts'
import { type TurnClock, turnClock } from '../support/turn-clock.ts'

/** Longer than a lease. */
const LATE_MS = 60_000
/** Without a fault it ends after six seconds of virtual time. */
const MOST_MS = LATE_MS + 20_000

type Ask = () => unknown
/** What becomes of one call. */
const FATES: Readonly<Record<string, (ask: Ask, later: () => Promise<void>) => unknown>> = {
  'is not done': () => unavailable(false),
  'is done, and its answer is lost': async (ask) => {
    await ask()
    unavailable(true)
  },
  'is done, and answered after a minute': async (ask, later) => {
    const answer = await ask()
    await later()
    return answer
  },
  'is done after a minute': async (ask, later) => {
    await later()
    return ask()
  },
  'is lost, and a copy of it is done after a minute': (ask, later) => {
    later()
      .then(ask)
      .catch(() => undefined)
    unavailable(true)
  },
}

function unavailable(mayBeDone: boolean): never {
  throw new StorageUnavailableError('cut', { mayBeDone })
}

/** Each of the first calls has the fate in its turn. */
const MOST_CALLS = isInMemory() ? 12 : 4

interface Scene {
  /** Whether there was such a call. */
  readonly hasCome: boolean
  readonly ended: unknown
}

/** A run of many parts, while the `nth` call of an operation has another fate. */
async function scene(name: StorageOperation, nth: number, fate: string): Promise<Scene> {
  // Time passes although a call is out.
  const clock: TurnClock = { ...turnClock(), hold: () => () => undefined }
  let calls = 0
  const storage = withFate(projectStorage(), clock, (each) => each === name && (calls += 1) === nth && fate)
  let payments = 0
  const child = task({ id: 'child', run: async (n: number) => n * 2 })
  const whole = task({
    id: 'whole',
    run: async (_: null, { metadata, streams }) => {
      await once('pay', () => (payments += 1))
      await streams.append('log', 'begun', { once: 'begun' })
      const doubled = await child.triggerAndWait(21).unwrap()
      await wait.for({ seconds: 5 })
      const token = await wait.createToken({ timeout: '1d', tags: 'asked' })
      metadata.set('token', token.id)
      return [doubled, await wait.forToken(token).unwrap()]
    },
  })
  const engine = createEngineOn(
    { clock, storage, random: seededRandom(`${fate} ${name} ${nth}`) },
    { tasks: [whole, child] },
  )
  engine.on('error', () => undefined)
  /** As a caller does to whom the storage was away, or says nothing for a time. */
  const asked = async <T>(ask: () => PromiseLike<T>): Promise<T> => {
    for (;;) {
      const answer = Promise.resolve(ask()).then(
        (value) => ({ value }),
        (error: unknown) => {
          if (!(error instanceof StorageUnavailableError)) throw error
          return undefined
        },
      )
      const call = { isOut: true }
      const back = (): void => {
        call.isOut = false
      }
      answer.then(back, back)
      await clock.settle()
      while (call.isOut) await clock.advance(1_000)
      const given = await answer
      if (given !== undefined) return given.value
      await clock.advance(1_000)
    }
  }
  const began = clock.now()
  const { id } = await asked(() => engine.trigger(whole, null, { idempotencyKey: 'one' }))
  const isOver = async (): Promise<boolean> =>
    (await asked(() => engine.runs.retrieve(id))).status === 'COMPLETED' || clock.now() - began > MOST_MS
  while (!(await isOver())) {
    const { data } = await asked(() => engine.wait.listTokens({ tags: 'asked', status: 'WAITING' }))
    for (const token of data) await asked(() => engine.wait.completeToken(token, 'yes'))
    await clock.advance(1_000)
  }
  // A copy that comes late finds a run that has ended.
  await clock.advance(2 * LATE_MS)
  const { status, output } = await asked(() => engine.runs.retrieve(id))
  const runs = await asked(() => engine.runs.list())
  const tokens = await asked(() => engine.wait.listTokens({ tags: 'asked' }))
  const log = status === 'COMPLETED' ? await asked(() => collect(engine.streams.read(id, 'log'))) : []
  await asked(() => engine.close())
  return {
    hasCome: calls >= nth,
    ended: [status, output, runs.data.length, tokens.data.length, log, payments],
  }
}

function withFate(
  storage: Storage,
  clock: TurnClock,
  fateOf: (name: StorageOperation) => string | false,
): Storage {
  const later = (): Promise<void> =>
    new Promise((resolve) => void clock.setTimer(clock.now() + LATE_MS, resolve))
  return wrapStorage(storage, (name, operation) => (...args) => {
    const fate = fateOf(name)
    const ask = (): ReturnType<typeof operation> => operation(...args)
    return fate === false ? ask() : (FATES[fate]?.(ask, later) as ReturnType<typeof operation>)
  })
}

describe.each(Object.keys(FATES))('a call of the storage that %s', (fate) => {
  it.each(RUN_OPERATIONS)('costs a run nothing but time: %s', async (name) => {
    for (let nth = 1; nth <= MOST_CALLS; nth += 1) {
      const { hasCome, ended } = await scene(name, nth, fate)
      expect(ended, `call ${nth}`).toEqual(['COMPLETED', [42, 'yes'], 2, 1, ['begun'], 1])
      if (!hasCome) break
    }
  })
})
