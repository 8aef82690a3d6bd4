import type { Awaitable } from '../../contract/storage.ts'
import { chain } from '../../primitives/awaitable.ts'
import { tokenNotFound } from '../../api/not-found.ts'
import { SETTLE_TOKEN } from '../host/storage-calls.ts'
import type { Kernel } from '../kernel.ts'

/**
 * Makes a token time out now instead of at its deadline, on a storage that `timesOut`; false if it was settled before, or
 * too late.
 */
export function timeOutToken(kernel: Kernel, id: string): Promise<boolean> {
  return kernel.call(() => timedOut(kernel, id))
}

function timedOut(kernel: Kernel, id: string, question?: string): Awaitable<boolean> {
  const { host, publisher } = kernel
  const request = { id, outputJson: undefined, question, isTimeOut: true, by: host.owner, now: host.now() }
  return chain(kernel.written(undefined, SETTLE_TOKEN, request), (answer) => {
    if (answer?.record.kind !== 'MANUAL') throw tokenNotFound(id)
    const { record, settledNow, won } = answer
    // Whatever it asks, it is not answered.
    if (record.status === 'WAITING') return timedOut(kernel, id, record.questionJson)
    if (settledNow) publisher.token(record)
    return won
  })
}
