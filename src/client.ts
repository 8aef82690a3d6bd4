export { ApiError } from './client/connection/api-error.ts'
export { createClient } from './client/client.ts'
export type { Client } from './client/client.ts'
export type {
  AppendOptions,
  CallOptions,
  ClientAuth,
  ClientQueue,
  ClientRuns,
  ClientStream,
  ClientStreams,
  ClientTasks,
  ClientWait,
  ConnectionState,
  CreatePublicTokenOptions,
  FollowOptions,
  PublicTokenScopes,
  RemoteRunHandle,
  ScopedObjects,
} from './client/namespaces.ts'
export type { ClientOptions } from './client/connection/options.ts'
export {
  RunFailedError,
  StreamInterruptedError,
  StreamLaggedError,
  WaitpointError,
  WaitpointTimeoutError,
} from './api/errors.ts'
export type { ErrorCode } from './api/errors.ts'
