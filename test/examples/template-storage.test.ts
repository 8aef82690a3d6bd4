import { describe, it } from 'vitest'
import { storageConformance } from 'waitpoint/testing'
import { TemplateDatabase, TemplateStorage } from '../../examples/storage/template-storage.ts'

const databases = new WeakMap<object, TemplateDatabase>()

function openOn(database: TemplateDatabase): TemplateStorage {
  const storage = new TemplateStorage(database)
  databases.set(storage, database)
  return storage
}

const { cases } = storageConformance(() => openOn(new TemplateDatabase()), {
  crash: (storage) => openOn(databases.get(storage) ?? new TemplateDatabase()),
  capabilities: { endlessLease: false, boundedHistory: false },
})

describe('the template of a storage', () => {
  it.each(cases)('keeps $id', ({ run }) => run())
})
