import type { RetryOptions } from '../../api/retry.ts'
import type { TaskRunContext } from './context.ts'
import type { Untyped } from './untyped.ts'

/** What `init` answers: an object, or nothing. */
export type InitOutput = Record<string, Untyped> | void | undefined

/** The argument of every hook. */
export interface HookParams<Payload = unknown> {
  ctx: TaskRunContext
  payload: Payload
  /** The id of the task. */
  task: string
  signal: AbortSignal
}

/** The argument of a hook that is called after `init`. */
export interface TaskStartHookParams<
  Payload = unknown,
  Init extends InitOutput = InitOutput,
> extends HookParams<Payload> {
  init?: Init
}

/** What a run waits for. */
export type TaskWait =
  | { type: 'duration'; date: Date }
  | { type: 'token'; token: string }
  | { type: 'task'; runId: string }
  | { type: 'batch'; batchId: string; runCount: number }

/** How an attempt ended, for `onComplete`. */
export type TaskCompleteResult<Output> = { ok: true; data: Output } | { ok: false; error: unknown }

/** The answer of `catchError`. */
export interface CatchErrorDecision {
  skipRetrying?: boolean | undefined
  retryAt?: Date | undefined
  retryDelayInMs?: number | undefined
  retry?: RetryPolicy | undefined
  error?: unknown
}

/** Options of `retry`. */
export interface RetryPolicy extends RetryOptions {
  /** Accepted and without effect: there are no machines to choose from. */
  readonly outOfMemory?: { readonly machine?: string }
}

type Answer = undefined | void | Promise<undefined | void>

/** `init`. */
export type OnInitHookFunction<Payload, Init extends InitOutput> = (
  params: HookParams<Payload>,
) => Init | undefined | void | Promise<Init | undefined | void>
/** `onStart`. */
export type OnStartHookFunction<Payload, Init extends InitOutput = InitOutput> = (
  params: TaskStartHookParams<Payload, Init>,
) => Answer
/** `onStartAttempt`. */
export type OnStartAttemptHookFunction<Payload> = (params: HookParams<Payload>) => Answer
/** `onWait` and `onResume`. */
export type OnWaitHookFunction<Payload, Init extends InitOutput = InitOutput> = (
  params: TaskStartHookParams<Payload, Init> & { wait: TaskWait },
) => Answer
/** `onSuccess`. */
export type OnSuccessHookFunction<Payload, Output, Init extends InitOutput = InitOutput> = (
  params: TaskStartHookParams<Payload, Init> & { output: Output },
) => Answer
/** `onFailure`. */
export type OnFailureHookFunction<Payload, Init extends InitOutput = InitOutput> = (
  params: TaskStartHookParams<Payload, Init> & { error: unknown },
) => Answer
/** `onComplete`. */
export type OnCompleteHookFunction<Payload, Output, Init extends InitOutput = InitOutput> = (
  params: TaskStartHookParams<Payload, Init> & { result: TaskCompleteResult<Output> },
) => Answer
/** `catchError` and `handleError`. */
export type OnCatchErrorHookFunction<Payload, Init extends InitOutput = InitOutput> = (
  params: TaskStartHookParams<Payload, Init> & {
    error: unknown
    retry?: RetryPolicy
    retryAt?: Date
    retryDelayInMs?: number
  },
) => undefined | void | CatchErrorDecision | Promise<undefined | void | CatchErrorDecision>
/** `middleware`. */
export type OnMiddlewareHookFunction<Payload> = (
  params: HookParams<Payload> & { next: () => Promise<void> },
) => Promise<void>
/** `cleanup`. */
export type OnCleanupHookFunction<Payload, Init extends InitOutput = InitOutput> = (
  params: TaskStartHookParams<Payload, Init>,
) => Answer
/** `onCancel`. */
export type OnCancelHookFunction<Payload, Output = Untyped, Init extends InitOutput = InitOutput> = (
  params: TaskStartHookParams<Payload, Init> & { runPromise: Promise<Output> },
) => Answer

/** `init`, whatever the task. */
export type AnyOnInitHookFunction = OnInitHookFunction<unknown, InitOutput>
/** `onStart`, whatever the task. */
export type AnyOnStartHookFunction = OnStartHookFunction<unknown>
/** `onStartAttempt`, whatever the task. */
export type AnyOnStartAttemptHookFunction = OnStartAttemptHookFunction<unknown>
/** `onWait` and `onResume`, whatever the task. */
export type AnyOnWaitHookFunction = OnWaitHookFunction<unknown>
/** `onSuccess`, whatever the task. */
export type AnyOnSuccessHookFunction = OnSuccessHookFunction<unknown, unknown>
/** `onFailure`, whatever the task. */
export type AnyOnFailureHookFunction = OnFailureHookFunction<unknown>
/** `onComplete`, whatever the task. */
export type AnyOnCompleteHookFunction = OnCompleteHookFunction<unknown, unknown>
/** `catchError` and `handleError`, whatever the task. */
export type AnyOnCatchErrorHookFunction = OnCatchErrorHookFunction<unknown>
/** `middleware`, whatever the task. */
export type AnyOnMiddlewareHookFunction = OnMiddlewareHookFunction<unknown>
/** `cleanup`, whatever the task. */
export type AnyOnCleanupHookFunction = OnCleanupHookFunction<unknown>
/** `onCancel`, whatever the task. */
export type AnyOnCancelHookFunction = OnCancelHookFunction<unknown, unknown>

/** What an older `handleError` was told beside the payload and the error. */
export interface HandleErrorArgs {
  ctx: TaskRunContext
  init?: Record<string, unknown>
  retry?: RetryPolicy
  retryAt?: Date
  retryDelayInMs?: number
  signal?: AbortSignal
}

/**
 * The hooks of one task, as its options have them. Middleware that does not call `next` ends the run without an output; the
 * hosted service leaves the attempt without a result.
 */
export interface TaskHooks<Payload, Output, Init extends InitOutput> {
  /** Called before the run function of each attempt; its answer is handed to the run function and to the other hooks. */
  init?: OnInitHookFunction<Payload, Init>
  /** Called at the end of each attempt. */
  cleanup?: OnCleanupHookFunction<Payload, Init>
  /** An older name of `catchError`. */
  handleError?: OnCatchErrorHookFunction<Payload>
  /** Called after a failed attempt; its answer decides whether and when another one follows. */
  catchError?: OnCatchErrorHookFunction<Payload>
  /** Called when a wait has ended. */
  onResume?: OnWaitHookFunction<Payload>
  /** Called when a wait begins. */
  onWait?: OnWaitHookFunction<Payload>
  /** Called when the run has succeeded or failed. */
  onComplete?: OnCompleteHookFunction<Payload, Output>
  /** Called when the run was canceled while it had an attempt. Calls of the engine work, except waits. It has 30 s. */
  onCancel?: OnCancelHookFunction<Payload, Output, Init>
  /** Called around each attempt. */
  middleware?: OnMiddlewareHookFunction<Payload>
  /** Called in the first attempt. */
  onStart?: OnStartHookFunction<Payload, Init>
  /** Called in every attempt. */
  onStartAttempt?: OnStartAttemptHookFunction<Payload>
  /** Called after the run function has returned. */
  onSuccess?: OnSuccessHookFunction<Payload, Output, Init>
  /** Called when the run has failed. */
  onFailure?: OnFailureHookFunction<Payload, Init>
}

/** Hooks whose payload, output and `init` are not known. */
export type AnyTaskHooks = TaskHooks<Untyped, Untyped, Untyped>

/** The names of all hooks. */
export type HookName = keyof AnyTaskHooks

/** Every hook function of a name, whatever its task. */
export type HookOf<Name extends HookName> = NonNullable<TaskHooks<unknown, unknown, InitOutput>[Name]>

/** The hooks that hold for all tasks, by their ids, in the order in which they were added. */
const globalHooks = new Map<HookName, Map<string, AnyHook>>()

/** A hook of any name. */
export type AnyHook = (params: Untyped) => unknown

const NONE: readonly AnyHook[] = []

/**
 * Adds a hook for all tasks. As in the hosted service its id is the name that it is given, else that of the function, else the text
 * of the function: a later hook of the same kind and id takes its place.
 */
export interface AddHook<Name extends HookName> {
  (name: string, hook: HookOf<Name>): void
  (hook: HookOf<Name>): void
}

/** The function that adds global hooks of one name. */
export function globalHook<Name extends HookName>(kind: Name): AddHook<Name> {
  return (nameOrHook: string | HookOf<Name>, second?: HookOf<Name>): void => {
    const hook = typeof nameOrHook === 'string' ? second : nameOrHook
    if (typeof hook !== 'function') throw new TypeError(`Cannot add a hook ${kind}: it must be a function`)
    const id = typeof nameOrHook === 'string' ? nameOrHook : hook.name || String(hook)
    const others = globalHooks.get(kind)
    if (others === undefined) globalHooks.set(kind, new Map([[id, hook as AnyHook]]))
    else others.set(id, hook as AnyHook)
  }
}

/** All hooks of a name: the global ones, then that of the task. */
export function hooksOf(kind: HookName, own?: AnyHook): readonly AnyHook[] {
  const all = globalHooks.get(kind)?.values()
  if (all === undefined) return own === undefined ? NONE : [own]
  return own === undefined ? [...all] : [...all, own]
}

/** Whether there is a global hook of any name. */
export function hasGlobalHooks(): boolean {
  return globalHooks.size > 0
}
