import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pauseReal } from '../../src/storage/real-timer.ts'
import { temporaryFolder } from './drivers.ts'
import { buildProgram, killNow, type ProgramOptions, startProgram } from './kill/killed-process.ts'
import { settleAccounts } from './kill/lives.ts'
import { machineTime } from './kill/narrow-place.ts'
import { observations, observe } from './kill/observer.ts'
import { pick } from './kill/verdict.ts'
import { FreshSchema } from './postgres/fresh-schema.ts'

const LEASE_MS = 2_000
/** Long enough to have work under way. */
const WORK_MS = 1_500

describe('workers', () => {
  let program = ''
  beforeAll(async () => void (program = await buildProgram('worker')), 60_000)
  afterAll(() => rmSync(program, { force: true }))

  it('who stood still for longer than their lease are fenced, abort what they did, and work on', async () => {
    using folder = temporaryFolder()
    await using schema = new FreshSchema()
    const [place, file] = [schema.place(), folder.file('observations')]
    const options: ProgramOptions = { leaseMs: LEASE_MS }
    const [frozen, other] = [1, 2].map(() => startProgram([program, place, file, 'load'], options))
    if (frozen === undefined || other === undefined) throw new Error('Cannot start the workers')
    const pid = frozen.pid ?? 0
    await pauseReal(WORK_MS)
    frozen.kill('SIGSTOP')
    observe(file, { what: 'gone', pid, at: machineTime() })
    await pauseReal(2 * LEASE_MS)
    observe(file, { what: 'woken', pid })
    frozen.kill('SIGCONT')
    await pauseReal(WORK_MS)
    await Promise.all([frozen, other].map(killNow))

    const seen = observations(file)
    const aborted = pick(seen, 'aborted')
    expect(aborted.length).toBeGreaterThan(0)
    for (const { code, pid: by } of aborted) expect([by, code]).toEqual([pid, 'ERR_STALE_ATTEMPT'])
    const since = seen.slice(seen.findIndex(({ what }) => what === 'woken'))
    expect(pick(since, 'triggered').some(({ pid: by }) => by === pid)).toBe(true)
    expect(pick(since, 'finished').some(({ pid: by }) => by === pid)).toBe(true)
    await settleAccounts({ program, place, file, ...options })
  }, 60_000)
})
