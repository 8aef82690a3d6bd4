import { batch, task, tasks } from '@trigger.dev/sdk/v3'

export const measure = task({
  id: 'measure',
  run: async (payload: { text: string }) => {
    if (payload.text === '') throw new Error('there is nothing to measure')
    return payload.text.length
  },
})

export const shout = task({
  id: 'shout',
  run: async (payload: { text: string }) => payload.text.toUpperCase(),
})

export const report = task({
  id: 'report',
  run: async (payload: { texts: string[] }) => {
    const { runs } = await measure.batchTriggerAndWait(payload.texts.map((text) => ({ payload: { text } })))
    let total = 0
    const errors: unknown[] = []
    for (const run of runs) {
      if (run.ok) total += run.output
      else errors.push(run.error)
    }
    return { total, messages: errors.map((error) => (error instanceof Error ? error.message : '')) }
  },
})

export const first = task({
  id: 'first',
  run: async (payload: { text: string }) => {
    const result = await shout.triggerAndWait({ text: payload.text })
    if (!result.ok) throw result.error
    const length = await measure.triggerAndWait({ text: result.output }).unwrap()
    return `${result.output} ${length}`
  },
})

export const unwrapping = task({
  id: 'unwrapping',
  run: async () => measure.triggerAndWait({ text: '' }).unwrap(),
})

/** By ids only, without the types of the tasks. */
export const untyped = task({
  id: 'untyped',
  run: async (payload: { text: string }) => {
    const result = await tasks.triggerAndWait('shout', { text: payload.text })
    if (!result.ok) return 'no'
    return result.output.toLowerCase()
  },
})

/** By ids, with the types of the tasks. */
export const typed = task({
  id: 'typed',
  run: async (payload: { text: string }) => {
    const output = await tasks.triggerAndWait<typeof measure>('measure', { text: payload.text }).unwrap()
    return output + 1
  },
})

export const several = task({
  id: 'several',
  run: async (payload: { text: string }) => {
    const { runs } = await batch.triggerAndWait<typeof measure | typeof shout>([
      { id: 'measure', payload },
      { id: 'shout', payload },
    ])
    const shown: string[] = []
    for (const run of runs) {
      if (!run.ok) continue
      switch (run.taskIdentifier) {
        case 'measure':
          shown.push(run.output.toFixed(1))
          break
        case 'shout':
          shown.push(run.output.toLowerCase())
          break
      }
    }
    return shown
  },
})

export const byTask = task({
  id: 'by-task',
  run: async (payload: { text: string }) => {
    const {
      runs: [length, loud],
    } = await batch.triggerByTaskAndWait([
      { task: measure, payload },
      { task: shout, payload },
    ])
    return length.ok && loud.ok ? `${length.output.toFixed(1)} ${loud.output.trim()}` : 'no'
  },
})

export const begin = task({
  id: 'begin',
  run: async (payload: { texts: string[] }) => {
    const handle = await measure.trigger({ text: 'one' }, { tags: ['a', 'b'], delay: '1h' })
    const { batchId, runCount } = await shout.batchTrigger(
      payload.texts.map((text) => ({ payload: { text } })),
    )
    const mixed = await batch.trigger<typeof measure | typeof shout>([
      { id: 'measure', payload: { text: 'two' }, options: { ttl: '10m' } },
      { id: 'shout', payload: { text: 'three' } },
    ])
    const seen = await batch.retrieve(batchId)
    return {
      id: handle.id,
      task: handle.taskIdentifier,
      runCount,
      mixed: mixed.runCount,
      seen: seen.runCount,
    }
  },
})

async function* texts() {
  yield { payload: { text: 'one' } }
  yield { payload: { text: 'three' } }
}

export const streamed = task({
  id: 'streamed',
  run: async () => {
    const { runs } = await measure.batchTriggerAndWait(texts())
    return runs.map((run) => (run.ok ? run.output : 0))
  },
})
