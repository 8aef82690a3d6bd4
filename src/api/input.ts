import { type OptionNames, requireName, requireOptions } from '../primitives/require.ts'
import type { Answerer } from './question.ts'
import type { RunReference } from './run.ts'
import type { StandardSchemaV1 } from './standard-schema.ts'
import type { StreamsNamespace } from './stream.ts'
import type { Duration, WaitPromise } from './token.ts'

/** How an input stream is defined. */
export interface InputOptions<Input> {
  /** The name of the stream: that of its sender is that of its reader. */
  readonly id: string
  /**
   * Checks each message before it is sent, and again before the run gets it. See docs/messages.md.
   *
   * @default none
   */
  readonly schema?: StandardSchemaV1<unknown, Input>
}

/** Options of `send`. */
export interface SendInputOptions {
  /**
   * A message with this key is accepted once by its run and stream, however often it is sent.
   *
   * @default none
   */
  readonly idempotencyKey?: string
  /**
   * Who sends it: the reader is told.
   *
   * @default none
   */
  readonly by?: Answerer
}

/** Options of `wait` of an input stream. */
export interface WaitInputOptions {
  /**
   * How long it waits: a duration, or an instant.
   *
   * @default none, it waits for ever
   */
  readonly timeout?: Duration | Date
  /**
   * A wait with this key gets the same message each time, wherever in the code of the run it is.
   *
   * @default none
   */
  readonly idempotencyKey?: string
  /**
   * Labels of the wait, for people.
   *
   * @default none
   */
  readonly tags?: string | readonly string[]
  /**
   * Drops the wait, which rejects with the reason, unless a message has come. The next message is for another read.
   *
   * @default none
   */
  readonly signal?: AbortSignal
}

/** Options of `once` of an input stream. */
export interface OnceInputOptions {
  /**
   * How long it waits, in milliseconds.
   *
   * @default none, it waits for ever
   */
  readonly timeoutMs?: number
  /**
   * Drops the wait, as that of `wait` does.
   *
   * @default none
   */
  readonly signal?: AbortSignal
}

/** Options of `take`. */
export interface TakeInputOptions {
  /**
   * It takes so many at most.
   *
   * @unit messages
   * @default all
   */
  readonly max?: number
}

/** A listener of an input stream. */
export interface InputListener {
  /** Ends it, once the message that it is at is handled. Later ones are for other reads. */
  off(): void
}

/**
 * Messages into a run, under one name; see docs/messages.md. `send` is for anywhere, everything else for the run. A run has one reader of
 * each stream: a message goes to one read of it, in the order in which messages were accepted.
 */
export interface InputStream<Input> {
  readonly id: string
  /**
   * Sends a message to a run, which may not have begun. Resolves once it is accepted. Rejects with `ERR_RUN_ENDED` for a run that is over,
   * `ERR_INBOX_FULL`, `ERR_RUN_NOT_FOUND`, `ERR_PAYLOAD_INVALID` and `ERR_NOT_SERIALIZABLE`.
   *
   * @example
   * ```ts
   * const inbox = streams.input<{ text: string }>({ id: 'messages' })
   * await inbox.send(run, { text: 'and the second crate?' }, { by: { id: 'ann' } })
   * ```
   */
  send(run: RunReference, data: Input, options?: SendInputOptions): Promise<void>
  /** Waits for the next message. The run parks meanwhile. */
  wait(options?: WaitInputOptions): WaitPromise<Input>
  /** Waits for the next message as `wait` does, but the run keeps its slot. */
  once(options?: OnceInputOptions): WaitPromise<Input>
  /** All messages that are there, in order; none if there are none. */
  take(options?: TakeInputOptions): Promise<readonly Input[]>
  /** The next message, which stays for the read that comes after; `undefined` if there is none. */
  peek(): Promise<Input | undefined>
  /**
   * Calls the handler with each message, one after the other, for as long as the run executes; the run does not park while it works. A message is
   * read once the promise of its handler has resolved: a handler that was interrupted is called with it again. One that rejects ends the
   * listener, and is an `error` event.
   */
  on(handler: (input: Input) => unknown): InputListener
}

/** The streams of an engine: those that its runs write, and those that they read. */
export interface EngineStreamsNamespace extends StreamsNamespace {
  /**
   * Names a stream of messages into runs, and the type of these, once: for its senders and for the run that reads it.
   *
   * @example
   * ```ts
   * const inbox = streams.input<{ text: string }>({ id: 'messages' })
   * const next = await inbox.wait({ timeout: '1h' }) // in the run
   * ```
   */
  input<Input = unknown>(options: InputOptions<Input>): InputStream<Input>
}

const NAMES: OptionNames<InputOptions<unknown>> = { id: true, schema: true }

/** @throws TypeError for what is no definition of an input stream. */
export function readInputOptions(options: Pick<InputOptions<unknown>, 'id'>): void {
  requireOptions(options, 'the options of streams.input', NAMES)
  requireName(options.id, 'the id of streams.input')
}
