import { type ErrorCode, WaitpointError } from '../../api/errors.ts'

/** Whether an error is one of the engine, with this code. */
export function hasCode(error: unknown, code: ErrorCode): error is WaitpointError {
  return error instanceof WaitpointError && error.code === code
}
