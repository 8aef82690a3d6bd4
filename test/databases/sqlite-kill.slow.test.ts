import { copyFileSync, rmSync } from 'node:fs'
import { randomInt } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seededRandom } from '../../src/clock/seeded-random.ts'
import { pauseReal } from '../../src/storage/real-timer.ts'
import { SqliteDatabase } from '../../src/storage/sqlite/database.ts'
import { bindingOf } from '../../src/storage/sqlite/handle.ts'
import { migrateSqlite, sqliteSchemaVersion } from '../../src/storage/sqlite/schema.ts'
import { openDriver, temporaryFolder } from './drivers.ts'
import { databaseOf } from './fixtures/fixture.ts'
import { killAt, measurePhase } from './kill/aim.ts'
import { buildProgram, ended, killNow, startProgram } from './kill/killed-process.ts'
import type { Phase } from './kill/phases.ts'
import { expectReplayed } from './kill/replayed.ts'
import { checkAtEnd } from './kill/verdict.ts'
import { LATER_SQLITE } from './later-step.ts'

/** More in the long run: `WAITPOINT_KILLS=200`. */
const KILLS = Number(process.env['WAITPOINT_KILLS'] ?? 20)
const SEED = Number(process.env['WAITPOINT_SEED'] ?? randomInt(2 ** 31))
/** From before the database is open to well into the load. */
const LONGEST_LIFE_MS = 700
/** Lives are ended in these by turns; `undefined` is at any moment. */
const PHASES = [undefined, 'start', 'commit', 'checkpoint'] as const
const MIGRATIONS = Math.ceil(KILLS / PHASES.length)
/** A kill may also come a little after its phase: the work is done then, but not yet acknowledged. */
const LATEST = 1.3
/** Commits of one life before the one in which it ends. */
const MOST_COMMITS = 30
/** So many that a migration takes its time. */
const OLD_TOKENS = 20_000

type Draw = (below: number) => number

/** Fractions of `below` that the seed decides. */
function drawing(seed: number): Draw {
  const random = seededRandom(seed)
  return (below) => (new DataView(random.bytes(4).buffer).getUint32(0) / 2 ** 32) * below
}

describe('a process that is killed at any moment', () => {
  let program = ''
  const folder = temporaryFolder()
  const typicalMs = new Map<Phase, number>()

  beforeAll(async () => {
    program = await buildProgram('worker')
    for (const [phase, count] of [
      ['start', 1],
      ['commit', 21],
      ['checkpoint', 21],
    ] as const) {
      const files = [folder.file(`${phase}.db`), folder.file('unread')] as const
      typicalMs.set(phase, await measurePhase(startProgram([program, ...files, 'load', phase]), count))
    }
  }, 600_000)
  afterAll(() => {
    rmSync(program, { force: true })
    folder[Symbol.dispose]()
  })

  /** One life, from its start to the moment that was drawn. */
  async function live(
    life: number,
    files: readonly [database: string, observations: string],
    draw: Draw,
  ): Promise<void> {
    const phase = PHASES[life % PHASES.length]
    const [fraction, occurrence] = [draw(LATEST), 1 + Math.floor(draw(MOST_COMMITS))]
    if (phase === undefined) {
      const child = startProgram([program, ...files, 'load'])
      await pauseReal(60 + (fraction / LATEST) * LONGEST_LIFE_MS)
      await killNow(child, files[1])
      return
    }
    await killAt(startProgram([program, ...files, 'load', phase]), {
      occurrence: phase === 'start' ? 1 : occurrence,
      delayMs: fraction * (typicalMs.get(phase) ?? 0),
      file: files[1],
    })
  }

  it.each([
    ['one process', 1, KILLS],
    ['three processes on one file', 3, Math.ceil(KILLS / 3)],
  ])(
    `%s under load, at its start, in a commit or a checkpoint: nothing that was acknowledged is lost (seed ${SEED})`,
    async (what, together, kills) => {
      const files = [folder.file(`${what}.db`), folder.file(what)] as const
      const draw = drawing(SEED)
      for (let kill = 0; kill < kills; kill += 1) {
        // Those of one file are ended in phases of their own each.
        const lives = Array.from({ length: together }, (_, index) => live(kill + index, files, draw))
        await Promise.all(lives)
      }
      const printed = await ended(startProgram([program, ...files, 'finish']))
      expect(checkAtEnd(printed, files[1])).toBeGreaterThan(kills)
      expect(await expectReplayed(files[0])).toBeGreaterThan(0)
    },
    KILLS * 20_000 + 600_000,
  )

  it(
    `in the middle of a migration has changed nothing, or all of it (seed ${SEED})`,
    async () => {
      const { path } = await databaseOf(1, folder)
      fillWithOldTokens(path)
      const before = tokensIn(path)
      const migrating = await buildProgram('migrating')
      const draw = drawing(SEED)
      const start = (name: string) => {
        copyFileSync(path, folder.file(`${name}.db`))
        return startProgram([migrating, folder.file(`${name}.db`)])
      }
      const typical = await measurePhase(start('measured'), 1)
      for (let kill = 0; kill < MIGRATIONS; kill += 1) {
        const name = `migration ${kill}`
        const aim = { occurrence: 1, delayMs: draw(LATEST) * typical, file: folder.file(name) }
        await killAt(start(name), aim)
        const file = folder.file(`${name}.db`)
        expect(isWhole(file)).toBe(true)
        // The next process finishes what is missing.
        const database = databaseAt(file)
        migrateSqlite(database, LATER_SQLITE)
        database.close()
        expect(isWhole(file)).toBe(true)
        expect(tokensIn(file)).toEqual(before)
      }
      rmSync(migrating, { force: true })
    },
    MIGRATIONS * 20_000 + 600_000,
  )
})

function databaseAt(path: string): SqliteDatabase {
  const handle = openDriver(path)
  return new SqliteDatabase(handle, bindingOf(handle))
}

/** More to do for a migration. */
function fillWithOldTokens(path: string): void {
  const database = databaseAt(path)
  database.exec(`INSERT INTO tokens (id, kind, status, created_at, completed_at, ended_at)
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${OLD_TOKENS})
    SELECT 'waitpoint_old' || n, 'MANUAL', 'COMPLETED', n, n, NULL FROM numbers`)
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  database.close()
}

/** What no migration changes. */
function tokensIn(path: string): unknown {
  const database = databaseAt(path)
  const tokens = database.value(
    `SELECT count(*) || ' ' || sum(created_at) || ' ' || sum(length(id)) || min(id) || max(id) AS value FROM tokens`,
  )
  database.close()
  return tokens
}

/** Whether a step has left what it makes and its number, or neither. */
function isWhole(path: string): boolean {
  const database = databaseAt(path)
  const version = sqliteSchemaVersion(database) ?? 0
  const isMade = database.value(`SELECT count(*) AS value FROM sqlite_master WHERE name = 'notes'`) === 1
  const noted = isMade
    ? database.value(
        'SELECT (SELECT count(*) FROM notes) = (SELECT count(*) FROM tokens WHERE later = id) AS value',
      )
    : 1
  database.close()
  return version >= 2 === isMade && noted === 1
}
