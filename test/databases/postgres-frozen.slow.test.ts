import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pauseReal } from '../../src/storage/real-timer.ts'
import { temporaryFolder } from './drivers.ts'
import { buildProgram, killNow, startProgram } from './kill/killed-process.ts'
import { settleAccounts, untilSeen } from './kill/lives.ts'
import { machineTime } from './kill/narrow-place.ts'
import { observations, type Observed, observe } from './kill/observer.ts'
import { pick } from './kill/verdict.ts'
import { FreshSchema } from './postgres/fresh-schema.ts'
import { liveOwners } from './postgres/leases.ts'

/** Of who stands still. */
const LEASE_MS = 10_000
/** Of the other one: longer than a busy machine keeps a process waiting. */
const LONG_LEASE_MS = 120_000
const LOOK_MS = 50

/** Whether a process has runs under way. */
function isAtWork(seen: readonly Observed[], pid: number | undefined): boolean {
  return pick(seen, 'kept').some((one) => one.pid === pid)
}

describe('workers', () => {
  let program = ''
  beforeAll(async () => void (program = await buildProgram('worker')))
  afterAll(() => rmSync(program, { force: true }))

  it('who stood still for longer than their lease are fenced, abort what they did, and work on', async () => {
    using folder = temporaryFolder()
    await using schema = new FreshSchema()
    const [place, file] = [schema.place(), folder.file('observations')]
    const [frozen, other] = [LEASE_MS, LONG_LEASE_MS].map((leaseMs) =>
      startProgram([program, place, file, 'load'], { leaseMs }),
    )
    if (frozen === undefined || other === undefined) throw new Error('Cannot start the workers')
    const pid = frozen.pid ?? 0
    await untilSeen(file, (seen) => [frozen, other].every((one) => isAtWork(seen, one.pid)))
    frozen.kill('SIGSTOP')
    observe(file, { what: 'gone', pid, at: machineTime() })
    // The other one has missed it.
    while ((await liveOwners(place)) > 1) await pauseReal(LOOK_MS)
    const before = observations(file).length
    frozen.kill('SIGCONT')
    await untilSeen(file, (all) => {
      const own = all.slice(before).filter((one) => one.pid === pid)
      return (['aborted', 'triggered', 'finished'] as const).every((what) => pick(own, what).length > 0)
    })
    await Promise.all([frozen, other].map((child) => killNow(child, file)))

    for (const { code, pid: by } of pick(observations(file), 'aborted'))
      expect([by, code]).toEqual([pid, 'ERR_STALE_ATTEMPT'])
    await settleAccounts({ program, place, file, leaseMs: LONG_LEASE_MS })
  }, 600_000)
})
