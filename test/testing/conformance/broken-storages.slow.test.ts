import { memoryStorage, type Storage } from 'waitpoint'
import { storageConformance } from 'waitpoint/testing'
import { describe, expect, it } from 'vitest'
import { type Break, openBroken } from './broken/broken-storage.ts'
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

/** A storage in which one call, such as `runs.get`, answers texts that were cut. */
function openCut(name: string): Storage {
  const memory: Storage = memoryStorage()
  const [first = '', second] = name.split('.')
  // Casts: a store, and the storage itself, are tables of calls by name.
  const owner = (second === undefined ? memory : memory[first as 'runs']) as unknown as Calls
  const call = second ?? first
  const changed = { ...owner, [call]: (...values: unknown[]) => cut(owner[call]?.(...values)) }
  return second === undefined ? { ...memory, ...changed } : { ...memory, [first]: changed }
}

type Calls = Readonly<Record<string, ((...values: unknown[]) => unknown) | undefined>>

function cut(answer: unknown): unknown {
  if (typeof answer === 'string') return answer.slice(0, 65_535)
  if (Array.isArray(answer)) return answer.map(cut)
  if (Object.prototype.toString.call(answer) !== '[object Object]') return answer
  return Object.fromEntries(Object.entries(answer as object).map(([name, value]) => [name, cut(value)]))
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

/** Each call that answers what engines and users have written. */
const ANSWERS: readonly string[] = [
  ...['insert', 'get', 'list', 'waits', 'asked', 'update', 'claim', 'park', 'resume'].map(
    (name) => `runs.${name}`,
  ),
  ...['insert', 'get', 'list', 'await', 'settle', 'change'].map((name) => `tokens.${name}`),
  ...['chunks.read', 'settings.getOrInsert', 'schedules.get', 'schedules.list', 'tick'],
]

describe('storageConformance of a storage that has columns of 65,535 characters', () => {
  it.each(ANSWERS)('fails when %s answers a text that was cut', async (name) => {
    const values = storageConformance(() => openCut(name)).cases.filter(({ id }) => id.startsWith('values/'))
    const judged = await Promise.allSettled(values.map(async ({ run }) => run()))
    expect(judged.map(({ status }) => status)).toContain('rejected')
  })
})

describe('storageConformance of a storage that lists by creation', () => {
  const byCreation = <Record extends { readonly createdAt: number }>(listed: {
    readonly records: readonly Record[]
  }): { readonly records: readonly Record[] } => ({
    ...listed,
    records: [...listed.records].reverse().sort((one, other) => other.createdAt - one.createdAt),
  })
  const breaks: Readonly<Record<string, Break>> = {
    runs: (memory) => ({ runs: { list: (...values) => byCreation(memory.runs.list(...values)) } }),
    tokens: ({ tokens }) => ({
      tokens: { list: (...values) => ({ settled: [], ...byCreation(tokens.list(...values)) }) },
    }),
  }

  it.each(Object.entries(breaks))('fails for %s of one millisecond', async (store, broken) => {
    const { cases } = storageConformance(() => openBroken(broken))
    const law = cases.find(({ id }) => id === `${store}.list/by-id`)
    await expect(law?.run()).rejects.toMatchObject({ code: 'ERR_STORAGE_LAW' })
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
