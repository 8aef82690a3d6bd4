import { describe, expect, it } from 'vitest'
import type { Hint } from '../../../src/contract/storage.ts'
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
    expect(first).toEqual(new Set(['worker', undefined]))
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
    expect(told).toEqual([['queue', 'web']])
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
    expect(heard).toEqual([{ topic: 'queue' }, { topic: 'queue' }])
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
