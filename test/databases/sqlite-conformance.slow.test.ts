import { afterAll, describe, it } from 'vitest'
import { sqliteStorage } from 'waitpoint/sqlite'
import { storageConformance } from 'waitpoint/testing'
import { drivers, temporaryFolder } from './drivers.ts'

describe.each(drivers)('a SQLite storage on %s', (_name, openHandle) => {
  const folder = temporaryFolder()
  afterAll(() => folder[Symbol.dispose]())
  const paths = new WeakMap<object, string>()
  let count = 0

  function openOn(path: string): ReturnType<typeof sqliteStorage> {
    const storage = sqliteStorage(openHandle(path))
    paths.set(storage, path)
    return storage
  }

  const { cases } = storageConformance(() => openOn(folder.file(`${(count += 1)}.db`)), {
    crash: (storage) => openOn(paths.get(storage) ?? ''),
    capabilities: { boundedHistory: false },
  })

  it.each(cases)('keeps $id', ({ run }) => run())
})
