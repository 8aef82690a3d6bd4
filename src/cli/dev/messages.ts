import type { IgnoredFiles } from '../loading/task-files.ts'

/** What the process that executes runs is told by the one that watches files. */
export type ToWorker =
  | { readonly kind: 'start'; readonly options: WorkerOptions }
  /** Starts a run of the task with this id. */
  | { readonly kind: 'trigger'; readonly task: string }
  | { readonly kind: 'close' }

/** What it answers. */
export type FromWorker =
  /** Files that it depends on. */
  | { readonly kind: 'files'; readonly paths: readonly string[] }
  /** Folders in which a new file may be a task file. */
  | { readonly kind: 'folders'; readonly paths: readonly string[]; readonly ignored: IgnoredFiles }
  /** What the configuration says without effect. */
  | { readonly kind: 'remark'; readonly message: string }
  | {
      readonly kind: 'ready'
      readonly url: string
      /** Logs a browser in at the console, once. */
      readonly link: string
      readonly tasks: readonly string[]
    }
  | {
      readonly kind: 'run'
      readonly id: string
      readonly task: string
      readonly status: string
      readonly error?: string
    }
  /** A run was started: with the payload of another one, or without any. */
  | { readonly kind: 'triggered'; readonly id: string; readonly task: string; readonly as?: string }
  | { readonly kind: 'error'; readonly message: string }
  /** It cannot begin, and ends. */
  | { readonly kind: 'failed'; readonly message: string }

export interface WorkerOptions {
  /** The file or folder that was named; none: what the configuration says, or a usual folder. */
  readonly path: string | undefined
  readonly database: string
  readonly port: number
  readonly secretKey: string
}
