import type { AccessTokenOptions } from '../../api/access.ts'
import { createAccessToken } from '../../core/ambient/ambient.ts'
import { type OptionNames, requireOptions, show } from '../../primitives/require.ts'
import { hostedOnly, refusing } from './hosted-only.ts'

/** How the hosted service is reached. */
export interface ApiClientConfiguration {
  baseURL?: string
  secretKey?: string
  accessToken?: string
  refreshAccessToken?: () => Promise<string>
  previewBranch?: string
  externalDeploymentId?: string
  requestOptions?: object
  future?: object
}

const CONFIGURATION_NAMES: OptionNames<ApiClientConfiguration> = {
  baseURL: true,
  secretKey: true,
  accessToken: true,
  refreshAccessToken: true,
  previewBranch: true,
  externalDeploymentId: true,
  requestOptions: true,
  future: true,
}

/** The objects that an access token is for. `batch` is one that was triggered over HTTP. docs/hosted-task-files.md says which are refused. */
export interface PublicTokenObjects {
  tasks?: string | string[]
  tags?: string | string[]
  runs?: string | string[] | true
  batch?: string | string[]
  waitpoints?: string | string[]
  inputStreams?: string | string[]
  sessions?: string | string[]
}

/** What an access token may do. */
export interface PublicTokenPermissions {
  read?: PublicTokenObjects
  write?: PublicTokenObjects
  trigger?: { tasks: string | string[] }
  batchTrigger?: { tasks: string | string[] }
}

/** How long an access token is good for, and what it does not show. */
interface PublicTokenLimits {
  /** A duration, an instant, or seconds since 1970. 15 minutes if it is left out or `null`. */
  expirationTime?: number | Date | string
  realtime?: { skipColumns?: string[] }
}

/** Options of `auth.createPublicToken`. */
export interface PublicTokenOptions extends PublicTokenLimits {
  scopes?: PublicTokenPermissions
}

/** Options of `auth.createTriggerPublicToken`. */
export interface CreateTriggerTokenOptions extends PublicTokenLimits {
  /** Whether it may trigger more than once. It may not if this is left out. */
  multipleUse?: boolean
}

/** Options of `auth.getOIDCToken`. */
export interface GetOIDCTokenOptions {
  audience: string
}

/** Access to the engine over HTTP, for pages and for other processes: see docs/in-the-browser.md. */
export interface Auth {
  configure(configuration: ApiClientConfiguration): void
  /** Calls a function: there is no service to be reached otherwise. */
  withAuth<Result>(configuration: ApiClientConfiguration, work: () => Promise<Result>): Promise<Result>
  /** An access token of the engine of the current run, or of the default engine. */
  createPublicToken(options?: PublicTokenOptions): Promise<string>
  /** An access token that triggers one of the tasks, once. */
  createTriggerPublicToken(task: string | string[], options?: CreateTriggerTokenOptions): Promise<string>
  /** Rejects with `ERR_HOSTED_ONLY`. */
  createBatchTriggerPublicToken(task: string | string[], options?: CreateTriggerTokenOptions): Promise<string>
  /** Calls a function: calls in this process are not restricted by an access token. */
  withPublicToken(options: PublicTokenOptions, work: () => Promise<void>): Promise<void>
  /** Calls a function, like `withPublicToken`. */
  withTriggerPublicToken(
    task: string | string[],
    options: CreateTriggerTokenOptions | undefined,
    work: () => Promise<void>,
  ): Promise<void>
  /** Rejects with `ERR_HOSTED_ONLY`. */
  withBatchTriggerPublicToken(
    task: string | string[],
    options: CreateTriggerTokenOptions | undefined,
    work: () => Promise<void>,
  ): Promise<void>
  /** Rejects with `ERR_HOSTED_ONLY`. */
  getOIDCToken(options: GetOIDCTokenOptions): Promise<{ token: string; expiresAt: Date }>
}

/**
 * Accepted and without effect: runs are stored by the engine of this process.
 *
 * @throws TypeError for options that there are not.
 */
export function configure(configuration: ApiClientConfiguration): void {
  requireOptions(configuration, 'the options of configure', CONFIGURATION_NAMES)
}

const TOKEN_NAMES: OptionNames<PublicTokenOptions> = {
  scopes: true,
  expirationTime: true,
  realtime: true,
}
const TRIGGER_NAMES: OptionNames<CreateTriggerTokenOptions> = {
  multipleUse: true,
  expirationTime: true,
  realtime: true,
}
/** The scopes that the HTTP handler knows, by action. */
const KNOWN: Readonly<Record<string, readonly string[]>> = {
  read: ['runs', 'tags', 'tasks', 'batch', 'waitpoints'],
  write: ['runs', 'waitpoints', 'inputStreams'],
  trigger: ['tasks'],
}
const BATCHES = 'over HTTP a batch takes a secret key; trigger runs one by one, with createTriggerPublicToken'

async function createPublicToken(options: PublicTokenOptions = {}): Promise<string> {
  requireOptions(options, 'the options of auth.createPublicToken', TOKEN_NAMES)
  const { scopes = {}, ...limits } = options
  return createAccessToken({ scopes: flatScopes(scopes) }, engineLimits(limits))
}

async function createTriggerPublicToken(
  task: string | string[],
  options: CreateTriggerTokenOptions = {},
): Promise<string> {
  requireOptions(options, 'the options of auth.createTriggerPublicToken', TRIGGER_NAMES)
  const { multipleUse = false, ...limits } = options
  const scopes = flatScopes({ trigger: { tasks: task } })
  return createAccessToken({ scopes }, { ...engineLimits(limits), oneTimeUse: !multipleUse })
}

function engineLimits({ expirationTime, realtime }: PublicTokenLimits): AccessTokenOptions {
  if (realtime !== undefined) requireOptions(realtime, 'realtime', { skipColumns: true })
  const { skipColumns } = realtime ?? {}
  const expiresIn = expiryOf(expirationTime ?? undefined)
  return {
    ...(expiresIn === undefined ? {} : { expiresIn }),
    ...(skipColumns === undefined ? {} : { skipColumns }),
  }
}

function expiryOf(expirationTime: PublicTokenLimits['expirationTime']): Date | string | undefined {
  if (typeof expirationTime !== 'number') return expirationTime
  if (Number.isFinite(expirationTime)) return new Date(expirationTime * 1_000)
  throw new RangeError(`Cannot use expirationTime ${show(expirationTime)}: it must be seconds since 1970`)
}

/** `read: { runs: 'run_1' }` as `read:runs:run_1`, and `read: { runs: true }` as `read:runs`. */
function flatScopes(permissions: PublicTokenPermissions): readonly string[] {
  return Object.entries(permissions).flatMap(([action, objects]: [string, PublicTokenObjects | undefined]) =>
    Object.entries(objects ?? {}).flatMap(([type, ids]) => flatIds(action, type, ids)),
  )
}

function flatIds(action: string, type: string, ids: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(ids) ? ids : [ids]
  const given = list.filter((id) => id !== undefined)
  if (given.length > 0 && KNOWN[action]?.includes(type) !== true) {
    const cure = action === 'batchTrigger' ? BATCHES : `no route of the HTTP handler asks for it`
    throw hostedOnly(`auth.createPublicToken with the scope ${action}.${type}`, cure)
  }
  return given.map((id) => {
    if (id === true) return `${action}:${type}`
    // An empty id would stand for all of them.
    if (typeof id === 'string' && id.trim() !== '') return `${action}:${type}:${id}`
    throw new TypeError(`Cannot use ${show(id)} in the scope ${action}.${type}: give an id, or a list of ids`)
  })
}

/** `auth`. */
export const auth: Auth = {
  configure,
  withAuth: async (configuration, work) => {
    requireOptions(configuration, 'the options of auth.withAuth', CONFIGURATION_NAMES)
    return work()
  },
  createPublicToken,
  createTriggerPublicToken,
  createBatchTriggerPublicToken: refusing('auth.createBatchTriggerPublicToken', BATCHES),
  withPublicToken: async (options, work) => {
    await createPublicToken(options)
    await work()
  },
  withTriggerPublicToken: async (task, options, work) => {
    await createTriggerPublicToken(task, options)
    await work()
  },
  withBatchTriggerPublicToken: refusing('auth.withBatchTriggerPublicToken', BATCHES),
  getOIDCToken: refusing(
    'auth.getOIDCToken',
    'this process is known to other services by credentials of its own',
  ),
}
