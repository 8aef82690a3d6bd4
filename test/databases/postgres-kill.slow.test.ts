import { randomInt } from 'node:crypto'
import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { temporaryFolder } from './drivers.ts'
import { buildProgram } from './kill/killed-process.ts'
import { type Lives, liveAndDie, settleAccounts } from './kill/lives.ts'
import { observations } from './kill/observer.ts'
import { expectReplayed } from './kill/replayed.ts'
import { pick } from './kill/verdict.ts'
import { FreshSchema } from './postgres/fresh-schema.ts'

/** More in the long run: `WAITPOINT_KILLS=200`. */
const KILLS = Number(process.env['WAITPOINT_KILLS'] ?? 18)
const SEED = Number(process.env['WAITPOINT_SEED'] ?? randomInt(2 ** 31))
/** Longer than a busy machine keeps a process waiting: only the dead lose theirs, when they are dead. */
const LEASE_MS = 120_000
const LONGEST_LIFE_MS = 2_000

describe('workers that are killed at any moment', () => {
  let program = ''
  beforeAll(async () => void (program = await buildProgram('worker')))
  afterAll(() => rmSync(program, { force: true }))

  it.each([
    ['one', 1, Math.ceil(KILLS / 3)],
    ['three at a time', 3, Math.ceil(KILLS / 3)],
  ])(
    `%s, under load: nothing that was acknowledged is lost (seed ${SEED})`,
    async (_what, together, kills) => {
      using folder = temporaryFolder()
      await using schema = new FreshSchema()
      const [place, file] = [schema.place(), folder.file('observations')]
      const lives: Lives = {
        program,
        place,
        file,
        seed: SEED,
        longestLifeMs: LONGEST_LIFE_MS,
        together,
        kills,
        leaseMs: LEASE_MS,
      }
      await liveAndDie(lives)
      await settleAccounts(lives)
      expect(pick(observations(file), 'failed')).toEqual([])
      expect(await expectReplayed(place)).toBeGreaterThan(0)
    },
    KILLS * 20_000 + 600_000,
  )
})
