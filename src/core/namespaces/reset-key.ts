import { WaitpointError } from '../../api/errors.ts'
import type { KeyFree, KeyFreed, Storage } from '../../contract/storage.ts'
import { fenceOf } from '../attempt/attempt.ts'
import type { RepeatableCall } from '../host/storage-calls.ts'
import type { Kernel } from '../kernel.ts'
import { keyScope, requireKey } from './new-run.ts'

/** `runs.resetIdempotencyKey`. */
export async function resetKey(kernel: Kernel, taskId: string, value: string): Promise<string | undefined> {
  const freed = await kernel.call((scope) => {
    const { host, tasks } = kernel
    tasks.require(taskId)
    requireKey(value)
    const key = { scope: keyScope(taskId), value }
    const request = { key, fence: fenceOf(scope), by: host.owner, now: host.now() }
    return kernel.written(scope, FREE_KEY, request)
  })
  return freed?.isFreed === true ? freed.runId : undefined
}

/** A key that is found free may have been freed by the call before. */
const FREE_KEY: RepeatableCall<KeyFree, KeyFreed | 'stale' | undefined> = {
  ask: freeKey,
  async again(storage, request) {
    const freed = await freeKey(storage, request)
    return freed === 'stale' ? freed : freed && { ...freed, isFreed: true }
  },
}

function freeKey({ runs }: Storage, request: KeyFree): ReturnType<NonNullable<Storage['runs']['freeKey']>> {
  if (runs.freeKey !== undefined) return runs.freeKey(request)
  throw new WaitpointError(
    'ERR_CANNOT_RESET_KEY',
    `Cannot reset idempotency key "${request.key.value}": the storage frees none; use memory, SQLite or Postgres storage, or give yours RunStore.freeKey`,
  )
}
