import { heartbeats, metadata, otel, task, tasks } from '@trigger.dev/sdk/v3'

/** The tasks whose errors were decided about. */
export const decided: string[] = []

tasks.handleError('older', ({ task: id }) => {
  if (id === 'older-calls') decided.push(id)
  return undefined
})

const read = otel.metrics.getMeter('files').createCounter('read')

async function* lines() {
  yield 'a'
  yield 'b'
}

/** Calls that have newer names. */
export const olderCalls = task({
  id: 'older-calls',
  run: async ({ fails = false }: { fails?: boolean }) => {
    if (fails) throw new Error('it failed')
    metadata.save({ step: 1, left: 'a' })
    metadata.save({ step: 2 })
    await metadata.refresh()
    const written: string[] = []
    for await (const line of await metadata.stream('lines', lines())) written.push(line)
    const again: string[] = []
    for await (const line of await metadata.fetchStream<string>('lines')) {
      again.push(line)
      if (again.length === written.length) break
    }
    read.add(written.length)
    return { again, metadata: metadata.current(), isBeating: heartbeats.getLastHeartbeat() instanceof Date }
  },
})
