import { WaitpointError } from '../../api/errors.ts'

/** The error for a call that only the hosted service can serve; see docs/hosted-task-files.md. */
export function hostedOnly(call: string, cure: string): WaitpointError {
  return new WaitpointError('ERR_HOSTED_ONLY', `Cannot call ${call} in this process: ${cure}`)
}

/** A function of the hosted service that rejects with `ERR_HOSTED_ONLY`, with the type of what it answers there. */
export function refusing<Result>(
  call: string,
  cure: string,
): (...values: readonly unknown[]) => Promise<Result> {
  return () => Promise.reject(hostedOnly(call, cure))
}
