import { queue, queues, task } from '@trigger.dev/sdk'

const importQueue = queue({ name: 'imports', concurrencyLimit: 5 })

export const importRows = task({
  id: 'import-rows',
  queue: importQueue,
  run: async ({ rows }: { rows: number }) => rows,
})

export const report = task({ id: 'report', run: async () => 'reported' })

/** Holds imports back while the database is being moved, and lets them in slowly afterwards. */
export const maintain = task({
  id: 'maintain',
  run: async ({ parallel }: { parallel: number }) => {
    const held = await queues.pause({ type: 'custom', name: 'imports' })
    const { id } = await importRows.trigger({ rows: 3 })
    const during = await queues.retrieve({ type: 'custom', name: 'imports' })
    const narrowed = await queues.overrideConcurrencyLimit(during.id, parallel)
    const resumed = await queues.resume({ type: 'custom', name: 'imports' })
    const names: string[] = []
    for await (const each of await queues.list({ perPage: 2 })) names.push(`${each.type} ${each.name}`)
    const own = await queues.retrieve({ type: 'task', name: 'report' })
    const reset = await queues.resetConcurrencyLimit({ type: 'custom', name: 'imports' })
    return {
      id,
      paused: [held.paused, during.paused, resumed.paused],
      queued: during.queued,
      limits: [
        held.concurrencyLimit,
        narrowed.concurrencyLimit,
        reset.concurrencyLimit,
        own.concurrencyLimit,
      ],
      base: narrowed.concurrency?.base,
      override: [narrowed.concurrency?.override, reset.concurrency?.override],
      isDated: narrowed.concurrency?.overriddenAt instanceof Date,
      names,
    }
  },
})
