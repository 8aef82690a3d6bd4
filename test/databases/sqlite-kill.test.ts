import { rmSync } from 'node:fs'
import { randomInt } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seededRandom } from '../../src/clock/seeded-random.ts'
import { pauseReal } from '../../src/storage/real-timer.ts'
import { temporaryFolder } from './drivers.ts'
import { buildWorker, ended, killNow, startWorker } from './kill/killed-process.ts'
import { type Observation, observations } from './kill/observer.ts'

/** More in the long run: `WAITPOINT_KILLS=200`. */
const KILLS = Number(process.env['WAITPOINT_KILLS'] ?? 20)
const SEED = Number(process.env['WAITPOINT_SEED'] ?? randomInt(2 ** 31))
/** From before the database is open to well into the load. */
const LONGEST_LIFE_MS = 700

interface RunAtEnd {
  readonly id: string
  readonly status: string
  readonly output: { readonly token: string; readonly value: number; readonly effect: string }
  readonly chunks: readonly string[]
}

function pick<What extends Observation['what']>(
  all: readonly Observation[],
  what: What,
): Extract<Observation, { what: What }>[] {
  return all.filter((one): one is Extract<Observation, { what: What }> => one.what === what)
}

function withoutRepetition(ids: readonly string[]): void {
  expect(ids).toHaveLength(new Set(ids).size)
}

/** The chunks of every attempt start at 0 and have no gap. */
function areContiguous(chunks: readonly string[]): boolean {
  return chunks.every((chunk, index) => {
    const [attempt, place] = chunk.split(' ').map(Number)
    if (place === 0) return true
    const [before, last] = (chunks[index - 1] ?? '').split(' ').map(Number)
    return before === attempt && last === (place ?? 0) - 1
  })
}

describe('a process that is killed at any moment', () => {
  let program = ''
  beforeAll(async () => void (program = await buildWorker()), 60_000)
  afterAll(() => rmSync(program, { force: true }))

  it.each([
    ['one process', 1, KILLS],
    ['three processes on one file', 3, Math.ceil(KILLS / 3)],
  ])(
    `%s under load: nothing that was acknowledged is lost (seed ${SEED})`,
    async (_what, together, kills) => {
      using folder = temporaryFolder()
      const [database, file] = [folder.file('app.db'), folder.file('observations')]
      const random = new DataView(seededRandom(SEED).bytes(4 * kills * together).buffer)
      const live = async (life: number): Promise<void> => {
        const child = startWorker(program, database, file, 'load')
        await pauseReal(60 + (random.getUint32(4 * life) % LONGEST_LIFE_MS))
        await killNow(child)
      }
      for (let kill = 0; kill < kills; kill += 1) {
        const lives = Array.from({ length: together }, (_, index) => kill * together + index)
        await Promise.all(lives.map(live))
      }
      const printed = await ended(startWorker(program, database, file, 'finish'))
      const runs = new Map(
        printed
          .split('\n')
          .filter((line) => line !== '')
          .map((line) => JSON.parse(line) as RunAtEnd)
          .map((run) => [run.id, run]),
      )
      const seen = observations(file)
      const byToken = new Map([...runs.values()].map((run) => [run.output.token, run]))

      const triggered = pick(seen, 'triggered')
      expect(triggered.length).toBeGreaterThan(kills)
      for (const { run } of triggered)
        expect(runs.get(run)?.status, `${run} was acknowledged`).toBe('COMPLETED')
      const completed = pick(seen, 'completed')
      for (const { token, value } of completed) {
        expect(byToken.get(token)?.output.value, `${token} was acknowledged`).toBe(value)
      }
      withoutRepetition(completed.map(({ token }) => token))
      withoutRepetition(pick(seen, 'finished').map(({ run }) => run))
      for (const { run, effect } of pick(seen, 'kept')) expect(runs.get(run)?.output.effect, run).toBe(effect)
      for (const { id, chunks } of runs.values()) expect([id, areContiguous(chunks)]).toEqual([id, true])
      expect(pick(seen, 'failed')).toEqual([])
    },
    KILLS * 3_000 + 60_000,
  )
})
