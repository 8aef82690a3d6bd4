import { describe, expect, it } from 'vitest'
import { type AnyTask, createEngine, type Engine, type Task, task } from 'waitpoint'
import { inNextTurn } from '../../src/clock/macrotask-turn.ts'
import { systemClock } from '../../src/clock/system.ts'
import type { Storage } from '../../src/contract/storage.ts'
import { wrapStorage } from '../../src/testing/storages/wrapped.ts'
import { projectStorage } from '../support/abandon.ts'
import { bodyTask } from '../support/body-task.ts'
import { turn, until } from '../support/turn.ts'
import { turnsByTheQuestion } from '../support/turns-by-the-question.ts'

const MANY = 1_000
/** 256 answers are handed over in a turn of timers, of which there may be two in one of the loop, and each makes some more. */
const MOST_IN_A_TURN = 600

/** Counts what happens between two turns of the event loop, until it is disposed of. */
class TurnCount implements Disposable {
  most = 0
  total = 0
  #now = 0
  #isOver = false

  constructor() {
    this.#turn()
  }

  add(): void {
    this.total += 1
    this.#now += 1
    this.most = Math.max(this.most, this.#now)
  }

  #turn(): void {
    this.#now = 0
    if (!this.#isOver) inNextTurn(() => this.#turn())
  }

  [Symbol.dispose](): void {
    this.#isOver = true
  }
}

/** Something that is done with thousands at once; `count.add()` is called for each. */
type Many = (world: {
  readonly engine: (tasks: readonly AnyTask[]) => Engine
  readonly count: TurnCount
}) => Promise<void>

/** Runs that wait for so many tokens, whose outputs have 10 kB. */
function waitsFor(tokens: number): Many {
  return async ({ engine, count }) => {
    const output = 'large output'.repeat(900)
    const ask = task({
      id: 'ask',
      run: async (token: string, { wait }) => wait.forToken(token).unwrap(),
    })
    await using one = engine([ask])
    const ids = await Promise.all(
      Array.from({ length: tokens }, async () => (await one.wait.createToken({ timeout: '1d' })).id),
    )
    const runs = await Promise.all(
      Array.from({ length: MANY }, (_, at) => one.trigger(ask, ids[at % tokens] ?? '')),
    )
    await until(() => one.stats().attempts === MANY && one.stats().executing === 0)
    using _reads = countReads(output, count)
    for (const id of ids) await one.wait.completeToken(id, output)
    for (const run of runs) await run.outcome()
  }
}

const ROWS: Readonly<Record<string, Many>> = {
  'runs of one batch': async ({ engine }) => {
    const quick = bodyTask(() => undefined)
    await using one = engine([quick])
    const { runs } = await one.tasks.batchTrigger(
      quick.id,
      Array.from({ length: MANY }, () => ({ payload: null })),
    )
    for (const run of runs) await run.outcome()
  },
  'children of one batch': async ({ engine }) => {
    const quick = bodyTask(() => undefined)
    const parent = task({
      id: 'parent',
      run: async () => quick.batchTriggerAndWait(Array.from({ length: MANY }, () => ({ payload: null }))),
    })
    await using one = engine([quick, parent])
    const { runs } = await (await one.trigger(parent)).result()
    expect(runs.every(({ ok }) => ok)).toBe(true)
  },
  'runs that wait for the storage to open': async ({ engine }) => {
    const quick = bodyTask(() => undefined)
    await using one = engine([quick])
    const runs = await Promise.all(Array.from({ length: MANY }, async () => one.trigger(quick, null)))
    for (const run of runs) await run.outcome()
  },
  'payloads of one batch that are checked': async ({ engine, count }) => {
    await using one = engine([checked(count)])
    const { runs } = await one.tasks.batchTrigger(
      'checked',
      Array.from({ length: MANY }, () => ({ payload: null })),
    )
    for (const run of runs) await run.outcome()
  },
  'payloads of children that are checked': async ({ engine, count }) => {
    const child = checked(count)
    const parent = task({
      id: 'parent',
      run: async () => child.batchTriggerAndWait(Array.from({ length: MANY }, () => ({ payload: null }))),
    })
    await using one = engine([child, parent])
    const { runs } = await (await one.trigger(parent)).result()
    expect(runs.every(({ ok }) => ok)).toBe(true)
  },
  'waits for one token': waitsFor(1),
  'waits, each for its own token': waitsFor(MANY),
  'readers of one stream': async ({ engine, count }) => {
    const chat = bodyTask(async ({ streams }) => {
      await streams.append('s', 1)
      await until(() => isRead.size === MANY)
      await streams.append('s', 2)
    })
    const isRead = new Set<number>()
    await using one = engine([chat])
    const { id } = await one.trigger(chat, null)
    const read = async (reader: number): Promise<void> => {
      for await (const chunk of one.streams.read(id, 's')) {
        isRead.add(reader)
        if (chunk === 2) count.add()
      }
    }
    await Promise.all(Array.from({ length: MANY }, async (_, reader) => read(reader)))
  },
}

/** A task whose payloads are checked, which is counted. */
function checked(count: TurnCount): Task<null, void> {
  const validate = (): { value: null } => {
    count.add()
    return { value: null }
  }
  const schema = { '~standard': { version: 1, vendor: 'test', validate } } as const
  return task({ id: 'checked', schema, run: () => undefined })
}

/** Counts how often a value is read from its text. */
function countReads(value: string, count: TurnCount): Disposable {
  const { parse } = JSON
  const json = JSON.stringify(value)
  JSON.parse = (text, ...given) => {
    if (text === json) count.add()
    return parse(text, ...given) as unknown
  }
  return { [Symbol.dispose]: () => Object.assign(JSON, { parse }) }
}

/** Counts the runs that are stored. It opens a while after it was asked to. */
function counting(storage: Storage, count: TurnCount): Storage {
  const counted = wrapStorage(storage, (name, operation) => (...args) => {
    if (name === 'runs.insert') count.add()
    return operation(...args)
  })
  const open = async (): Promise<void> => {
    await turn()
    await counted.open()
  }
  return { ...counted, open }
}

describe('thousands at once leave the event loop its turns', () => {
  it.each(Object.entries(ROWS))('%s', async (name, act) => {
    using count = new TurnCount()
    const clock = Object.assign(systemClock(), { isTurnDue: turnsByTheQuestion() })
    const storage = /^(runs|children) /.test(name) ? counting(projectStorage(), count) : projectStorage()
    await act({ engine: (tasks) => createEngine({ tasks, clock, storage }), count })
    await turn()
    expect(count.total).toBeGreaterThanOrEqual(MANY)
    expect(count.most).toBeLessThan(MOST_IN_A_TURN)
  })
})
