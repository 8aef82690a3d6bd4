import { useCallback, useEffect, useRef, useState } from 'react'
import type { SendInputOptions, InputStream } from '../api/input.ts'
import type {
  AnyTask,
  RunReference,
  TaskOutput,
  TriggerArguments,
  TriggerOptions,
  UnknownTask,
} from '../api/run.ts'
import type { CallOptions, RemoteRunHandle } from '../client/namespaces.ts'
import { asError } from '../primitives/as-error.ts'
import { useClient } from './provider.ts'

/** How the last call of a component went. */
export interface CallState<Result> {
  readonly isPending: boolean
  readonly result?: Result | undefined
  readonly error?: Error | undefined
}

/** Makes a call. It never rejects: the error is in the state of the component, and the result is `undefined`. */
type MadeCall<Arguments extends readonly unknown[], Result> = (
  ...given: Arguments
) => Promise<Result | undefined>

const IDLE = { isPending: false } as const

/** A call that a component makes, and how the last one went. */
export function useCall<Arguments extends readonly unknown[], Result>(
  call: (...given: Arguments) => Promise<Result>,
): CallState<Result> & { readonly make: MadeCall<Arguments, Result> } {
  const [state, setState] = useState<CallState<Result>>(IDLE)
  const latest = useRef(call)
  const count = useRef(0)
  useEffect(() => {
    latest.current = call
  })
  const make = useCallback(async (...given: Arguments): Promise<Result | undefined> => {
    const own = (count.current += 1)
    const tell = (next: CallState<Result>): void => {
      if (own === count.current) setState(next)
    }
    tell({ isPending: true })
    try {
      const result = await latest.current(...given)
      tell({ isPending: false, result })
      return result
    } catch (error) {
      tell({ isPending: false, error: asError(error) })
      return undefined
    }
  }, [])
  return { ...state, make }
}

/** Triggers runs of a task. `run` is that of the last trigger, such as for `useRun`. */
export function useTrigger<Task extends AnyTask = UnknownTask>(
  task: Task['id'],
): Omit<CallState<never>, 'result'> & {
  readonly run: RemoteRunHandle<TaskOutput<Task>> | undefined
  readonly trigger: MadeCall<
    TriggerArguments<Task, TriggerOptions & CallOptions>,
    RemoteRunHandle<TaskOutput<Task>>
  >
} {
  const client = useClient()
  const { make, result, ...state } = useCall(
    (...given: TriggerArguments<Task, TriggerOptions & CallOptions>) =>
      client.tasks.trigger<Task>(task, ...given),
  )
  return { ...state, run: result, trigger: make }
}

/** The type of the messages of an input stream: `Input` is the type of one that `streams.input` made, or that of a message. */
export type MessageOf<Input> = Input extends InputStream<infer Message> ? Message : Input

/** Sends messages into a run. */
export function useInput<Input = unknown>(
  run: RunReference | undefined,
  stream: string,
): Omit<CallState<never>, 'result'> & {
  readonly send: MadeCall<
    [message: MessageOf<Input>, options?: Pick<SendInputOptions, 'idempotencyKey'> & CallOptions],
    true
  >
} {
  const { streams } = useClient()
  const {
    make,
    result: _,
    ...state
  } = useCall(
    async (message: MessageOf<Input>, options?: Pick<SendInputOptions, 'idempotencyKey'> & CallOptions) => {
      if (run === undefined) throw new Error(`Cannot send to stream "${stream}": there is no run yet`)
      await streams.input<MessageOf<Input>>({ id: stream }).send(run, message, options)
      return true as const
    },
  )
  return { ...state, send: make }
}
