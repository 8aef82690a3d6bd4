import type { Storage } from '../../contract/storage.ts'
import type { StorageOperation } from '../storages/wrapped.ts'
import type { Process } from './process.ts'

type Operation<Name> = Name extends `${infer Store}.${infer Method}`
  ? Store extends keyof Storage
    ? Method extends keyof Storage[Store]
      ? Storage[Store][Method]
      : never
    : never
  : Name extends keyof Storage
    ? Storage[Name]
    : never

type Arguments<Function> = Function extends (...args: infer Args) => unknown ? Args : never
type Answer<Function> = Function extends (...args: never) => infer Given ? Awaited<Given> : never

/** A call of one storage operation, with its answer. */
export interface CallOf<Name extends StorageOperation> {
  readonly name: Name
  readonly args: Arguments<Operation<Name>>
  /** The position of the call in the order of events. */
  readonly calledAt: number
  /** The virtual instant of the call. */
  readonly now: number
  readonly process: Process
  /** The run whose code made the call. */
  readonly runId: string | undefined
  /** Missing while the call is pending, or if its effect is unknown. */
  reply?: { readonly answeredAt: number; readonly answer: Answer<Operation<Name>> } | undefined
}

/** A call of any operation. Its name determines the types of arguments and answer. */
export type StorageCall = { [Name in StorageOperation]: CallOf<Name> }[StorageOperation]

interface ToldCallOf<Name extends StorageOperation> {
  readonly name: Name
  readonly args: Arguments<Operation<Name>>
  /** The caller by name: `body`, a run, or a process. */
  readonly actor: string
  /** The time-out of a new token, as it was written: `30 d`. */
  readonly timeout: string | undefined
  /** Missing until the call takes effect, and below an adapter that answers later. */
  answer?: Answer<Operation<Name>>
}

/** A call of any operation, as a story tells it. Its name determines the types of arguments and answer. */
export type ToldCall = { [Name in StorageOperation]: ToldCallOf<Name> }[StorageOperation]

/** Whether the operation only reads. A read may time out a token past its deadline, which is always expected. */
export function isLook(name: StorageOperation): boolean {
  return LOOKS.has(name)
}

const LOOKS: ReadonlySet<StorageOperation> = new Set<StorageOperation>([
  'runs.get',
  'runs.list',
  'runs.waits',
  'runs.marks',
  'tokens.get',
  'tokens.list',
  'chunks.read',
  'queues.get',
  'queues.list',
  'schedules.get',
  'schedules.list',
])
