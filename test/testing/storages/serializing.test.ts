import { describe, expect, it } from 'vitest'
import { task } from '../../../src/core/ambient/define-task.ts'
import { createTestEngine, type TestEngineOptions } from '../../../src/testing/create-test-engine.ts'
import { memoryOfProject } from '../../support/abandon.ts'
import { collect } from '../../support/streams.ts'

class Price {
  readonly cents: number
  constructor(cents: number) {
    this.cents = cents
  }
}

async function* prices(): AsyncGenerator {
  const mutable = { cents: 1 }
  yield mutable
  await Promise.resolve()
  mutable.cents = 2
  yield new Price(3)
  yield { cents: 4, note: undefined }
}

const selling = task({
  id: 'selling',
  run: async (_payload: null, { metadata }) => collect(await metadata.stream('prices', prices())),
})

async function sell(options: TestEngineOptions): Promise<unknown[]> {
  await using t = await createTestEngine({ tasks: [selling], ...options })
  const run = await t.engine.trigger(selling, null)
  await run.result()
  return await collect(t.engine.streams.read(run, 'prices'))
}

describe('alwaysSerialize', () => {
  it('shows a reader what a storage on disk would have kept of a chunk', async () => {
    const chunks = await sell({})
    expect(chunks).toStrictEqual([{ cents: 1 }, { cents: 3 }, { cents: 4 }])
  })

  it('can be left out: then readers share what was written', async () => {
    const chunks = await sell({ alwaysSerialize: false, storage: memoryOfProject() })
    expect(chunks[1]).toBeInstanceOf(Price)
    expect(chunks[2]).toHaveProperty('note')
  })
})
