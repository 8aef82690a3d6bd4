import { WaitpointTimeoutError } from '../../api/errors.ts'
import type { WaitResult } from '../../api/token.ts'
import { streams } from '../../core/ambient/ambient.ts'
import { type OptionNames, requireFunction, requireOptions } from '../../primitives/require.ts'
import { currentRun, waiting } from './current-run.ts'
import { hostedOnly } from './hosted-only.ts'
import { hostedLogger } from './logger.ts'
import { requireTypes } from './option-types.ts'
import { type RequestOptions, requireRequest, takingRequests } from './request-options.ts'
import type { Untyped } from './untyped.ts'
import { asJson } from './values.ts'
import { type ManualWaitpointPromise, type TokenResult, unwrappable } from './wait.ts'

/** The error of `once` after its time. */
export interface InputStreamTimeoutError extends Error {
  readonly streamId: string
  readonly timeoutMs: number
}

type OnceResult<Data> = TokenResult<Data, InputStreamTimeoutError>

/** The promise of `once`; unwrapped it is the message, or rejects with the time-out. */
export interface InputStreamOncePromise<Data> extends Promise<OnceResult<Data>> {
  unwrap(): Promise<Data>
}

/** Options of `once`. */
export interface InputStreamOnceOptions {
  signal?: AbortSignal
  /** With 0 it waits for ever. */
  timeoutMs?: number
  spanName?: string
}

/** Options of `wait`. */
export interface InputStreamWaitOptions {
  timeout?: string
  idempotencyKey?: string
  /** Refused: a key is one wait for as long as its run lives. */
  idempotencyKeyTTL?: string
  tags?: string[]
  spanName?: string
}

/** Options of `waitWithIdleTimeout`. */
export interface InputStreamWaitWithIdleTimeoutOptions {
  /** How long the run keeps its slot. */
  idleTimeoutInSeconds: number
  timeout?: string
  spanName?: string
  onSuspend?: () => void | Promise<void>
  onResume?: () => void | Promise<void>
  skipSuspend?: boolean
}

/** Messages into a run, which has one reader of each stream: see docs/messages.md. */
export interface RealtimeDefinedInputStream<Data> {
  id: string
  /** Calls the handler with each message, one after the other. What it throws is logged. */
  on: (handler: (data: Data) => void | Promise<void>) => { off: () => void }
  /** The next message. The run keeps its slot. */
  once: (options?: InputStreamOnceOptions) => InputStreamOncePromise<Data>
  /** Throws `ERR_HOSTED_ONLY`: which message is next is known to the storage. */
  peek: () => Data | undefined
  /** The next message. The run parks meanwhile. */
  wait: (options?: InputStreamWaitOptions) => ManualWaitpointPromise<Data>
  /** The next message: first as `once`, then as `wait`. */
  waitWithIdleTimeout: (
    options: InputStreamWaitWithIdleTimeoutOptions,
  ) => Promise<{ ok: true; output: Data } | { ok: false; error?: Untyped }>
  /** Sends what JSON leaves of a message to a run. */
  send: (runId: string, data: Data, options?: { requestOptions?: RequestOptions }) => Promise<void>
}

/** The type of the data of an input stream. */
export type InferInputStreamType<Stream> =
  Stream extends RealtimeDefinedInputStream<infer Data> ? Data : unknown

const ONCE_NAMES: OptionNames<InputStreamOnceOptions> = { signal: true, timeoutMs: true, spanName: true }
const WAIT_NAMES: OptionNames<InputStreamWaitOptions> = {
  timeout: true,
  idempotencyKey: true,
  idempotencyKeyTTL: true,
  tags: true,
  spanName: true,
}
const IDLE_NAMES: OptionNames<InputStreamWaitWithIdleTimeoutOptions> = {
  idleTimeoutInSeconds: true,
  timeout: true,
  spanName: true,
  onSuspend: true,
  onResume: true,
  skipSuspend: true,
}

/** `streams.input`. */
export function hostedInput<Data>(definition: { id: string }): RealtimeDefinedInputStream<Data> {
  const inbox = streams.input<Data>(definition)
  const { id } = inbox
  const once = (options: InputStreamOnceOptions = {}): InputStreamOncePromise<Data> => {
    requireOptions(options, 'the options of once', ONCE_NAMES)
    requireTypes(options, 'once', { spanName: 'string' })
    const { signal, timeoutMs = 0 } = options
    const waited = inbox.once({ ...(signal && { signal }), ...(timeoutMs !== 0 && { timeoutMs }) })
    const result = waited.then((told): OnceResult<Data> => {
      if (told.ok) return { ok: true, output: told.output }
      const message = `Timeout waiting for input stream "${id}" after ${timeoutMs}ms`
      const error = new Error(message, { cause: told.error })
      return {
        ok: false,
        error: Object.assign(error, { name: 'InputStreamTimeoutError', streamId: id, timeoutMs }),
      }
    })
    return unwrappable(result)
  }
  const wait = (options: InputStreamWaitOptions = {}): ManualWaitpointPromise<Data> => {
    requireOptions(options, 'the options of wait', WAIT_NAMES)
    requireTypes(options, 'wait', { spanName: 'string' })
    const { spanName: _spanName, idempotencyKeyTTL, ...asked } = options
    if (idempotencyKeyTTL !== undefined)
      throw hostedOnly(
        'streams.input.wait with idempotencyKeyTTL',
        'a key is one wait for as long as its run lives',
      )
    const start = (): Promise<WaitResult<Data>> => inbox.wait(asked)
    return unwrappable(waiting(() => ({ type: 'token', token: id }), start).then(output))
  }
  return takingRequests<RealtimeDefinedInputStream<Data>>({
    id,
    on: (handler) => {
      const given: unknown = handler
      requireFunction(given ?? null, 'the handler of streams.input')
      const run = currentRun()
      return inbox.on(async (data) => {
        try {
          await handler(data)
        } catch (error) {
          // A handler that its attempt has left has not read the message.
          if (run?.place.isEnded === true) throw error
          hostedLogger.error(`A handler of stream "${id}" has failed`, { error })
        }
      })
    },
    once,
    peek: () => {
      throw hostedOnly('streams.input.peek', 'await peek() of streams.input of waitpoint, or once()')
    },
    wait,
    waitWithIdleTimeout: async (options) => {
      requireOptions(options, 'the options of waitWithIdleTimeout', IDLE_NAMES)
      const { idleTimeoutInSeconds, timeout, onSuspend, onResume, skipSuspend = false } = options
      if (idleTimeoutInSeconds > 0) {
        const warm = await once({ timeoutMs: idleTimeoutInSeconds * 1_000 })
        if (warm.ok) return warm
      }
      if (skipSuspend)
        return {
          ok: false,
          error: new WaitpointTimeoutError('Idle timeout elapsed and skipSuspend is set'),
        }
      await onSuspend?.()
      const result = await wait(timeout === undefined ? {} : { timeout })
      if (result.ok) await onResume?.()
      return result
    },
    send: async (runId, data, options = {}) => {
      requireOptions(options, 'the options of send', { requestOptions: true })
      requireRequest(options.requestOptions)
      // What JSON leaves of a message is of the type that the definition names, as in the hosted service.
      await inbox.send(runId, asJson(data) as Data)
    },
  })
}

/** As the hosted service has it: without the sender. */
function output<Data>(result: WaitResult<Data>): TokenResult<Data> {
  return result.ok ? { ok: true, output: result.output } : result
}
