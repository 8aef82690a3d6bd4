import { chain } from '../../primitives/awaitable.ts'
import { tokenNotFound } from '../../api/not-found.ts'
import { SETTLE_TOKEN } from '../host/storage-calls.ts'
import type { Kernel } from '../kernel.ts'

/**
 * Makes a token time out now instead of at its deadline, on a storage that `timesOut`; false if it was settled before, or
 * too late.
 */
export function timeOutToken(kernel: Kernel, id: string): Promise<boolean> {
  const { host, publisher } = kernel
  return kernel.call(() => {
    const request = { id, outputJson: undefined, isTimeOut: true, by: host.owner, now: host.now() }
    return chain(kernel.written(undefined, SETTLE_TOKEN, request), (answer) => {
      if (answer?.record.kind !== 'MANUAL') throw tokenNotFound(id)
      if (answer.settledNow) publisher.token(answer.record)
      return answer.won
    })
  })
}
