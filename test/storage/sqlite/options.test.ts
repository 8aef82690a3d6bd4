import { describe, expect, it } from 'vitest'
import { readSqliteOptions } from '../../../src/storage/sqlite/options.ts'

describe('readSqliteOptions', () => {
  it('takes a path, options or an open database', () => {
    const handle = {
      exec: () => 0,
      prepare: (): never => {
        throw new Error('no')
      },
      close: () => 0,
    }
    expect(readSqliteOptions('a.db')).toMatchObject({ path: 'a.db', synchronous: 'normal', pollMs: 5 })
    expect(readSqliteOptions({ path: 'a.db', synchronous: 'full', pollMs: 50 })).toMatchObject({
      path: 'a.db',
      synchronous: 'full',
      pollMs: 50,
    })
    const url = new URL('file:///srv/my%20app/%23a.db')
    for (const given of [url, { path: url }])
      expect(readSqliteOptions(given)).toMatchObject({ path: '/srv/my app/#a.db', handle: undefined })
    expect(readSqliteOptions(handle)).toMatchObject({ path: undefined, handle })
  })

  it.each([
    ['', TypeError, 'it must be a non-empty string'],
    [{}, TypeError, 'it must be a non-empty string'],
    [{ path: 'a.db', sync: true }, TypeError, 'there is no option "sync"'],
    [{ path: 'a.db', synchronous: 'off' }, RangeError, 'Cannot use synchronous "off"'],
    [{ path: 'a.db', pollMs: 0 }, RangeError, 'Cannot use pollMs 0'],
    [new URL('https://example.com/a.db'), TypeError, 'it must be a file: address'],
    [undefined, TypeError, 'Cannot use undefined as a SQLite database: give its path'],
  ])('refuses %j, and says why', (given, kind, message) => {
    const read = (): unknown => readSqliteOptions(given as never)
    expect(read).toThrow(kind)
    expect(read).toThrow(message)
  })
})
