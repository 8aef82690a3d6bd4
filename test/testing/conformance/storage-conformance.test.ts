import { describe, it } from 'vitest'
import { memoryStorage } from 'waitpoint'
import { storageConformance } from 'waitpoint/testing'
import { alwaysAsync } from '../../../src/testing/async-storage.ts'

const sync = storageConformance(memoryStorage, { crash: (storage) => storage })
const asynchronous = storageConformance(() => alwaysAsync(memoryStorage()), { crash: (storage) => storage })

describe('storageConformance', () => {
  it.each(sync.cases)('memoryStorage keeps $id', ({ run }) => run())

  it.each(asynchronous.cases)('a storage that answers with promises keeps $id', ({ run }) => run())
})
