import { useCallback, useMemo } from 'react'
import type { Run, RunReference } from '../api/run.ts'
import { type MessageOf, useInput } from './calls.ts'
import { type ChunkOf, type Followed, useRun, useStream } from './following.ts'

/** The streams of a conversation, by their names. */
export interface ConversationOptions {
  /** What the run says. */
  readonly stream: string
  /** What is said to it. */
  readonly input: string
  /**
   * The input stream by which it is stopped.
   *
   * @default `'stop'`
   */
  readonly stop?: string
}

/** A run that is talked to, as `useConversation` has it. */
export interface Conversation<Chunk, Message> extends Followed {
  readonly run: Run | undefined
  readonly chunks: readonly Chunk[]
  /** Its chunks that are texts, as one. */
  readonly text: string
  readonly send: (message: Message) => Promise<true | undefined>
  readonly isSending: boolean
  /** Sends a message to the stream `stop`. */
  readonly stop: () => Promise<true | undefined>
}

/** A run that says something and is told something. Types are those of `useStream` and `useInput`. */
export function useConversation<Stream = string, Input = unknown>(
  run: RunReference | undefined,
  { stream, input, stop: stopInput = 'stop' }: ConversationOptions,
): Conversation<ChunkOf<Stream>, MessageOf<Input>> {
  const followed = useRun(run)
  const { chunks, status, error } = useStream<Stream>(run, stream, { attempts: 'last' })
  const messages = useInput<Input>(run, input)
  const stops = useInput<null>(run, stopInput)
  const { send: sendStop } = stops
  const text = useMemo(() => chunks.filter((chunk) => typeof chunk === 'string').join(''), [chunks])
  const stop = useCallback(() => sendStop(null), [sendStop])
  return {
    run: followed.run,
    status,
    chunks,
    text,
    send: messages.send,
    isSending: messages.isPending,
    stop,
    error: messages.error ?? stops.error ?? error ?? followed.error,
  }
}
