import { batch, task } from '@trigger.dev/sdk'

export const thumbnail = task({
  id: 'thumbnail',
  run: async ({ url }: { url: string }) => ({ small: `${url}?w=10` }),
})

export const caption = task({
  id: 'caption',
  run: async ({ url, words }: { url: string; words: number }) => {
    if (words === 0) throw new Error('no words')
    return `${words} words about ${url}`
  },
})

/** Two tasks at once, for one picture; one of them may fail. */
export const describe = task({
  id: 'describe-picture',
  run: async ({ url, words }: { url: string; words: number }) => {
    const { runs } = await batch.triggerByTaskAndWait([
      { task: thumbnail, payload: { url }, options: { tags: ['picture'] } },
      { task: caption, payload: { url, words }, options: { maxAttempts: 1, queue: 'captions' } },
    ])
    const [small, text] = runs
    return {
      small: small.ok ? small.output.small : '',
      text: text.ok ? text.output : String(text.error),
    }
  },
})

/** Without waiting, from outside; the batch is asked how it is. */
export async function describeLater(url: string) {
  const { batchId } = await batch.triggerByTask([
    { task: thumbnail, payload: { url }, options: { delay: '1m' } },
    { task: caption, payload: { url, words: 2 }, options: { idempotencyKey: url } },
  ])
  const { status, runCount, runs } = await batch.retrieve(batchId)
  return { runCount, status, runs: runs.length }
}
