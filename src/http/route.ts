import type { Context, Env, Hono, Next } from 'hono'
import { cors } from 'hono/cors'
import { Refusal } from './refusal.ts'

type Answer<Path extends string> = (c: Context<Env, Path>) => Response | Promise<Response>

/** The handlers of one path, by method. Other methods are refused with 405. HEAD is served by GET. */
export interface Route<Path extends string> {
  readonly GET?: Answer<Path>
  readonly POST?: Answer<Path>
  readonly PUT?: Answer<Path>
  readonly DELETE?: Answer<Path>
  /** Allows pages of any origin that have an access token. Otherwise browsers hide the answer from them. */
  readonly anyOrigin?: boolean
}

/** Adds a path to an app. */
export function addRoute<Path extends string>(app: Hono, path: Path, route: Route<Path>): void {
  const { anyOrigin = false, ...answers } = route
  const methods = Object.keys(answers)
  if (anyOrigin) {
    app.options(path, cors({ allowMethods: methods, exposeHeaders: ['*'] }))
    app.use(path, showToAnyOrigin)
  }
  for (const [method, answer] of Object.entries(answers)) app.on(method, path, answer)
  app.all(path, () => {
    throw new Refusal(405, 'Method not allowed', { headers: { allow: methods.join(', ') } })
  })
}

const SHOWN = { 'access-control-allow-origin': '*', 'access-control-expose-headers': '*' } as const

/** Does the work of Hono's `cors`, which makes three responses for each one: a tenth of the time of a short request. */
async function showToAnyOrigin(c: Context, next: Next): Promise<void> {
  for (const [name, value] of Object.entries(SHOWN)) c.header(name, value)
  await next()
  // A response that was not made by `c` lacks the headers set on `c`.
  const { headers } = c.res
  if (headers.has('access-control-allow-origin')) return
  for (const [name, value] of Object.entries(SHOWN)) headers.set(name, value)
}
