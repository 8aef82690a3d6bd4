import { STORAGE_CALLS, type StorageOperation } from '../../contract/storage.ts'
import type { OperationOf } from '../storages/wrapped.ts'
import type { Process } from './process.ts'

type Arguments<Function> = Function extends (...args: infer Args) => unknown ? Args : never
type Answer<Function> = Function extends (...args: never) => infer Given ? Awaited<Given> : never

/** A call of one storage operation, with its answer. */
export interface CallOf<Name extends StorageOperation> {
  readonly name: Name
  readonly args: Arguments<OperationOf<Name>>
  /** The position of the call in the order of events. */
  readonly calledAt: number
  /** The virtual instant of the call. */
  readonly now: number
  readonly process: Process
  /** The run whose code made the call. */
  readonly runId: string | undefined
  /** Missing while the call is pending, or if its effect is unknown. */
  reply?: { readonly answeredAt: number; readonly answer: Answer<OperationOf<Name>> } | undefined
}

/** A call of any operation. Its name determines the types of arguments and answer. */
export type StorageCall = { [Name in StorageOperation]: CallOf<Name> }[StorageOperation]

interface ToldCallOf<Name extends StorageOperation> {
  readonly name: Name
  readonly args: Arguments<OperationOf<Name>>
  /** The caller by name: `body`, a run, or a process. */
  readonly actor: string
  /** The time-out of a new token, as it was written: `30 d`. */
  readonly timeout: string | undefined
  /** Missing until the call takes effect, and below an adapter that answers later. */
  answer?: Answer<OperationOf<Name>>
}

/** A call of any operation, as a story tells it. Its name determines the types of arguments and answer. */
export type ToldCall = { [Name in StorageOperation]: ToldCallOf<Name> }[StorageOperation]

/** Whether the operation only reads. A read may time out a token past its deadline, which is always expected. */
export function isLook(name: StorageOperation): boolean {
  const { writes } = STORAGE_CALLS[name]
  return writes === 'nothing' || writes === 'deadlines'
}
