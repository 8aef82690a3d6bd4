import type {
  InputListener,
  OnceInputOptions,
  SendInputOptions,
  TakeInputOptions,
  WaitInputOptions,
} from './input.ts'
import type { RunReference } from './run.ts'
import type { StandardSchemaV1 } from './standard-schema.ts'
import type { WaitPromise } from './token.ts'

/** An input stream as it was defined. */
export interface DefinedInput {
  readonly id: string
  readonly schema?: StandardSchemaV1 | undefined
}

/** A message on its way, to a run. */
export interface SentInput {
  readonly run: RunReference
  readonly data: unknown
  readonly options: SendInputOptions
}

/** What an engine does with input streams. The types of their messages are those that their definitions name. */
export interface InputCalls {
  send(input: DefinedInput, sent: SentInput): Promise<void>
  wait(input: DefinedInput, options: WaitInputOptions): WaitPromise<unknown>
  once(input: DefinedInput, options: OnceInputOptions): WaitPromise<unknown>
  take(input: DefinedInput, options: TakeInputOptions): Promise<readonly unknown[]>
  peek(input: DefinedInput): Promise<unknown>
  on(input: DefinedInput, handler: (data: unknown) => unknown): InputListener
}
