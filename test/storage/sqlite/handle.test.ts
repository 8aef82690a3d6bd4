import { describe, expect, it } from 'vitest'
import { bindingOf, type SqliteHandle, type SqliteStatement } from '../../../src/storage/sqlite/handle.ts'
import { drivers } from '../../databases/drivers.ts'

function handleThatAnswers(get: (...parameters: never[]) => unknown): SqliteHandle {
  const statement: SqliteStatement = { run: get, get, all: get }
  return { exec: () => undefined, prepare: () => statement, close: () => undefined }
}

describe('bindingOf', () => {
  it.each(drivers)('finds out how %s wants its parameters', (name, open) => {
    const handle = open(':memory:')
    expect(bindingOf(handle)).toBe(name === 'node:sqlite' ? 'spread' : 'array')
    handle.close()
  })

  it('refuses a handle that answers with promises', () => {
    const asynchronous = handleThatAnswers(() => Promise.resolve({ probe: 1 }))
    expect(() => bindingOf(asynchronous)).toThrow(/^Cannot use this SQLite handle: it answers with promises/)
  })

  it('refuses a handle that does not answer', () => {
    expect(() => bindingOf(handleThatAnswers(() => undefined))).toThrow(/does not answer a SELECT/)
  })
})
