import type { StorageOperation } from 'waitpoint/testing'

/** Calls that a run, its waits and its streams make of a storage, and those that look at them. */
export const RUN_OPERATIONS: readonly StorageOperation[] = [
  'tick',
  'runs.insert',
  'runs.get',
  'runs.list',
  'runs.waits',
  'runs.update',
  'runs.claim',
  'runs.park',
  'runs.resume',
  'tokens.insert',
  'tokens.get',
  'tokens.list',
  'tokens.await',
  'tokens.settle',
  'chunks.open',
  'chunks.append',
]
