import { useCallback, useSyncExternalStore } from 'react'
import type { AnyTask, RunOf, RunReference } from '../api/run.ts'
import type { DefinedStream } from '../api/stream.ts'
import type { RetrievedToken, SubscribeToTokensParams, Token, TokenReference } from '../api/token.ts'
import type { Client } from '../client/client.ts'
import { isFinal } from '../contract/run-states.ts'
import { idOf } from '../primitives/require.ts'
import { usePage } from './provider.ts'
import { allChunks, latest } from './sources.ts'
import type { Snapshot, Source, SubscriptionStatus } from './subscriptions.ts'

/** How what a component follows stands. `error` says why it has ended early. */
export interface Followed {
  readonly status: SubscriptionStatus
  readonly error?: Error | undefined
}

/** What is followed, and from where on. */
interface Following<Value> {
  /** Tells it from everything else that a client follows. `undefined`: there is nothing to follow yet, or any more. */
  readonly key: readonly unknown[] | undefined
  readonly source: (client: Client) => Source<Value>
}

const WAITING: Snapshot<never> = { status: 'connecting' }
const ENDED = { status: 'ended' } as const
const NOTHING = (): (() => void) => () => undefined

/** The state of a subscription. It begins once the component is on the page, and nothing is asked for before. */
function useSubscription<Value>({ key, source }: Following<Value>): Snapshot<Value> {
  const { client, subscriptions } = usePage()
  const name = key && JSON.stringify(key)
  const subscribe = useCallback(
    (listener: () => void) =>
      name === undefined ? NOTHING() : subscriptions.subscribe(name, source(client), listener),
    // The name says all of what the source reads.
    [client, subscriptions, name],
  )
  const snapshot = (): Snapshot<Value> => (name === undefined ? WAITING : subscriptions.snapshot(name))
  return useSyncExternalStore(subscribe, snapshot, () => WAITING)
}

/** Options of `useRun` and `useToken`. */
export interface InitialOptions<Value> {
  /**
   * What a server has read: it is shown at once, on the server too. Nothing is asked for if it is over.
   *
   * @default none
   */
  readonly initial?: Value | undefined
}

/** A run as it changes, to its end. Without a run it waits for one. */
export function useRun<Task extends AnyTask = AnyTask, Reference extends RunReference = RunReference>(
  run: Reference | undefined,
  { initial }: InitialOptions<RunOf<Task, Reference>> = {},
): Followed & { readonly run: RunOf<Task, Reference> | undefined } {
  const isOver = initial !== undefined && isFinal(initial.status)
  const { value, ...followed } = useSubscription<RunOf<Task, Reference>>({
    key: run === undefined || isOver ? undefined : ['run', idOf(run)],
    source: (client) =>
      latest((options) => client.runs.subscribeToRun<Task, Reference>(run as Reference, options)),
  })
  return { ...followed, ...(isOver && ENDED), run: value ?? initial }
}

/** The type of the chunks of a stream: `Stream` is the type of one that `streams.define` made, or that of a chunk. */
export type ChunkOf<Stream> = Stream extends DefinedStream<infer Chunk> ? Chunk : Stream

/** All chunks of a stream of a run so far. Without a run it waits for one. */
export function useStream<Stream = unknown>(
  run: RunReference | undefined,
  stream: string,
  {
    attempts = 'all',
  }: {
    /**
     * `last`: without the chunks that a later attempt writes again. See docs/streams.md.
     *
     * @default `'all'`
     */
    readonly attempts?: 'all' | 'last'
  } = {},
): Followed & { readonly chunks: readonly ChunkOf<Stream>[] } {
  const { value = NO_CHUNKS, ...followed } = useSubscription<readonly ChunkOf<Stream>[]>({
    key: run === undefined ? undefined : ['stream', idOf(run), stream, attempts],
    source: (client) => allChunks(client, { run: run as RunReference, key: stream, attempts }),
  })
  return { ...followed, chunks: value }
}

const NO_CHUNKS: readonly never[] = []

/** A token as it is, until it is settled. Without a token it waits for one. */
export function useToken<Output = unknown>(
  token: TokenReference | undefined,
  { initial }: InitialOptions<RetrievedToken<Output>> = {},
): Followed & { readonly token: RetrievedToken<Output> | undefined } {
  const isOver = initial !== undefined && initial.status !== 'WAITING'
  const { value, ...followed } = useSubscription<RetrievedToken<Output>>({
    key: token === undefined || isOver ? undefined : ['token', idOf(token)],
    source: (client) =>
      latest((options) => client.wait.subscribeToToken<Output>(token as TokenReference, options)),
  })
  return { ...followed, ...(isOver && ENDED), token: value ?? initial }
}

/** The newest tokens that wait, such as those of a tag, without outputs. */
export function usePendingTokens(
  params: SubscribeToTokensParams = {},
): Followed & { readonly tokens: readonly Token[] } {
  const { tags, tag, limit } = params
  const { value = NO_CHUNKS, ...followed } = useSubscription<readonly Token[]>({
    key: ['tokens', tags, tag, limit],
    source: (client) => latest((options) => client.wait.subscribeToTokens({ ...params, ...options })),
  })
  return { ...followed, tokens: value }
}
