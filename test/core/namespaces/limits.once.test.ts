import { describe, expect, it } from 'vitest'
import { createEngine, type AnyTask, memoryStorage, type TaskLimit, task, wait } from 'waitpoint'
import { rejection } from '../../support/body-task.ts'
import { turn, until } from '../../support/turn.ts'
import { createDeferred } from '../../../src/primitives/deferred.ts'

const noop = async (): Promise<void> => undefined

/** A task whose runs go on until they are told to. */
function held(id: string, limits: readonly TaskLimit[]) {
  const [begun, ends] = [[] as string[], new Map<string, () => void>()]
  const one = task({
    id,
    limits,
    run: async (name: string) => {
      begun.push(name)
      const { promise, resolve } = createDeferred<undefined>()
      ends.set(name, () => resolve(undefined))
      await promise
    },
  })
  return { task: one, begun, end: (name: string) => ends.get(name)?.() }
}

describe('limits of a task', () => {
  it('bound its runs over all keys, for each key, and together with those of other tasks', async () => {
    const provider = { name: 'provider', total: 3 }
    const mail = held('mail', [{ perKey: 1 }, provider])
    const call = held('call', [provider])
    await using engine = createEngine({ tasks: [mail.task, call.task], storage: memoryStorage() })
    for (const key of ['a', 'a', 'b']) await engine.trigger(mail.task, key, { concurrencyKey: key })
    for (const name of ['1', '2']) await engine.trigger(call.task, name)
    await until(() => mail.begun.length === 2 && call.begun.length === 1)
    expect([mail.begun, call.begun]).toEqual([['a', 'b'], ['1']])
    mail.end('b')
    await until(() => call.begun.length === 2)
    expect([mail.begun, call.begun]).toEqual([
      ['a', 'b'],
      ['1', '2'],
    ])
    mail.end('a')
    await until(() => mail.begun.length === 3)
    expect(mail.begun).toEqual(['a', 'b', 'a'])
    for (const name of ['a', '1', '2']) for (const one of [mail, call]) one.end(name)
  })

  it('hold back runs that could go on, and explain says which limit does', async () => {
    const limits = [{ name: 'provider', total: 1 }]
    const call = held('call', limits)
    const ask = task({ id: 'ask', limits, run: (token: string) => wait.forToken(token) })
    await using engine = createEngine({ tasks: [ask, call.task], storage: memoryStorage() })
    const token = await engine.wait.createToken()
    const asks = await engine.trigger(ask, token.id)

    const holds = await engine.trigger(call.task, '1')
    await until(() => call.begun.length === 1)
    await engine.wait.completeToken(token)
    const behind = await engine.trigger(call.task, '2')
    while (!(await engine.runs.explain(asks)).sentence.includes('free slot')) await turn()
    expect((await engine.runs.explain(asks)).sentence).toContain(
      'with the next free slot of limit "provider"',
    )
    expect(await engine.runs.explain(behind)).toMatchObject({
      heldBackBy: { name: 'provider', isPaused: false, total: 1, heldBy: [holds.id] },
      sentence: `The run is queued in queue "task/call" (limit "provider": total 1, held by ${holds.id}).`,
    })
    call.end('1')
    await asks.result()
    await until(() => call.begun.length === 2)
    expect(call.begun).toEqual(['1', '2'])
    call.end('2')
  })

  it('are paused and set by their names, which queues() lists', async () => {
    const mail = held('mail', [{ total: 2 }])
    await using engine = createEngine({ tasks: [mail.task], storage: memoryStorage() })
    const queue = engine.queue('limit/mail')
    await queue.pause()
    const run = await engine.trigger(mail.task, '1')
    await engine.trigger(mail.task, '2', { concurrencyKey: 'k' })

    expect((await engine.runs.explain(run)).sentence).toContain(': limit "limit/mail" is paused.')
    await queue.setLimit(1)
    await queue.resume()
    await until(() => mail.begun.length === 1)
    expect(mail.begun).toEqual(['1'])
    const told = { name: 'limit/mail', limit: 1, declaredLimit: 2, running: 1, queued: 1, isPaused: false }
    expect(await engine.queues()).toMatchObject([told, { name: 'task/mail', running: 1 }])
    await queue.resetLimit()
    await until(() => mail.begun.length === 2)
    expect(mail.begun).toEqual(['1', '2'])
    const rate = queue.setRate({ limit: 1, per: '1m' })
    expect(await rejection(rate)).toMatchObject({
      message: 'Cannot change the rate of "limit/mail": it is a limit of tasks, and only queues have rates',
    })
    for (const name of ['1', '2']) mail.end(name)
  })

  it('bound a replay, too', async () => {
    const call = held('call', [{ total: 1 }])
    await using engine = createEngine({ tasks: [call.task], storage: memoryStorage() })
    const first = await engine.trigger(call.task, '1')
    await until(() => call.begun.length === 1)
    const replay = await engine.runs.replay(first)
    const said = (await engine.runs.explain(replay)).sentence
    expect(said).toContain(`(limit "limit/call": total 1, held by ${first.id})`)
    call.end('1')
    await until(() => call.begun.length === 2)
    call.end('1')
  })

  it('are refused where they cannot be used', async () => {
    const withLimits = (limits: unknown, id = 'mail', queue = {}) =>
      task({ id, queue, limits: limits as readonly TaskLimit[], run: noop })
    const refusals: readonly (readonly [unknown, string])[] = [
      [{ total: 1 }, 'Cannot use limits of task "mail" { total: 1 }: it must be a list'],
      [[{}], 'Cannot use limit "limit/mail" of task "mail": it needs total or perKey'],
      [[{ total: 0 }], 'Cannot use limit.total 0: it must be a whole number from 1'],
      [[{ perKey: -1 }], 'Cannot use limit.perKey -1: it must be a whole number from 1'],
      [[{ perKey: 1.5 }], 'Cannot use limit.perKey 1.5: it must be a whole number from 1'],
      [[{ name: '', total: 1 }], 'Cannot use limit.name "": it must be a non-empty string'],
      [[{ totl: 1 }], 'Cannot use limits of task "mail": there is no option "totl"; use name, total, perKey'],
      [[{ total: 1 }, { total: 2 }], 'Cannot use limits of task "mail": two are called "limit/mail"'],
      [
        ['a', 'b', 'c', 'd'].map((name) => ({ name, total: 1 })),
        'Cannot use 4 limits of task "mail": at most 3 are allowed',
      ],
    ]
    for (const [limits, message] of refusals) expect(() => withLimits(limits)).toThrow(message)

    const shared = withLimits([{ name: 'p', total: 1, perKey: 2 }])
    const create = (tasks: readonly AnyTask[], storage = memoryStorage()) => createEngine({ tasks, storage })
    expect(() => create([shared, withLimits([{ name: 'p', total: 2 }], 'other')])).toThrow(
      'Cannot create the engine: limit "p" has two values, total 1, perKey 2 and total 2',
    )
    expect(() => create([shared, withLimits([], 'other', { name: 'p' })])).toThrow(
      'Cannot create the engine: "p" is the name of a queue and of a limit; give the limit another name',
    )
    const { limits: _, ...without } = memoryStorage()
    expect(() => create([shared], without)).toThrow(
      'Cannot create the engine: a task has the limit "p": the storage keeps to one limit of a run',
    )
    await create([withLimits([])], without).close()
  })
})
