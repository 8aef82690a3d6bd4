import { AbortTaskRunError, retry, task } from '@trigger.dev/sdk'

export const tried: string[] = []

/** Tries inside of an attempt, of each part alone. */
export const upload = task({
  id: 'upload-parts',
  retry: { maxAttempts: 1 },
  run: async ({ parts, fatal }: { parts: string[]; fatal?: string }) => {
    const uploaded: string[] = []
    for (const part of parts) {
      const id = await retry.onThrow(
        async ({ attempt, maxAttempts }) => {
          tried.push(`${part} ${attempt}/${maxAttempts}`)
          if (part === fatal) throw new AbortTaskRunError(`${part} is broken`)
          if (attempt < part.length) throw new Error(`${part} is too long`)
          return `${part}@${attempt}`
        },
        { maxAttempts: 2, minTimeoutInMs: 1, maxTimeoutInMs: 1, factor: 1, randomize: true },
      )
      uploaded.push(id)
    }
    return uploaded
  },
})
