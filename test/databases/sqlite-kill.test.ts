import { rmSync } from 'node:fs'
import { randomInt } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { temporaryFolder } from './drivers.ts'
import { buildProgram } from './kill/killed-process.ts'
import { type Lives, liveAndDie, settleAccounts } from './kill/lives.ts'
import { observations } from './kill/observer.ts'
import { pick } from './kill/verdict.ts'

/** More in the long run: `WAITPOINT_KILLS=200`. */
const KILLS = Number(process.env['WAITPOINT_KILLS'] ?? 20)
const SEED = Number(process.env['WAITPOINT_SEED'] ?? randomInt(2 ** 31))

describe('a process that is killed at any moment', () => {
  let program = ''
  beforeAll(async () => void (program = await buildProgram('worker')), 60_000)
  afterAll(() => rmSync(program, { force: true }))

  it.each([
    ['one process', 1, KILLS],
    ['three processes on one file', 3, Math.ceil(KILLS / 3)],
  ])(
    `%s under load: nothing that was acknowledged is lost (seed ${SEED})`,
    async (_what, together, kills) => {
      using folder = temporaryFolder()
      const [place, file] = [folder.file('app.db'), folder.file('observations')]
      const lives: Lives = { program, place, file, seed: SEED, longestLifeMs: 760, together, kills }
      await liveAndDie(lives)
      await settleAccounts(lives)
      expect(pick(observations(file), 'failed')).toEqual([])
    },
    KILLS * 3_000 + 60_000,
  )
})
