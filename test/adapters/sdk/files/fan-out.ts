import { batch, idempotencyKeys, metadata, task, tasks } from '@trigger.dev/sdk'

export const scrape = task({
  id: 'scrape',
  retry: { maxAttempts: 1 },
  queue: { name: 'scraping', concurrencyLimit: 2 },
  run: async ({ url }: { url: string }) => {
    metadata.parent.increment('scraped', 1)
    if (url.includes('missing')) throw new Error(`404 ${url}`)
    return { url, length: url.length }
  },
})

/** In portions, with failures put aside. */
export const crawl = task({
  id: 'crawl',
  run: async ({ urls }: { urls: string[] }) => {
    const found: number[] = []
    const lost: string[] = []
    for (let at = 0; at < urls.length; at += 2) {
      const portion = urls
        .slice(at, at + 2)
        .map((url) => ({ payload: { url }, options: { tags: ['crawl'] } }))
      const { runs } = await scrape.batchTriggerAndWait(portion)
      for (const run of runs) {
        if (run.ok) found.push(run.output.length)
        else lost.push(run.error instanceof Error ? run.error.message : String(run.error))
      }
    }
    return { found, lost, scraped: metadata.get('scraped') }
  },
})

/** A key for each child: a second attempt finds the children of the first one. */
export const resumed = task({
  id: 'resumed',
  retry: { maxAttempts: 2, minTimeoutInMs: 100 },
  run: async ({ urls }: { urls: string[] }, { ctx }) => {
    const ids: string[] = []
    for (const url of urls) {
      const idempotencyKey = await idempotencyKeys.create(url)
      const handle = await tasks.trigger<typeof scrape>('scrape', { url }, { idempotencyKey })
      ids.push(handle.id)
    }
    if (ctx.attempt.number === 1) throw new Error('died in between')
    return ids.length
  },
})

export const mixed = task({
  id: 'mixed',
  run: async () => {
    const { runs } = await batch.triggerAndWait<typeof scrape | typeof resumed>([
      { id: 'scrape', payload: { url: 'a' } },
      { id: 'resumed', payload: { urls: ['b'] } },
    ])
    return runs.map((run) => (run.ok ? run.taskIdentifier : 'failed'))
  },
})
