import { describe, expect, it } from 'vitest'
import { memoryStorage, type Storage } from 'waitpoint'
import { storageConformance, StorageLawError } from 'waitpoint/testing'
import { alwaysAsync } from '../../../src/testing/storages/async.ts'
import { wrapStorage } from '../../../src/testing/storages/wrapped.ts'
import { runInChild } from '../../clock/child-process.ts'

const crash = (storage: Storage): Storage => storage
const direct = storageConformance(memoryStorage, { crash })
const promised = storageConformance(() => alwaysAsync(memoryStorage()), { crash })

describe('storageConformance', () => {
  it.each(direct.cases)('finds that memoryStorage keeps $id', ({ run }) => run())

  it.each(promised.cases)('finds that a storage which answers with promises keeps $id', ({ run }) => run())

  // Most calls are those of the laws of overlaps, which bring each two calls together.
  it('asks for no more than memoryStorage answers in two seconds', async () => {
    let calls = 0
    const counted = (): Storage =>
      wrapStorage(memoryStorage(), (_name, operation) => (...args) => {
        calls += 1
        return operation(...args)
      })
    for (const { run } of storageConformance(counted, { crash }).cases) await run()
    expect(calls).toBeGreaterThan(5_000)
    expect(calls).toBeLessThan(60_000)
  })

  it('gives every case an id of its own, and one sentence', () => {
    const ids = direct.cases.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    for (const { id, law } of direct.cases) {
      expect(id).toMatch(/^[a-z]+(\.[a-zA-Z]+)?\/[a-z-]+$/)
      expect(law).toMatch(/^[A-Za-z][^\n]{10,200}\.$/)
    }
  })

  it('names what it skips', () => {
    expect(direct.skipped).toEqual([])
    const { cases, skipped } = storageConformance(memoryStorage, {
      capabilities: { hints: false, endlessLease: false, boundedHistory: false },
    })
    expect(skipped).toEqual(['crash', 'hints', 'endlessLease', 'boundedHistory'])
    const isSkipped = /^(crash|subscribe)\/|^tick\/endless-lease$|^chunks.append\/keeps-the-newest$/
    const left = direct.cases.filter(({ id }) => !isSkipped.test(id))
    expect(cases.map(({ id }) => id)).toEqual(left.map(({ id }) => id))
  })

  it('makes every owner leave, and disposes of every storage it opened', async () => {
    let open = 0
    const owners = new Set<string>()
    const opened = (): Storage & AsyncDisposable => {
      const memory = memoryStorage()
      const present = new Set<string>()
      open += 1
      return {
        ...memory,
        tick(request) {
          present.add(request.owner)
          return memory.tick(request)
        },
        leave(request) {
          present.delete(request.owner)
          return memory.leave(request)
        },
        async [Symbol.asyncDispose]() {
          open -= 1
          for (const owner of present) owners.add(owner)
        },
      }
    }
    for (const { run } of storageConformance(opened).cases) await run()
    expect(open).toBe(0)
    expect([...owners]).toEqual([])
  })

  it('keeps a storage open for as long as it calls it', async () => {
    const closed = new Set<string>()
    let asked = ''
    // As adapters do that close with the last engine.
    const counted = (): Storage => {
      let engines = 0
      return wrapStorage(memoryStorage(), (name, operation) => (...args) => {
        if (name === 'open') engines += 1
        else if (name === 'leave') engines -= 1
        else if (engines <= 0) closed.add(`${asked} calls ${name}`)
        return operation(...args)
      })
    }
    for (const { id, run } of storageConformance(counted, { crash }).cases) {
      asked = id
      await run()
    }
    expect([...closed]).toEqual([])
  })

  it('says what an adapter threw', async () => {
    const broken = (): Storage => ({
      ...memoryStorage(),
      tick: () => {
        throw new RangeError('no such table')
      },
    })
    const [first] = storageConformance(broken).cases
    const failure: unknown = await first?.run().catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(StorageLawError)
    expect(String(failure)).toContain('it threw RangeError: no such table')
  })

  it('refuses what it cannot use', () => {
    expect(() => storageConformance(memoryStorage() as never)).toThrow(TypeError)
    expect(() => storageConformance(memoryStorage, 'crash' as never)).toThrow(TypeError)
  })

  it('runs under node:test', async () => {
    const output = await runInChild(`
      import { test } from 'node:test'
      import { memoryStorage } from './src/index.ts'
      import { storageConformance } from './src/testing.ts'
      const { cases } = storageConformance(memoryStorage, { crash: (storage) => storage })
      for (const { id, run } of cases) test(id, run)
    `)
    const counts = new Map(
      Array.from(output.matchAll(/^[#ℹ] (pass|fail|tests) (\d+)$/gm), (one) => [one[1], one[2]]),
    )
    expect(Object.fromEntries(counts)).toEqual({
      tests: String(direct.cases.length),
      pass: String(direct.cases.length),
      fail: '0',
    })
  })
})
