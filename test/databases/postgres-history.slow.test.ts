import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkTokenHistory } from '../../src/testing/conformance/token-history.ts'
import { seededRandom } from '../../src/clock/seeded-random.ts'
import { temporaryFolder } from './drivers.ts'
import { DEADLINE, historiesIn } from './kill/history.ts'
import { buildProgram, ended, startProgram } from './kill/killed-process.ts'
import { machineTime } from './kill/narrow-place.ts'
import { postgresUrl } from './postgres/client.ts'
import { FreshSchema } from './postgres/fresh-schema.ts'
import { Wire } from './postgres/wire.ts'

const TOKENS = 150
/** Until all processes are there. */
const START_US = 1_500_000

describe('processes that complete, read and time out the same tokens at the same time', () => {
  let program = ''
  beforeAll(async () => void (program = await buildProgram('witness')))
  afterAll(() => rmSync(program, { force: true }))

  async function testify(schema: FreshSchema, urls: readonly string[]): Promise<void> {
    using folder = temporaryFolder()
    const file = folder.file('history')
    const start = String(machineTime() + START_US)
    const witnesses = urls.map((url, index) => {
      const name = `p${index}`
      return ended(startProgram([program, schema.place(url), file, name, String(TOKENS), start]))
    })
    await Promise.all(witnesses)
    const histories = historiesIn(file)
    expect(histories.size).toBe(TOKENS)
    for (const [token, history] of histories)
      expect([token, checkTokenHistory(history, DEADLINE)]).toEqual([token, undefined])
    const ends = [...histories.values()].flat().map(({ reply }) => reply?.seen.status)
    expect(new Set(ends)).toEqual(new Set(['WAITING', 'COMPLETED', 'TIMED_OUT']))
  }

  it.each([2, 3])('agree on one order of what happened: %i of them', async (count) => {
    await using schema = new FreshSchema()
    await testify(
      schema,
      Array.from({ length: count }, () => postgresUrl()),
    )
  })

  it('agree although their connections are cut between question and answer', async () => {
    await using schema = new FreshSchema()
    const random = seededRandom('cuts')
    await using wire = await Wire.to(postgresUrl(), {
      fate: () => (random.fraction() < 0.01 ? 'is lost' : 'passes'),
    })
    await testify(schema, [postgresUrl(), wire.url, wire.url])
    expect(wire.cuts).toBeGreaterThan(5)
  })
})
