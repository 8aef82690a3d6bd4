import { describe, expect, it } from 'vitest'
import { sqliteStorage } from '../../../src/storage/sqlite/sqlite.ts'
import { namedStorage } from '../../../src/testing/conformance/named-storage.ts'
import { queuedRun } from '../../../src/testing/conformance/sample-records.ts'
import { runInChild } from '../../clock/child-process.ts'
import { openDriver, temporaryFolder } from '../../databases/drivers.ts'

describe('sqliteStorage', () => {
  it('loads no driver and opens no file before it is needed', async () => {
    const printed = await runInChild(`
      import { existsSync } from 'node:fs'
      import { sqliteStorage } from './src/sqlite.ts'
      sqliteStorage('never-made.db')
      const loaded = process.moduleLoadList.filter((name) => /sqlite|libsql/.test(name))
      console.log(JSON.stringify({ loaded, isMade: existsSync('never-made.db') }))
    `)
    expect(JSON.parse(printed)).toEqual({ loaded: [], isMade: false })
  })

  it('keeps settings for the next process that opens the file', async () => {
    using folder = temporaryFolder()
    for (const candidate of ['first', 'second']) {
      const handle = openDriver(folder.file('a.db'))
      const storage = sqliteStorage(handle)
      await storage.open()
      expect(await storage.settings.getOrInsert('secret', candidate)).toBe('first')
      await storage.leave({ owner: 'engine', now: 0 })
      handle.close()
    }
  })

  it('tells other storages on the same handle what one of them changed, and not itself', async () => {
    const handle = openDriver(':memory:')
    const [one, other] = [namedStorage(sqliteStorage(handle)), sqliteStorage(handle)]
    await one.open()
    const heard: string[] = []
    one.subscribe('one', ({ topic }) => heard.push(`one ${topic}`))
    other.subscribe('other', ({ topic }) => heard.push(`other ${topic}`))
    await one.runs.insert({ record: queuedRun('run_1', { createdAt: 0 }), now: 0, by: 'one' })
    expect(heard).toEqual(['other queue', 'other run'])
  })
})
