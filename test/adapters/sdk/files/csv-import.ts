import { metadata, task, type BatchItem } from '@trigger.dev/sdk'

interface Row {
  line: number
  cells: string[]
}

export const importRow = task({
  id: 'import-row',
  queue: { concurrencyLimit: 5 },
  run: async ({ line, cells }: Row) => {
    if (cells.length < 2) throw new Error(`line ${line} is too short`)
    metadata.parent.increment('imported', 1)
    return cells.length
  },
})

function rowsOf(text: string): ReadableStream<BatchItem<Row>> {
  const lines = text.split('\n').filter(Boolean)
  return new ReadableStream({
    start: (controller) => {
      for (const [at, line] of lines.entries())
        controller.enqueue({ payload: { line: at + 1, cells: line.split(';') }, options: { tags: ['row'] } })
      controller.close()
    },
  })
}

/** The rows come from a stream, one after the other. */
export const importFile = task({
  id: 'import-file',
  run: async ({ text }: { text: string }) => {
    const { runs } = await importRow.batchTriggerAndWait(rowsOf(text))
    const failed = runs.flatMap((run) => (run.ok ? [] : [String(run.error)]))
    return { imported: metadata.get('imported'), failed }
  },
})
