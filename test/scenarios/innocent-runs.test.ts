import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type AnyTask, task, wait } from 'waitpoint'
import { createTestEngine, type TestClock, testClock, type TestEngineOptions } from 'waitpoint/testing'
import type { Storage } from '../../src/contract/storage.ts'
import { isFinal } from '../../src/contract/run-states.ts'
import { type AbandonablePorts, abandonable, projectStorage } from '../support/abandon.ts'
import { cases } from '../support/cases.ts'

/** More than any mix here needs. */
const MOST_SECONDS = 40_000
const STEP_S = 5

/** How long a run takes in ms; a poison run then kills its process, and `parks` has waited for a second before. */
const KINDS = { poison: 1_000, late: 60_000, innocent: 8_000, quick: 500, parks: 3_000 } as const

type Kind = keyof typeof KINDS

function isPoison(kind: Kind): boolean {
  return kind === 'poison' || kind === 'late'
}

/** A process: a life after the other, each with an engine of its own. */
class Process {
  readonly #world: World
  #gone = new AbortController()
  #ports: AbandonablePorts | undefined
  #close: () => Promise<void> = async () => undefined

  constructor(world: World) {
    this.#world = world
  }

  get isGone(): boolean {
    return this.#ports === undefined
  }

  async begin(): Promise<void> {
    const { clock, storage, options } = this.#world
    this.#gone = new AbortController()
    this.#ports = abandonable(clock, storage)
    const { signal } = this.#gone
    const work = task({
      id: 'work',
      run: async (kind: Kind) => {
        if (kind === 'parks') await wait.for({ seconds: 1 })
        const slept = await clock.sleep(KINDS[kind], { signal }).then(
          () => true,
          () => false,
        )
        if (isPoison(kind) && slept) this.die()
        return kind
      },
    })
    const ports = { clock: this.#ports.clock, storage: this.#ports.storage }
    const seed = (this.#world.lives += 1)
    const tasks: readonly AnyTask[] = [work]
    const t = await createTestEngine({ ...options, ...ports, tasks, seed })
    this.#close = () => t.close()
    this.#world.trigger = async (kind) => (await t.engine.trigger(work, kind)).id
  }

  die(): void {
    this.#world.deaths += 1
    this.#ports?.abandon()
    this.#ports = undefined
    this.#gone.abort()
  }

  async close(): Promise<void> {
    if (!this.isGone) await this.#close()
    this.#gone.abort()
    this.#ports = undefined
  }
}

interface World {
  readonly clock: TestClock
  readonly storage: Storage
  readonly options: TestEngineOptions
  deaths: number
  /** Engines that have begun. */
  lives: number
  trigger: (kind: Kind) => Promise<string>
}

interface Mix extends TestEngineOptions {
  readonly kinds: readonly Kind[]
  readonly processes?: number
  /** After so many seconds each process is closed and begins anew, without a death. */
  readonly deployEveryS?: number
  /** So many runs of the kind `innocent` are triggered in a row, one every five seconds. */
  readonly others?: number
}

interface Ends {
  readonly ends: readonly string[]
  readonly deaths: number
  /** The deaths in a row of each run that is poison. */
  readonly ofPoison: readonly number[]
  /** How long the slowest of the others took in seconds. */
  readonly slowestS: number
  /** All that is poison had ended before the last of the others was triggered. */
  readonly isOverFirst: boolean
}

/** Processes on one storage, until all runs have ended. One that dies begins anew. */
async function live({ kinds, processes = 1, deployEveryS, others = 0, ...options }: Mix): Promise<Ends> {
  await using clock = testClock({ mode: 'manual' })
  const trigger = (): Promise<string> => Promise.reject(new Error('no process'))
  const world: World = { clock, storage: projectStorage(), options, deaths: 0, lives: 0, trigger }
  const { storage } = world
  const all = Array.from({ length: processes }, () => new Process(world))
  for (const one of all) await one.begin()
  const ids: string[] = []
  for (const kind of kinds) ids.push(await world.trigger(kind))
  const otherIds: string[] = []
  for (let second = 0; second < MOST_SECONDS; second += STEP_S) {
    await clock.advance(STEP_S * 1_000)
    const isDeploy = deployEveryS !== undefined && (second + STEP_S) % deployEveryS === 0
    for (const one of all) {
      if (isDeploy) await one.close()
      if (one.isGone) await one.begin()
    }
    if (otherIds.length < others) otherIds.push(await world.trigger('innocent'))
    const statuses = await Promise.all([...ids, ...otherIds].map(async (id) => storage.runs.get(id)))
    if (otherIds.length === others && statuses.every((run) => run !== undefined && isFinal(run.status))) break
  }
  for (const one of all) await one.close()
  const records = await Promise.all(ids.map(async (id) => storage.runs.get(id)))
  const rest = await Promise.all(otherIds.map(async (id) => storage.runs.get(id)))
  const tooks = rest.map((run) => ((run?.finishedAt ?? Infinity) - (run?.createdAt ?? 0)) / 1_000)
  return {
    ends: [...records, ...rest].map((run) => run?.status ?? ''),
    deaths: world.deaths,
    ofPoison: records.filter((_, at) => isPoison(kinds[at] ?? 'quick')).map((run) => run?.interruptions ?? 0),
    slowestS: Math.max(...tooks),
    isOverFirst: records.every(
      (run, at) =>
        !isPoison(kinds[at] ?? 'quick') || (run?.finishedAt ?? Infinity) < (rest.at(-1)?.createdAt ?? 0),
    ),
  }
}

function expected(kinds: readonly Kind[]): readonly string[] {
  return kinds.map((kind) => (isPoison(kind) ? 'CRASHED' : 'COMPLETED'))
}

describe('a run that kills its process each time', () => {
  it.each([0, 1, 3, 10])('ends as CRASHED with maxInterruptions %i, if it is alone', async (most) => {
    expect(await live({ kinds: ['poison'], maxInterruptions: most })).toMatchObject({
      ends: ['CRASHED'],
      deaths: most + 1,
    })
  })

  it('ends as CRASHED, and those beside it complete, in any mix', async () => {
    const kind = fc.constantFrom<Kind>('poison', 'late', 'innocent', 'innocent', 'quick', 'parks')
    const mix = fc.record({
      kinds: fc.array(kind, { minLength: 1, maxLength: 8 }),
      maxInterruptions: fc.constantFrom(0, 1, 3, 10),
      concurrency: fc.constantFrom(1, 2, 5, 100),
      processes: fc.constantFrom(1, 2),
    })
    await fc.assert(
      fc.asyncProperty(mix, async ({ kinds, ...options }) => {
        const { ends, ofPoison } = await live({ kinds, ...options })
        expect(ends).toEqual(expected(kinds))
        for (const deaths of ofPoison) {
          expect(deaths).toBeGreaterThan(options.maxInterruptions)
          expect(deaths).toBeLessThanOrEqual(options.maxInterruptions + 1 + 4)
        }
      }),
      { numRuns: cases(30), endOnFailure: true },
    )
  })

  it('ends as CRASHED in an engine that is never idle, which serves the others meanwhile', async () => {
    const kinds: readonly Kind[] = ['innocent', 'poison', 'innocent']
    const { ends, ofPoison, slowestS, isOverFirst } = await live({
      kinds,
      others: 300,
      isolationMs: 160_000,
    })
    expect(isOverFirst).toBe(true)
    expect(ends).toEqual([...expected(kinds), ...Array.from({ length: 300 }, () => 'COMPLETED')])
    expect(ofPoison).toEqual([11])
    // A run that dies in company is executed again after the lease of 30 s, at most eleven times.
    expect(slowestS).toBeLessThanOrEqual(11 * 45 + 160)
  })

  it('ends as CRASHED in an engine that is never idle, also if the others take longer than it takes a first time to become empty', async () => {
    const kinds: readonly Kind[] = ['innocent', 'poison']
    const { ends, isOverFirst } = await live({ kinds, others: 200, isolationMs: 40_000 })
    expect(isOverFirst).toBe(true)
    expect(ends).toEqual([...expected(kinds), ...Array.from({ length: 200 }, () => 'COMPLETED')])
  })

  it('ends as CRASHED, and those beside it complete, also where processes are closed and begin anew', async () => {
    const kinds: readonly Kind[] = ['innocent', 'poison', 'quick', 'innocent', 'parks']
    const { ends, ofPoison } = await live({ kinds, deployEveryS: 50 })
    expect(ends).toEqual(expected(kinds))
    for (const deaths of ofPoison) expect(deaths).toBeLessThanOrEqual(15)
  })

  it('is the only one that ends so beside forty innocent ones', async () => {
    const kinds: readonly Kind[] = [
      ...Array.from({ length: 20 }, (): Kind => 'innocent'),
      'poison',
      ...Array.from({ length: 20 }, (): Kind => 'innocent'),
    ]
    const { ends, ofPoison } = await live({ kinds })
    expect(ends).toEqual(expected(kinds))
    expect(ofPoison).toEqual([11])
  })
})
