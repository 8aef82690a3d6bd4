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

/** What somebody asked of the storage, and what was answered, of one operation. */
export interface CallOf<Name extends StorageOperation> {
  readonly name: Name
  readonly args: Arguments<Operation<Name>>
  /** What the engine did in order: this is its place in it. */
  readonly calledAt: number
  /** The virtual instant of the call. */
  readonly now: number
  readonly process: Process
  /** The run whose code asked. */
  readonly runId: string | undefined
  /** None: it is out, or nobody knows what became of it. */
  reply?: { readonly answeredAt: number; readonly answer: Answer<Operation<Name>> }
}

/** Any call; its name tells what it was asked and answered. */
export type StorageCall = { [Name in StorageOperation]: CallOf<Name> }[StorageOperation]

/** Whether it only looks. A look that meets a token past its deadline writes, but what it writes is no surprise. */
export function isLook(name: StorageOperation): boolean {
  return LOOKS.has(name)
}

const LOOKS: ReadonlySet<StorageOperation> = new Set<StorageOperation>([
  'runs.get',
  'runs.list',
  'runs.waits',
  'tokens.get',
  'tokens.list',
  'chunks.read',
])
