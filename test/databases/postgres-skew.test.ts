import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pauseReal } from '../../src/storage/real-timer.ts'
import { temporaryFolder } from './drivers.ts'
import { buildProgram, killNow, startProgram } from './kill/killed-process.ts'
import { settleAccounts, untilSeen } from './kill/lives.ts'
import { observations } from './kill/observer.ts'
import { pick } from './kill/verdict.ts'
import { FreshSchema } from './postgres/fresh-schema.ts'

/** Longer than a busy machine keeps a process waiting. */
const LEASE_MS = 30_000
const APART_MS = 25_000

describe('workers on machines of their own', () => {
  let program = ''
  beforeAll(async () => void (program = await buildProgram('worker')))
  afterAll(() => rmSync(program, { force: true }))

  it('whose clocks are most of a lease apart leave each other alone, and lose nothing', async () => {
    using folder = temporaryFolder()
    await using schema = new FreshSchema()
    const [place, file] = [schema.place(), folder.file('observations')]
    const workers = [0, APART_MS, -APART_MS].map((aheadMs) =>
      startProgram([program, place, file, 'load'], { leaseMs: LEASE_MS, aheadMs }),
    )
    await untilSeen(file, (seen) =>
      workers.every(({ pid }) => pick(seen, 'finished').some((one) => one.pid === pid)),
    )
    // Leases are renewed after a third: what the others think of one shows at its oldest.
    await pauseReal(LEASE_MS / 2)
    await Promise.all(workers.map((child) => killNow(child, file)))
    const seen = observations(file)
    expect(pick(seen, 'aborted').length).toBe(0)
    expect(pick(seen, 'failed')).toEqual([])
    await settleAccounts({ program, place, file, leaseMs: LEASE_MS })
  }, 600_000)
})
