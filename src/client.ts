export { ApiError } from './client/api-error.ts'
export { createClient } from './client/create-client.ts'
export type { Client } from './client/create-client.ts'
export type {
  AppendOptions,
  CallOptions,
  ClientRuns,
  ClientStream,
  ClientStreams,
  ClientTasks,
  ClientWait,
  RemoteRunHandle,
} from './client/client-namespaces.ts'
export type { ClientOptions } from './client/client-options.ts'
export {
  RunFailedError,
  StreamInterruptedError,
  StreamLaggedError,
  WaitpointError,
  WaitpointTimeoutError,
} from './core/errors.ts'
export type { ErrorCode } from './core/errors.ts'
