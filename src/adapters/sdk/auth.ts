import { refusing } from './hosted-only.ts'

/** How the hosted service is reached. */
export interface ApiClientConfiguration {
  baseURL?: string
  secretKey?: string
  accessToken?: string
  previewBranch?: string
  requestOptions?: object
}

type Refusing = (...values: readonly unknown[]) => Promise<string>

/** Access to the hosted service. */
export interface Auth {
  configure(configuration: ApiClientConfiguration): void
  /** Calls a function: there is no service to be reached otherwise. */
  withAuth<Result>(configuration: ApiClientConfiguration, work: () => Promise<Result>): Promise<Result>
  /** Rejects with `ERR_HOSTED_ONLY`. */
  readonly createPublicToken: Refusing
  /** Rejects with `ERR_HOSTED_ONLY`. */
  readonly createTriggerPublicToken: Refusing
  /** Rejects with `ERR_HOSTED_ONLY`. */
  readonly createBatchTriggerPublicToken: Refusing
}

/** Accepted and without effect: runs are stored by the engine of this process. */
export function configure(_configuration: ApiClientConfiguration): void {
  // No service is called.
}

const CURE = 'use engine.createAccessToken, or publicAccessToken of what trigger answered'

/** `auth`. */
export const auth: Auth = {
  configure,
  withAuth: (_configuration, work) => work(),
  createPublicToken: refusing('auth.createPublicToken', CURE),
  createTriggerPublicToken: refusing('auth.createTriggerPublicToken', CURE),
  createBatchTriggerPublicToken: refusing('auth.createBatchTriggerPublicToken', CURE),
}
