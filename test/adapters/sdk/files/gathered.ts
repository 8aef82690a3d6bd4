import { task } from '@trigger.dev/sdk'

export const index = task({
  id: 'index',
  run: async ({ page }: { page: string }, { ctx }) => ({
    page,
    queue: ctx.queue.name,
    isBatched: !!ctx.batch,
  }),
})

export const digest = task({ id: 'digest', run: async ({ changes }: { changes: number }) => changes })

/** Changes come one after the other; what follows from them is gathered. */
export const onChange = task({
  id: 'on-change',
  run: async ({ pages }: { pages: string[] }) => {
    let last = ''
    for (const [at] of pages.entries()) {
      const { id } = await digest.trigger(
        { changes: at + 1 },
        { debounce: { key: 'site', delay: '5m', mode: 'trailing' }, externalDeploymentId: 'commit-1' },
      )
      last = id
    }
    const items = pages.map((page) => ({ payload: { page } }))
    const stored = await index.batchTrigger(items, { idempotencyKeyTTL: '1h', triggerSequentially: true })
    const { runs } = await index.batchTriggerAndWait(items, { idempotencyKey: ['site', 'all'] })
    const first = await index.triggerAndWait({ page: 'first' }, { queue: 'urgent' }).unwrap()
    return {
      last,
      stored: stored.runCount,
      pages: runs.map((run) => (run.ok ? `${run.output.page} ${run.output.isBatched}` : 'none')),
      first,
    }
  },
})
