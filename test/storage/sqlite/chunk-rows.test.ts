import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SqliteDatabase } from '../../../src/storage/sqlite/database.ts'
import { readChunkRows, writeChunkRow } from '../../../src/storage/sqlite/chunk-rows.ts'
import { SqliteHints } from '../../../src/storage/sqlite/hints.ts'
import { migrateSqlite } from '../../../src/storage/sqlite/schema.ts'
import { openDriver } from '../../databases/drivers.ts'
import { chunk } from '../storage-fixture.ts'

const batches = fc.array(fc.array(fc.jsonValue(), { minLength: 1, maxLength: 6 }), { maxLength: 8 })

describe('readChunkRows', () => {
  it('answers exactly what was written, from anywhere, however it came in batches', () => {
    const database = new SqliteDatabase(openDriver(':memory:'), 'array')
    migrateSqlite(database)
    const session = { database, hints: new SqliteHints() }
    let runs = 0
    fc.assert(
      fc.property(batches, fc.nat(50), fc.integer({ min: 1, max: 60 }), (written, from, limit) => {
        const stream = { runId: `run_${(runs += 1)}`, key: 'k' }
        const all: unknown[] = []
        for (const values of written) {
          writeChunkRow(session, { ...stream, first: all.length, chunks: values.map(chunk) })
          all.push(...values)
        }
        const texts = readChunkRows(session, { ...stream, from, limit }).map(({ text }) => text)
        expect(texts).toEqual(all.slice(from, from + limit).map((value) => JSON.stringify(value)))
      }),
    )
    database.close()
  })

  it('keeps a text apart that is JSON on several lines', () => {
    const database = new SqliteDatabase(openDriver(':memory:'), 'array')
    migrateSqlite(database)
    const session = { database, hints: new SqliteHints() }
    const pretty = { value: [1], text: '[\n  1\n]', bytes: 8 }
    writeChunkRow(session, { runId: 'run_1', key: 'k', first: 0, chunks: [pretty, chunk(2)] })
    const read = readChunkRows(session, { runId: 'run_1', key: 'k', from: 0, limit: 9 })
    expect(read.map(({ value }) => value)).toEqual([[1], 2])
    database.close()
  })
})
