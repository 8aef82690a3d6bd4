import { refusing } from './hosted-only.ts'
import { type RequestOptions, requireRequest } from './request-options.ts'

/** A variable of the environment. */
export interface EnvironmentVariable {
  name: string
  value: string
  isSecret: boolean
}

/** Options of `envvars.upload`. */
export interface ImportEnvironmentVariablesParams {
  variables: Record<string, string>
  override?: boolean
  isSecret?: boolean
}

type Refusing = (...values: readonly unknown[]) => Promise<{ success: boolean }>

/** Variables of the environment of this process. Names of projects and environments are ignored: there is one. */
export interface EnvVars {
  list(...values: readonly unknown[]): Promise<EnvironmentVariable[]>
  /** Rejects with a RangeError for a variable that is not set. */
  retrieve(...values: readonly unknown[]): Promise<EnvironmentVariable>
  /** Rejects with `ERR_HOSTED_ONLY`. */
  readonly upload: Refusing
  /** Rejects with `ERR_HOSTED_ONLY`. */
  readonly create: Refusing
  /** Rejects with `ERR_HOSTED_ONLY`. */
  readonly update: Refusing
  /** Rejects with `ERR_HOSTED_ONLY`. */
  readonly del: Refusing
}

/** @throws TypeError unless all but options of the request are texts: whose variables they are, and which. */
function requireOnly(values: readonly unknown[]): void {
  const others = values.filter((value) => typeof value !== 'string')
  for (const other of others) requireRequest(other as RequestOptions | undefined)
}

const CURE = 'set the variable where the process is started'

/** `envvars`. */
export const envvars: EnvVars = {
  list: async (...values) => {
    requireOnly(values)
    return Object.entries(process.env).map(([name, value = '']) => ({ name, value, isSecret: false }))
  },
  retrieve: async (...values) => {
    requireOnly(values)
    // The name is the last of the texts: those before it say whose it is.
    const name = values.filter((value) => typeof value === 'string').at(-1) ?? ''
    const value = process.env[name]
    if (value === undefined) throw new RangeError(`Cannot retrieve variable "${name}": it is not set`)
    return { name, value, isSecret: false }
  },
  upload: refusing('envvars.upload', CURE),
  create: refusing('envvars.create', CURE),
  update: refusing('envvars.update', CURE),
  del: refusing('envvars.del', CURE),
}
