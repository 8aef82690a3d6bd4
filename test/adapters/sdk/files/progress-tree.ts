import { metadata, tags, task } from '@trigger.dev/sdk'

export const page = task({
  id: 'tree-page',
  run: async ({ page: number }: { page: number }) => {
    await tags.add(`page_${number}`)
    metadata.parent.append('pages', number).increment('done', 1)
    metadata.root.increment('total', 1).set('last', { page: number })
  },
})

export const chapter = task({
  id: 'tree-chapter',
  run: async ({ pages }: { pages: number[] }) => {
    for (const number of pages) await page.triggerAndWait({ page: number })
    return metadata.current()
  },
})

/** The run at the top shows what those below it have done. */
export const book = task({
  id: 'tree-book',
  run: async ({ chapters }: { chapters: number[][] }) => {
    const { runs } = await chapter.batchTriggerAndWait(chapters.map((pages) => ({ payload: { pages } })))
    await metadata.flush()
    return { chapters: runs.map((run) => (run.ok ? run.output : null)), total: metadata.get('total') }
  },
})
