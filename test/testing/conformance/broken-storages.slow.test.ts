import { memoryStorage, type Storage } from 'waitpoint'
import { storageConformance } from 'waitpoint/testing'
import { describe, expect, it } from 'vitest'
import { openBroken } from './broken/broken-storage.ts'
import { brokenStorageOf, brokenStorages } from './broken/broken-storages.ts'

const laws = storageConformance(memoryStorage, { crash: (storage) => storage }).cases.map(({ id }) => id)

/** The first law that a broken storage breaks, and what the suite says. */
async function firstFailure(
  law: string,
): Promise<{ readonly id: string; readonly error: unknown } | undefined> {
  const broken = brokenStorageOf(law)
  if (broken === undefined) throw new Error(`there is no broken storage for "${law}"`)
  const { breaks, crash = (storage: Storage): Storage => storage } = broken
  for (const { id, run } of storageConformance(() => openBroken(breaks), { crash }).cases) {
    try {
      await run()
    } catch (error) {
      return { id, error }
    }
  }
  return undefined
}

describe('storageConformance of a broken storage', () => {
  it('knows one for every law', () => {
    expect(laws.filter((law) => brokenStorageOf(law) === undefined)).toEqual([])
    expect(Object.keys(brokenStorages).filter((law) => !laws.includes(law))).toEqual([])
  })

  it.each(laws)('fails first at %s', async (law) => {
    const failure = await firstFailure(law)
    expect(failure?.id, String(failure?.error)).toBe(law)
    expect(failure?.error).toMatchObject({ name: 'StorageLawError', code: 'ERR_STORAGE_LAW', law })
  })
})

describe('the failure of a law', () => {
  it('names the law, the year, what was expected and what was seen', async () => {
    const failure = await firstFailure('tokens.settle/late-completion-times-out')
    expect(String(failure?.error)).toContain('breaks "tokens.settle/late-completion-times-out" (in 1970)')
    expect(String(failure?.error)).toMatch(/Law: .*TIMED_OUT.*\n.*expected .*"won":false.*saw .*"won":true/s)
  })

  it('says what to declare, or to leave out, where the storage need not be able to', async () => {
    const saidOf = async (law: string): Promise<string> => String((await firstFailure(law))?.error)
    const ending = / If the storage does not offer this: (.*)\.$/
    expect((await saidOf('subscribe/tells-the-others')).match(ending)?.[1]).toBe(
      'declare `capabilities: { hints: false }`',
    )
    expect((await saidOf('tick/endless-lease')).match(ending)?.[1]).toBe(
      'declare `capabilities: { endlessLease: false }`',
    )
    expect((await saidOf('crash/claims-are-mustered')).match(ending)?.[1]).toBe(
      'leave out the option `crash` of storageConformance',
    )
    expect((await saidOf('counts.runs/by-status')).match(ending)?.[1]).toBe('leave out `counts`')
    expect((await saidOf('subscribe/tells-of-queues')).match(ending)?.[1]).toBe(
      'declare `capabilities: { hints: false }`, or leave out `queues`',
    )
    expect(await saidOf('runs.claim/oldest-first-and-once')).not.toMatch(ending)
  })

  it('tells the shortest program that still fails, when a program failed', async () => {
    const failure = await firstFailure('model/answers-like-memory')
    const steps = String(failure?.error).match(/^ +\d+\. /gm) ?? []
    expect(steps.length).toBeGreaterThan(3)
    expect(steps.length).toBeLessThan(40)
    expect(await firstFailure('model/answers-like-memory')).toEqual(failure)
  })
})
