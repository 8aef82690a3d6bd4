import { WaitpointError } from '../../api/errors.ts'

/**
 * @throws WaitpointError `ERR_TRANSACTION_UNSUPPORTED`, because a transaction of this process cannot include a call
 * over HTTP.
 */
export function refuseTransaction(transaction: object | undefined, what: string): void {
  if (transaction === undefined) return
  throw new WaitpointError(
    'ERR_TRANSACTION_UNSUPPORTED',
    `Cannot ${what} in a transaction over HTTP: the service has its own connection; call it without a transaction`,
  )
}
