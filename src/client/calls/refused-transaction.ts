import { WaitpointError } from '../../api/errors.ts'

/** @throws WaitpointError `ERR_TRANSACTION_UNSUPPORTED`: a transaction of this process means nothing to a service. */
export function refuseTransaction(transaction: object | undefined, what: string): void {
  if (transaction === undefined) return
  throw new WaitpointError(
    'ERR_TRANSACTION_UNSUPPORTED',
    `Cannot ${what} in a transaction over HTTP: the service has a connection of its own`,
  )
}
