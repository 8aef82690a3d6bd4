import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { KeyRecord, RunRecord, TokenRecord } from '../../../src/contract/records.ts'
import { runOfValues, runValues } from '../../../src/storage/sql-rows.ts'
import { sqliteStorage } from '../../../src/storage/sqlite/sqlite.ts'
import { openDriver } from '../../databases/drivers.ts'
import { namedStorage } from '../../../src/testing/conformance/named-storage.ts'
import { manualToken, queuedRun } from '../storage-fixture.ts'

const text = fc.string({ unit: 'grapheme' })
const texts = fc.array(text, { maxLength: 3 })
const instant = fc.integer({ min: 0, max: 8_640_000_000_000_000 })
const maybe = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
  fc.option(value, { nil: undefined })
const key: fc.Arbitrary<KeyRecord> = fc.record({ scope: text, value: text, expiresAt: maybe(instant) })

const runFields: fc.Arbitrary<Partial<RunRecord>> = fc.record({
  taskId: text,
  payloadJson: maybe(text),
  outputJson: maybe(text),
  errorJson: maybe(text),
  attemptsJson: maybe(text),
  attempt: fc.nat(),
  version: maybe(text),
  slot: fc.boolean(),
  slotUntil: maybe(instant),
  returned: fc.boolean(),
  wakeAt: maybe(instant),
  expiresAt: maybe(instant),
  parentId: maybe(text),
  tags: texts,
  metadataJson: maybe(text),
  streams: texts,
  queue: text,
  concurrencyKey: maybe(text),
  priorityMs: maybe(fc.integer()),
  optionsJson: maybe(text),
  key: maybe(key),
  createdAt: fc.nat(2 ** 48 - 1),
  startedAt: maybe(instant),
})

const tokenFields: fc.Arbitrary<Partial<TokenRecord>> = fc.record({
  status: fc.constantFrom('WAITING', 'COMPLETED', 'TIMED_OUT'),
  outputJson: maybe(text),
  tags: texts,
  key: maybe(key),
  runId: maybe(text),
  createdAt: fc.nat(2 ** 48 - 1),
  completedAt: maybe(instant),
})

describe('a run as a row', () => {
  it('is the same run when it is read', () =>
    fc.assert(
      fc.property(runFields, (fields) => {
        const record = queuedRun('run_1', fields)
        expect(runOfValues(runValues(record))).toEqual(record)
      }),
    ))

  it('is the same run when a database has kept it', async () => {
    const storage = namedStorage(sqliteStorage(openDriver(':memory:')))
    await storage.open()
    let count = 0
    await fc.assert(
      fc.asyncProperty(runFields, async (fields) => {
        const record = queuedRun(`run_${(count += 1)}`, { ...fields, key: undefined })
        await storage.runs.insert({ record, now: 0, by: 'engine' })
        expect(await storage.runs.get(record.id)).toEqual(record)
      }),
    )
  })
})

describe('a token as a row', () => {
  it('is the same token when a database has kept it', async () => {
    const storage = namedStorage(sqliteStorage(openDriver(':memory:')))
    await storage.open()
    let count = 0
    await fc.assert(
      fc.asyncProperty(tokenFields, async (fields) => {
        const record = manualToken(`token_${(count += 1)}`, { ...fields, key: undefined })
        await storage.tokens.insert({ record, now: 0, by: 'engine' })
        expect((await storage.tokens.get(record.id, 0))?.record).toEqual(record)
      }),
    )
  })
})
