import { StreamInterruptedError, StreamLaggedError } from '../api/errors.ts'
import type { RunReference } from '../api/run.ts'
import type { Client } from '../client/client.ts'
import type { FollowOptions } from '../client/namespaces.ts'
import type { Source } from './subscriptions.ts'

/** What a subscription of the client yields, the latest. */
export function latest<Value>(follow: (options: FollowOptions) => AsyncIterable<Value>): Source<Value> {
  return async ({ signal, onConnection, show }) => {
    for await (const value of follow({ signal, onConnection, keepTrying: true })) show(() => value)
  }
}

/** Which stream is read, and how. */
export interface StreamOfRun {
  readonly run: RunReference
  readonly key: string
  readonly attempts: 'all' | 'last'
}

/**
 * All chunks of a stream so far, to the end of its run. What a later attempt writes again is shown until that attempt, or one before it
 * that is kept, has a chunk to show instead.
 */
export function allChunks<Chunk>(
  client: Client,
  { run, key, attempts }: StreamOfRun,
): Source<readonly Chunk[]> {
  return async ({ signal, onConnection, show }) => {
    const options = { attempts, until: 'run', signal, onConnection, keepTrying: true } as const
    let chunks: Chunk[] = []
    for (let startIndex = 0; ;) {
      const read = chunks
      try {
        for await (const chunk of client.streams.read<Chunk>(run, key, { ...options, startIndex })) {
          read.push(chunk)
          show(() => [...read])
        }
        show(() => read)
        return
      } catch (error) {
        startIndex = nextIndex(error, { startIndex, attempts })
        if (startIndex === 0) chunks = []
      }
    }
  }
}

/** Where reading goes on after an error. Throws one after which it cannot. */
function nextIndex(
  error: unknown,
  { startIndex, attempts }: Pick<StreamOfRun, 'attempts'> & { readonly startIndex: number },
): number {
  if (error instanceof StreamInterruptedError && attempts === 'last') return 0
  const isCut = error instanceof StreamInterruptedError || error instanceof StreamLaggedError
  if (!isCut || error.next <= startIndex) throw error
  return error.next
}
