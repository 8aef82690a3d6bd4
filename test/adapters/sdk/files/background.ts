import { task, waitUntil } from '@trigger.dev/sdk'

/** What came, in order. */
export const flushed: string[] = []

async function flush(name: string): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
  flushed.push(name)
}

/** Work that the run does not wait for, but its end does. */
export const background = task({
  id: 'background',
  run: async ({ fails }: { fails?: boolean }) => {
    waitUntil(flush('metrics'))
    waitUntil(Promise.reject(new Error('is of no interest')))
    if (fails) throw new Error('failed')
    flushed.push('run')
    return flushed.length
  },
  onComplete: async ({ result }) => {
    flushed.push(`complete ${result.ok}`)
  },
})
