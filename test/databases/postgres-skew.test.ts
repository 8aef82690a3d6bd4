import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pauseReal } from '../../src/storage/real-timer.ts'
import { temporaryFolder } from './drivers.ts'
import { buildProgram, killNow, startProgram } from './kill/killed-process.ts'
import { settleAccounts, untilSeen } from './kill/lives.ts'
import { observations } from './kill/observer.ts'
import { pick } from './kill/verdict.ts'
import { FreshSchema } from './postgres/fresh-schema.ts'

const LEASE_MS = 8_000

describe('workers on machines of their own', () => {
  let program = ''
  beforeAll(async () => void (program = await buildProgram('worker')), 120_000)
  afterAll(() => rmSync(program, { force: true }))

  it('whose clocks are five seconds apart leave each other alone, and lose nothing', async () => {
    using folder = temporaryFolder()
    await using schema = new FreshSchema()
    const [place, file] = [schema.place(), folder.file('observations')]
    const workers = [0, 5_000, -5_000].map((aheadMs) =>
      startProgram([program, place, file, 'load'], { leaseMs: LEASE_MS, aheadMs }),
    )
    await untilSeen(file, (seen) =>
      workers.every(({ pid }) => pick(seen, 'finished').some((one) => one.pid === pid)),
    )
    await pauseReal(1.5 * LEASE_MS)
    await Promise.all(workers.map((child) => killNow(child, file)))
    const seen = observations(file)
    expect(pick(seen, 'aborted').length).toBe(0)
    expect(pick(seen, 'failed')).toEqual([])
    await settleAccounts({ program, place, file, leaseMs: LEASE_MS })
  }, 240_000)
})
