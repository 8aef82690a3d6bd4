import { describe, expect, it } from 'vitest'
import type { Hint } from '../../../src/contract/storage.ts'
import { turn } from '../../support/turn.ts'
import { type FarHint, PostgresHints } from '../../../src/storage/postgres/hints.ts'

interface Known {
  readonly hints: PostgresHints
  /** What other processes were told. */
  readonly told: FarHint[]
}

/** The hints of a process that has heard `worker` claim a run of the task. */
function withWorker(): Known {
  const told: FarHint[] = []
  const hints = new PostgresHints(
    (far) => void told.push(...far),
    () => 0,
  )
  hints.hear([['run', 'an earlier run', 'worker', 'claimed', 'task']])
  return { hints, told }
}

/** New runs of one turn, made by `web`. */
async function insertAll(hints: PostgresHints, count: number, priorities: number[] = []): Promise<void> {
  for (let at = 0; at < count; at += 1)
    hints.queue('web', { id: `run ${at}`, taskId: 'task', priorityMs: priorities[at] })
  await Promise.resolve()
}

describe('new runs of one turn', () => {
  it('are for one owner together if there are many', async () => {
    const { hints, told } = withWorker()
    await insertAll(hints, 40)
    expect(told).toEqual([['queue', 'web', 'run 39', 'worker', null, 'last']])
  })

  it('are awaited until the one that stands last in line is claimed', async () => {
    const { hints, told } = withWorker()
    await insertAll(hints, 40, [0, 0, -5_000])
    expect(told).toEqual([['queue', 'web', 'run 2', 'worker', null, 'last']])
  })

  it('are awaited until the youngest one is claimed, however little it stands ahead', async () => {
    const { hints, told } = withWorker()
    hints.queue('web', { id: 'young', taskId: 'task', createdAt: 1_010, priorityMs: 5 })
    for (let at = 0; at < 20; at += 1)
      hints.queue('web', { id: `run ${at}`, taskId: 'task', createdAt: 1_000 })
    await Promise.resolve()
    expect(told).toEqual([['queue', 'web', 'young', 'worker', null, 'last']])
  })

  it('are not for the owner that has made them, which has no room for more', async () => {
    const { hints, told } = withWorker()
    hints.claimed({ id: 'claimed with its insert', taskId: 'task' }, 'web')
    for (let turn = 0; turn < 6; turn += 1) await insertAll(hints, 40)
    const first = new Set(told.filter(([topic]) => topic === 'queue').map(([, , , owner]) => owner))
    expect(first).toEqual(new Set(['worker', null]))
  })

  it('are for one owner each if there are few', async () => {
    const { hints, told } = withWorker()
    await insertAll(hints, 2)
    expect(told).toEqual([
      ['queue', 'web', 'run 0', 'worker'],
      ['queue', 'web', 'run 1', 'worker'],
    ])
  })

  it('are for all if there are more than one owner claims at once', async () => {
    const { hints, told } = withWorker()
    await insertAll(hints, 257)
    expect(told).toEqual([['queue', 'web', 'run 256', null, null, 'last']])
  })
})

describe('an owner that is called for many runs', () => {
  it('is told, and tells all others if it had no room for more', async () => {
    const { hints, told } = withWorker()
    const heard: Hint[] = []
    hints.subscribe('worker', (hint) => heard.push(hint))
    for (const isFull of [false, true]) {
      hints.hear([['queue', 'web', 'run 39', 'worker', null, 'last']])
      hints.asking('worker')(isFull)
      hints.asking('worker')(true)
      await Promise.resolve()
      expect(told).toEqual(isFull ? [['queue', 'worker']] : [])
    }
    const isNew = { topic: 'run', runId: 'run 39', goesOn: true, isNew: 'one of many' }
    expect(heard).toEqual([isNew, { topic: 'queue' }, isNew, { topic: 'queue' }])
  })

  it('tells no other if it was called for one run, or another one was called', async () => {
    const { hints, told } = withWorker()
    hints.subscribe('worker', () => undefined)
    hints.hear([['queue', 'web', 'run 1', 'worker']])
    hints.hear([['queue', 'web', 'run 39', 'other', null, 'last']])
    hints.asking('worker')(true)
    hints.asking('other')(true)
    await Promise.resolve()
    expect(told).toEqual([])
  })

  it('tells all others after the claim that it makes when it is called, not after one that was out', async () => {
    const { hints, told } = withWorker()
    hints.subscribe('worker', () => undefined)
    const before = hints.asking('worker')
    hints.hear([['queue', 'web', 'run 39', 'worker', null, 'last']])
    before(false)
    hints.asking('worker')(true)
    await Promise.resolve()
    expect(told).toEqual([['queue', 'worker']])
  })

  it('is forgotten when it is gone', async () => {
    const { hints, told } = withWorker()
    const unsubscribe = hints.subscribe('worker', () => undefined)
    hints.hear([['queue', 'web', 'run 39', 'worker', null, 'last']])
    unsubscribe()
    hints.asking('worker')(true)
    await Promise.resolve()
    expect(told).toEqual([])
  })
})

describe('changes of tokens', () => {
  it('go along with the next message', async () => {
    const { hints, told } = withWorker()
    hints.token('web')
    hints.token('web')
    await Promise.resolve()
    expect(told).toEqual([])
    hints.run('run 1', 'web', true)
    await Promise.resolve()
    expect(told).toEqual([
      ['run', 'run 1', 'web', 'goes on'],
      ['token', 'web'],
    ])
    hints.run('run 1', 'web')
    await Promise.resolve()
    expect(told.slice(2)).toEqual([['run', 'run 1', 'web']])
  })

  it('are told alone when no other follows', async () => {
    const { hints, told } = withWorker()
    hints.token('web')
    while (told.length === 0) await turn()
    expect(told).toEqual([['token', 'web']])
  })

  it('are told before the engine leaves, and once', async () => {
    const { hints, told } = withWorker()
    hints.token('web')
    hints.tellTokens()
    hints.tellTokens()
    expect(told).toEqual([['token', 'web']])
  })

  it('are heard by all owners of another process', () => {
    const { hints } = withWorker()
    const heard: Hint[] = []
    hints.subscribe('looker', (hint) => heard.push(hint))
    hints.hear([['token', 'web']])
    expect(heard).toEqual([{ topic: 'token' }])
  })
})
