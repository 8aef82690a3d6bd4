import type { Context, Env, Hono, Next } from 'hono'
import { cors } from 'hono/cors'
import type { Address } from '../hosted/addresses.ts'
import { Caller } from './access/caller.ts'
import type { Access } from './access/scope.ts'
import type { Allowed, Operation, OperationGroup } from './operation.ts'
import { Refusal } from './refusal.ts'
import type { RouteContext } from './route-context.ts'

type Answer<Path extends string> = (c: Context<Env, Path>, caller: Caller) => Response | Promise<Response>

/** Answers that are given again to a request that is sent again. An access token that it has used up may ask once more. */
interface Repeatable<Path extends string> {
  readonly isRepetition: (c: Context<Env, Path>, caller: Caller) => boolean
  readonly answer: Answer<Path>
}

type Served<Path extends string> = Answer<Path> | Repeatable<Path>

/** One route: what the document says of it, and how it is served by a handler with these parts. */
export interface Route<Parts> extends Operation {
  readonly serve: (parts: Parts) => Served<string>
}

/** The routes of one kind, and the schemas that they name. */
export interface RouteGroup extends OperationGroup {
  /** How each operation is served by one handler. */
  serve(context: RouteContext): readonly ServedRoute[]
}

interface ServedRoute extends Operation {
  readonly served: Served<string>
}

type PathOf<At extends Address> = At extends `${string} ${infer Path}` ? Path : never

/**
 * A route, which stands nowhere else: the router, docs/openapi.json and the tables of docs/http-api.md are made of it. Before
 * `serve` answers, the caller has entered and has a credential as `allowed` says, as far as the address alone can tell.
 */
export function route<At extends Address, Parts>(
  at: At,
  said: Omit<Operation, 'at'>,
  serve: (parts: Parts) => Served<PathOf<At>>,
): Route<Parts> {
  // The router gives it requests of its own path only.
  return { at, ...said, serve: serve }
}

/** Makes a group of routes. `open` adds to the parts of a handler what its routes share. */
export function group<Parts>(
  operations: readonly Route<Parts>[],
  open: (context: RouteContext) => Parts,
  schemas: OperationGroup['schemas'] = {},
): RouteGroup {
  return {
    operations,
    schemas,
    serve: (context) => {
      const parts = open(context)
      return operations.map((each) => ({ ...each, served: each.serve(parts) }))
    },
  }
}

/** Adds routes to an app. Other methods of their paths are refused with 405. HEAD is served by GET. */
export function addRoutes(
  app: Hono,
  routes: readonly ServedRoute[],
  context: Pick<RouteContext, 'gate'>,
): void {
  const paths = new Map<string, ServedRoute[]>()
  for (const each of routes) {
    const path = each.at.split(' ')[1] as string
    paths.set(path, [...(paths.get(path) ?? []), each])
  }
  // A key of a stream may have slashes: the longer path is looked at first.
  const inOrder = [...paths].sort(([one], [other]) => other.split('/').length - one.split('/').length)
  for (const [path, served] of inOrder) addPath(app, path, { served, context })
}

interface PathRoutes {
  readonly served: readonly ServedRoute[]
  readonly context: Pick<RouteContext, 'gate'>
}

function addPath(app: Hono, path: string, { served, context }: PathRoutes): void {
  const answers = new Map(served.map((each) => [each.at.split(' ')[0] as string, answering(each, context)]))
  const { HEAD: head, ...rest } = Object.fromEntries(answers)
  const methods = Object.keys(rest)
  if (served.some(({ anyOrigin = false }) => anyOrigin)) {
    app.options(path, cors({ allowMethods: methods, exposeHeaders: ['*'] }))
    app.use(path, showToAnyOrigin)
  }
  for (const [method, answer] of Object.entries(rest))
    app.on(method, path, (c) =>
      // A router asks GET for the answer to HEAD.
      head !== undefined && c.req.raw.method === 'HEAD' ? head(c) : answer(c),
    )
  const told = served.find(({ otherMethods }) => otherMethods)?.otherMethods ?? 'Method not allowed'
  app.all(path, () => {
    throw new Refusal(405, told, { headers: { allow: methods.join(', ') } })
  })
}

type Entered = (c: Context<Env, string>) => Response | Promise<Response>

/** Where the address is the credential there is no caller, or nothing that it may do besides. */
const STRANGER = new Caller('', { scopes: [] })

/** Answers once the caller has entered. */
function answering({ served, ...operation }: ServedRoute, { gate }: Pick<RouteContext, 'gate'>): Entered {
  const { allowed, mayHaveTokenInUrl = false } = operation
  const { isRepetition, answer } =
    typeof served === 'function' ? { isRepetition: undefined, answer: served } : served
  if (allowed === 'address' || allowed === 'open') return (c) => answer(c, STRANGER)
  return async (c) => {
    const request = mayHaveTokenInUrl ? withTokenOfUrl(c) : c.req.raw
    const caller = await gate.enter(request, isRepetition && ((each) => isRepetition(c, each)))
    if (request !== c.req.raw && caller.hasSecretKey) throw secretInUrl()
    requireAllowed(caller, allowed, c.req.param())
    return answer(c, caller)
  }
}

/**
 * Refuses a caller without the scopes of a route.
 *
 * @throws Refusal 403
 */
function requireAllowed(caller: Caller, allowed: Allowed, ids: Readonly<Record<string, string>>): void {
  if (allowed === 'secret key') caller.requireSecretKey()
  if (typeof allowed === 'string') return
  const accesses = allowed.map((scope) => accessOf(scope, ids))
  // A scope may be about a task or a tag of a run, which the route has to look up.
  if (accesses.every((access) => access !== undefined)) caller.require(...accesses)
}

/** `write:runs:<id>` with the id in the path; `undefined` if the path has none of that name. */
function accessOf(scope: string, ids: Readonly<Record<string, string>>): Access | undefined {
  const [action = '', type = '', name] = scope.split(':')
  if (name === undefined) return { action, type }
  const id = ids[name.slice(1, -1)]
  return id === undefined ? undefined : { action, type, id }
}

/** The request with the access token of its URL, which `EventSource` needs: it sends no headers. */
function withTokenOfUrl({ req }: Context): Request {
  const token = req.query('access_token')
  if (token === undefined || req.header('authorization') !== undefined) return req.raw
  // The text comes from the URL, and goes into a header.
  const authorization = /^[\x21-\x7e]+$/.test(token) ? `Bearer ${token}` : ''
  return new Request(req.url, { headers: { authorization } })
}

function secretInUrl(): Refusal {
  return new Refusal(
    401,
    'Cannot take a secret key from a URL, because URLs appear in logs: use a public access token',
  )
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
