import { WaitpointError } from './errors.ts'

/** The error for a run that does not exist. */
export function runNotFound(id: string): WaitpointError {
  return new WaitpointError('ERR_RUN_NOT_FOUND', `Cannot find run "${id}": there is none with this id`)
}

/** The error for a token that does not exist. */
export function tokenNotFound(id: string): WaitpointError {
  return new WaitpointError('ERR_TOKEN_NOT_FOUND', `Cannot find token "${id}": there is none with this id`)
}
