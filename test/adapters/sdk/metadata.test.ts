import { AsyncResource } from 'node:async_hooks'
import { expect, describe, it } from 'vitest'
import { metadata, runs, task, wait } from 'waitpoint/sdk'
import { createTestEngine } from 'waitpoint/testing'

describe('metadata', () => {
  it.each(['$.list.*', '$.list.[0:1]', '$.', '$..'])('refuses the path %s', async (path) => {
    const all = task({
      id: 'all',
      run: async () => {
        metadata.set('list', [1, 2])
        metadata.set(path, 3)
      },
    })
    await using t = await createTestEngine({ tasks: [all] })
    t.engine.makeDefault()
    const { error } = await runs.poll(await all.trigger())
    expect(error?.message).toBe(`Cannot use the metadata path "${path}": name one key after the other`)
  })

  it('of the parent is replaced, and changed by paths', async () => {
    const child = task({
      id: 'child',
      run: async () => {
        metadata.parent.update({ steps: { first: 'done' } }).set('$.steps.second', 'begun')
        metadata.root.append('$.steps.all', 'second')
      },
    })
    const parent = task({
      id: 'parent',
      run: async () => {
        metadata.set('old', true)
        await child.triggerAndWait()
      },
    })
    await using t = await createTestEngine({ tasks: [parent, child] })
    t.engine.makeDefault()
    const run = await runs.poll(await parent.trigger())
    expect(run.metadata).toEqual({ steps: { first: 'done', second: 'begun', all: ['second'] } })
  })

  it('takes changes that come after the run, without effect', async () => {
    const late: (() => unknown)[] = []
    const hasty = task({
      id: 'hasty',
      run: async () => {
        metadata.set('list', [1])
        const calls = [
          () => metadata.set('a', 1).increment('n').append('list', 2).remove('list', 1).del('list'),
          () => metadata.set('$.a.b', 1),
          () => metadata.parent.set('a', 1),
          () => metadata.replace({ a: 1 }),
          () => metadata.flush(),
        ]
        // As a timer that is left behind would call them.
        late.push(...calls.map((call) => AsyncResource.bind(call)))
      },
    })
    await using t = await createTestEngine({ tasks: [hasty] })
    t.engine.makeDefault()
    const { id } = await runs.poll(await hasty.trigger())
    for (const call of late) await call()
    expect((await runs.retrieve(id)).metadata).toEqual({ list: [1] })
  })

  it('of the parent takes changes of a child that was canceled, without effect', async () => {
    const seen: unknown[] = []
    const stubborn = task({
      id: 'stubborn',
      run: async () => {
        await wait.for({ hours: 1 }).catch(() => undefined)
        metadata.parent.set('a', 1).update({ a: 1 })
        metadata.root.append('list', 1)
        seen.push('late')
      },
    })
    const parent = task({
      id: 'parent',
      run: async () => {
        await stubborn.triggerAndWait()
        seen.push(metadata.current())
      },
    })
    await using t = await createTestEngine({ tasks: [parent, stubborn] })
    t.engine.makeDefault()
    const { id } = await parent.trigger()
    for await (const run of runs.subscribeToRun(id)) if (run.isWaiting) break
    const child = (await runs.list({ taskIdentifier: 'stubborn' })).data[0]?.id ?? ''
    for await (const run of runs.subscribeToRun(child)) if (run.isWaiting) break
    await runs.cancel(child)
    await runs.poll(id)
    expect(seen).toEqual(['late', {}])
  })

  it('takes changes of a run that was canceled, without effect', async () => {
    const changes: unknown[] = []
    const stubborn = task({
      id: 'stubborn',
      run: async () => {
        metadata.set('a', { list: [1] }).set('text', 'a text')
        await wait.for({ hours: 1 }).catch(() => undefined)
        changes.push(
          metadata.set('$.a.b', 1).remove('$.a.list', 1),
          metadata.remove('a', 1).increment('text'),
        )
      },
    })
    await using t = await createTestEngine({ tasks: [stubborn] })
    t.engine.makeDefault()
    const { id } = await stubborn.trigger()
    for await (const run of runs.subscribeToRun(id)) if (run.isWaiting) break
    await runs.cancel(id)
    await t.clock.settle()
    expect(changes).toHaveLength(2)
    expect((await runs.retrieve(id)).metadata).toEqual({ a: { list: [1] }, text: 'a text' })
  })
})
