import { randomInt } from 'node:crypto'
import { rmSync } from 'node:fs'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seededRandom } from '../../src/clock/seeded-random.ts'
import { pauseReal } from '../../src/storage/real-timer.ts'
import { temporaryFolder } from './drivers.ts'
import { buildProgram, ended, killNow, startProgram } from './kill/killed-process.ts'
import { FreshSchema } from './postgres/fresh-schema.ts'
import { endLeases } from './postgres/leases.ts'

/** More in the long run: `WAITPOINT_KILLS=200`. */
const KILLS = Math.ceil(Number(process.env['WAITPOINT_KILLS'] ?? 18) / 3)
const SEED = Number(process.env['WAITPOINT_SEED'] ?? randomInt(2 ** 31))
const SECOND = 1_000
/** A process is killed so long before or after an instant, at most. */
const AROUND_MS = 40
/** The clock of a process steps by so much between two of its lives, at most. */
const STEP_MS = 1_500
/** Longer than a busy machine keeps a process waiting: only the dead lose theirs, when they are dead. */
const LEASE_MS = 120_000

type CatchUp = 'none' | 'all'

interface Scheduled {
  /** A SQLite file, or a Postgres schema. */
  readonly place: string
  readonly catchUp: CatchUp
}

const SQLITE = 'SQLite'
const POSTGRES = 'Postgres'

let program = ''
const folder = temporaryFolder()
beforeAll(async () => void (program = await buildProgram('scheduled')))
afterAll(() => {
  rmSync(program, { force: true })
  folder[Symbol.dispose]()
})

describe.concurrent.each([SQLITE, POSTGRES])(
  'on %s, processes that share a schedule and are killed at its instants',
  (storage) => {
    it(
      `have one run for each instant as long as one of them lives (seed ${SEED})`,
      async () => {
        await using schema = new FreshSchema()
        const random = seededRandom(SEED)
        const scheduled = { place: placeOf('none', schema), catchUp: 'none' } as const
        const lives = [await live(scheduled), await live(scheduled)]
        const readyAt = Date.now()
        for (let kill = 0; kill < KILLS; kill += 1) {
          await instant(random.fraction())
          const index = kill % lives.length
          await killNow(lives[index] as ChildProcess)
          lives[index] = await live(scheduled)
        }
        await Promise.all(lives.map((child) => killNow(child)))
        expectEach(await instantsAtEnd(scheduled), readyAt)
      },
      KILLS * 20_000 + 600_000,
    )

    it(
      `catch up when all are killed, and when their clocks step (seed ${SEED})`,
      async () => {
        await using schema = new FreshSchema()
        const random = seededRandom(SEED)
        const scheduled = { place: placeOf('all', schema), catchUp: 'all' } as const
        // It says from when on the schedule is in force.
        const first = await live(scheduled)
        const readyAt = Date.now()
        await killNow(first)
        for (let kill = 0; kill < KILLS; kill += 1) {
          const steps = [0, 1].map(() => Math.round((random.fraction() - 0.5) * 2 * STEP_MS))
          const lives = await Promise.all(steps.map((aheadMs) => live(scheduled, aheadMs)))
          await Promise.all(
            lives.map(async (child) => {
              await instant(random.fraction())
              await killNow(child)
            }),
          )
        }
        expectEach(await instantsAtEnd(scheduled), readyAt)
      },
      KILLS * 20_000 + 600_000,
    )

    function placeOf(name: string, schema: FreshSchema): string {
      return storage === SQLITE ? folder.file(`${name}.db`) : schema.place()
    }

    /** Starts a process, and waits until it executes the schedule. */
    async function live({ place, catchUp }: Scheduled, aheadMs = 0): Promise<ChildProcess> {
      const child = startProgram([program, place, catchUp, 'load'], { aheadMs, leaseMs: LEASE_MS })
      // Nothing but that it is ready.
      await once(child.stdout as NodeJS.ReadableStream, 'data')
      return child
    }

    /** What the last life finds, when all others are dead. */
    async function instantsAtEnd({ place, catchUp }: Scheduled): Promise<readonly number[]> {
      if (storage === POSTGRES) await endLeases(place)
      const printed = await ended(startProgram([program, place, catchUp, 'finish'], { leaseMs: LEASE_MS }))
      const instants = printed.trim().split('\n').map(Number)
      return instants.sort((one, other) => one - other)
    }
  },
)

/** Resolves shortly before or after the next instant but one. */
async function instant(fraction: number): Promise<void> {
  const now = Date.now()
  const next = Math.ceil(now / SECOND) * SECOND + SECOND
  await pauseReal(next - now + (fraction - 0.5) * 2 * AROUND_MS)
}

/** Every second since then has one run, and none has two. */
function expectEach(instants: readonly number[], readyAt: number): void {
  const [first = Number.NaN] = instants
  expect(first).toBeLessThanOrEqual(readyAt + SECOND)
  expect(instants).toEqual(instants.map((_, index) => first + index * SECOND))
  expect(instants.length).toBeGreaterThan(KILLS)
}
