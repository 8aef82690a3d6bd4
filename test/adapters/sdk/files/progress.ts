import { metadata, runs, tags, task } from '@trigger.dev/sdk'

export const work = task({
  id: 'work',
  run: async (payload: { items: string[] }) => {
    metadata.set('status', 'working').set('done', 0).append('log', 'begun')
    for (const item of payload.items) metadata.increment('done', 1).append('log', item)
    metadata.remove('log', 'begun').del('status')
    metadata.decrement('done')
    await metadata.flush()
    await tags.add(`items:${payload.items.length}`)
    metadata.root.set('last', payload.items.at(-1) ?? null)
    return { done: metadata.get('done'), all: metadata.current() }
  },
})

export const reporting = task({
  id: 'reporting',
  run: async (payload: { step: string }) => {
    metadata.parent.set('step', payload.step).increment('steps', 1)
    metadata.root.append('steps', payload.step)
    metadata.replace({ own: payload.step })
    return metadata.current()
  },
})

export const outer = task({
  id: 'outer',
  run: async () => reporting.triggerAndWait({ step: 'one' }).unwrap(),
})

export const leaf = task({
  id: 'leaf',
  run: async () => {
    metadata.parent.set('below', 1).increment('below', 2)
    metadata.root
      .set('by', 'leaf')
      .append('list', 'a')
      .append('list', 'b')
      .append('list', 'c')
      .remove('list', 'b')
    metadata.root.increment('count', 5).decrement('count', 1).set('gone', 1).del('gone')
  },
})

export const middle = task({
  id: 'middle',
  run: async () => {
    metadata.set('middle', true)
    await leaf.triggerAndWait().unwrap()
    return metadata.current()
  },
})

export const deep = task({
  id: 'deep',
  run: async () => ({ own: await middle.triggerAndWait().unwrap() }),
})

export const late = task({
  id: 'late',
  run: async () => {
    metadata.parent.set('late', true)
  },
})

export const leaving = task({
  id: 'leaving',
  run: async () => {
    const { id } = await late.trigger(undefined, { delay: '1m' })
    return id
  },
})

export const tagged = task({
  id: 'tagged',
  run: async () => {
    await tags.add(['a', 'b', ''])
    await Promise.all([tags.add('c'), tags.add('a')])
    await tags.add(Array.from({ length: 10 }, (_, index) => `n${index}`))
  },
})

/** Values that JSON has not as they are. */
export const measuring = task({
  id: 'measuring',
  run: async () => {
    metadata.set('at', new Date('2026-01-02T03:04:05Z') as never).set('share', 1 / 0)
    metadata.append('parts', { left: 0 / 0, right: undefined as never }).append('parts', -1 / 0)
    return metadata.current()
  },
})

export const measure = task({
  id: 'measure',
  run: async () => {
    const handle = await measuring.trigger(undefined, { metadata: { begun: 1 / 0, none: undefined } })
    return (await runs.poll(handle.id)).metadata
  },
})
