import { type OptionNames, requireOptions } from '../../primitives/require.ts'
import { leavable } from './current-run.ts'

/** Options of requests to the hosted service. Without effect: none is made here. */
export interface RequestOptions {
  retry?: object
  additionalHeaders?: Record<string, string>
  /** Of triggers. */
  publicAccessToken?: object
  /** Of triggers. */
  clientConfig?: object
}

const NAMES: OptionNames<RequestOptions> = {
  retry: true,
  additionalHeaders: true,
  publicAccessToken: true,
  clientConfig: true,
}

/** @throws TypeError for options that there are not. */
export function requireRequest(options: RequestOptions | undefined): void {
  if (options !== undefined) requireOptions(options, 'the options of a request', NAMES)
}

/** Whether an argument that may be other options is these, as the hosted service tells them apart. */
export function isRequest(value: unknown): value is RequestOptions {
  if (typeof value !== 'object' || value === null) return false
  const names = Object.keys(value)
  return names.length > 0 && names.every((name) => name === 'retry' || name === 'additionalHeaders')
}

type Call = (...values: unknown[]) => unknown

/**
 * A namespace whose functions check the options of their request, by the place of that argument, and may be called late, or left when
 * their attempt ends.
 */
export function takingRequests<Namespace extends object>(
  namespace: Namespace,
  places: { readonly [Name in keyof Namespace]?: number } = {},
): Namespace {
  const checked = Object.entries(namespace).map(([name, call]: [string, unknown]) => {
    if (typeof call !== 'function') return [name, call] as const
    const place = places[name as keyof Namespace]
    const checking: Call = (...values) => {
      if (place !== undefined) requireRequest(values[place] as RequestOptions | undefined)
      return leavable((call as Call)(...values))
    }
    return [name, checking] as const
  })
  // With functions of the types that it had.
  return Object.fromEntries(checked) as Namespace
}
