import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../../src/storage/memory/memory.ts'
import { alwaysAsync } from '../../../src/testing/storages/async.ts'

describe('alwaysAsync', () => {
  it('takes effect after the call, in the order of the calls', async () => {
    const memory = memoryStorage()
    const storage = alwaysAsync(memory)
    const first = storage.settings.getOrInsert('key', 'first')
    const second = storage.settings.getOrInsert('key', 'second')
    expect([await second, await first]).toEqual(['first', 'first'])

    const late = storage.settings.getOrInsert('other', 'late')
    expect(memory.settings.getOrInsert('other', 'early')).toBe('early')
    expect(await late).toBe('early')
  })

  it('has every operation of the contract, all of them with a promise', async () => {
    const storage = alwaysAsync(memoryStorage())
    const page = { limit: 10 }
    const answers = [
      storage.open(),
      storage.tick({ owner: 'engine_1', leaseUntil: 10, now: 1, limit: 10 }),
      storage.runs.get('run_1'),
      storage.runs.list({}, page),
      storage.runs.waits('run_1'),
      storage.tokens.get('waitpoint_1', 1),
      storage.tokens.list({ kind: 'MANUAL' }, page, 1),
      storage.tokens.release([]),
      storage.chunks.read({ runId: 'run_1', key: 'draft', from: 0, limit: 1 }),
      storage.prune({ before: 0, limit: 1, now: 1 }),
      storage.leave({ owner: 'engine_1', now: 1 }),
    ]
    for (const answer of answers) expect(answer).toBeInstanceOf(Promise)
    expect(await answers[1]).toMatchObject({ alive: true })
    expect(await answers[2]).toBeUndefined()
  })

  it('rejects where the other one throws', async () => {
    const storage = alwaysAsync({
      ...memoryStorage(),
      open() {
        throw new Error('no disk')
      },
    })
    await expect(storage.open()).rejects.toThrow('no disk')
  })

  it('passes hints through', async () => {
    const storage = alwaysAsync(memoryStorage())
    const unsubscribe = storage.subscribe('engine_1', () => undefined)
    expect(unsubscribe).toBeInstanceOf(Function)
    unsubscribe()
  })
})
