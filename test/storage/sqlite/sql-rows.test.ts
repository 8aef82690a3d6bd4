import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type Field,
  type FieldType,
  KEY_FIELDS,
  RUN_FIELDS,
  type RunRecord,
  TOKEN_FIELDS,
  type TokenRecord,
  WAIT_FIELDS,
} from '../../../src/contract/records.ts'
import { LEASE_FIELDS, QUEUE_FIELDS, RATE_FIELDS } from '../../../src/contract/storage.ts'
import { LEASE_COLUMNS, leaseOfRow, leaseValues } from '../../../src/generated/lease-record.ts'
import { QUEUE_COLUMNS, queueOfRow, queueValues } from '../../../src/generated/queue-settings.ts'
import { runOfValues, runValues } from '../../../src/generated/run-record.ts'
import { TOKEN_COLUMNS, tokenOfRow, tokenValues } from '../../../src/generated/token-record.ts'
import { WAIT_COLUMNS, waitOfRow, waitValues } from '../../../src/generated/wait-record.ts'
import { draftOf } from '../../../src/storage/run-draft.ts'
import { sqliteStorage } from '../../../src/storage/sqlite/sqlite.ts'
import { openDriver } from '../../databases/drivers.ts'
import type { Value } from '../../../src/contract/columns.ts'
import { namedStorage } from '../../../src/testing/conformance/named-storage.ts'
import { manualToken, queuedRun } from '../storage-fixture.ts'

const text = fc.string({ unit: 'grapheme' })
const instant = fc.integer({ min: 1, max: 2 ** 48 - 1 })
const plain = {
  name: text,
  text,
  texts: fc.array(text, { maxLength: 3 }),
  count: fc.nat(),
  number: instant,
  flag: fc.boolean(),
}
const values: Readonly<Record<FieldType, fc.Arbitrary<unknown>>> = {
  ...plain,
  key: fieldsOf(KEY_FIELDS, [], plain),
  rate: fieldsOf(RATE_FIELDS, [], plain),
}

/** Any values in all fields of a record but these. */
function fieldsOf<Fields extends Readonly<Record<string, Field>>>(
  fields: Fields,
  but: readonly (keyof Fields)[],
  from: Readonly<Record<string, fc.Arbitrary<unknown>>> = values,
): fc.Arbitrary<Partial<Record<keyof Fields, unknown>>> {
  const entries = Object.entries(fields).filter(([name]) => !but.includes(name))
  return fc.record(
    Object.fromEntries(
      entries.map(([name, { type, isOptional }]) => [
        name,
        isOptional ? fc.option(from[type] ?? text, { nil: undefined }) : (from[type] ?? text),
      ]),
    ),
  ) as fc.Arbitrary<Partial<Record<keyof Fields, unknown>>>
}

// Casts: the type of a field says of which values it is.
const runFields = fieldsOf(RUN_FIELDS, ['id', 'status']) as fc.Arbitrary<Partial<RunRecord>>
const tokenFields = fieldsOf(TOKEN_FIELDS, ['id', 'kind', 'status']) as fc.Arbitrary<Partial<TokenRecord>>

describe('a run as a row', () => {
  it('is the same run when it is read', () =>
    fc.assert(
      fc.property(runFields, (fields) => {
        const record = queuedRun('run_1', fields)
        expect(runOfValues(runValues(record))).toEqual(record)
        expect(draftOf(record, 0)).toEqual(record)
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

/** Records of other kinds, and how each is read from the columns that it has been written to. */
const others = [
  ['token', TOKEN_FIELDS, TOKEN_COLUMNS, tokenOfRow, tokenValues],
  ['wait', WAIT_FIELDS, WAIT_COLUMNS, waitOfRow, waitValues],
  ['lease', LEASE_FIELDS, LEASE_COLUMNS, leaseOfRow, leaseValues],
  ['queue', QUEUE_FIELDS, QUEUE_COLUMNS, queueOfRow, queueValues],
] as const

describe('a record of another kind as a row', () => {
  it.each(others)('is the same %s when it is read', (_kind, fields, columns, ofRow, valuesOf) => {
    const [names, read, write] = [
      columns.split(', '),
      ofRow,
      valuesOf as (record: unknown) => readonly Value[],
    ]
    fc.assert(
      fc.property(fieldsOf<Readonly<Record<string, Field>>>(fields, []), (record) => {
        const row = Object.fromEntries(write(record).map((value, at) => [names[at] ?? '', value]))
        expect(read(row)).toEqual(record)
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
        const status = fields.completedAt === undefined ? 'WAITING' : 'COMPLETED'
        const record = manualToken(`token_${(count += 1)}`, { ...fields, status, key: undefined })
        await storage.tokens.insert({ record, now: 0, by: 'engine' })
        expect((await storage.tokens.get(record.id, 0))?.record).toEqual(record)
      }),
    )
  })
})
