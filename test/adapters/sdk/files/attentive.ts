import { logger, task } from '@trigger.dev/sdk/v3'

export const noted: string[] = []

async function chunk(size: number, signal: AbortSignal): Promise<number> {
  signal.throwIfAborted()
  return size
}

/** Hands its signal to all that it calls. */
export const attentive = task({
  id: 'attentive',
  maxDuration: 60,
  run: async ({ sizes, stopsAt = -1 }: { sizes: number[]; stopsAt?: number }, { signal }) => {
    const own = new AbortController()
    const either = AbortSignal.any([signal, own.signal])
    let total = 0
    for (const [at, size] of sizes.entries()) {
      if (at === stopsAt) own.abort(new Error(`enough after ${total}`))
      total += await chunk(size, either)
    }
    return total
  },
  onFailure: async ({ error, signal }) => {
    logger.warn('Stopped', { error: String(error) })
    noted.push(`failure ${signal.aborted}`)
  },
  onStartAttempt: async ({ signal }) => {
    noted.push(`attempt ${signal.aborted}`)
  },
})
