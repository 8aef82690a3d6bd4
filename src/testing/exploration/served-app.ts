import { createDeferred } from '../../primitives/deferred.ts'
import { requireFunction, requireMethods } from '../../primitives/require.ts'
import type { Engine } from '../../core/engine.ts'
import { runInProcess } from './current-process.ts'
import { callNodeApp, type NodeApp } from './node-app.ts'
import { networkError } from './network-error.ts'
import type { World } from './world.ts'

/** A handler of requests, such as `createHandler` makes, or an object with one, as of Hono. */
export type FetchApp =
  | ((request: Request) => Response | Promise<Response>)
  | { fetch(request: Request): Response | Promise<Response> }

/** An application of either kind. */
export type ServedApp = FetchApp | NodeApp

/** Sends a request to an application. Rejects as `fetch` does if the process dies, or if the answer is lost. */
export type ServedFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

const ORIGIN = 'http://localhost'

/**
 * Serves an application in the process of an engine. It is made anew for every engine that is started after a crash.
 *
 * @throws TypeError if `create` is no function.
 */
export function serveApp(world: World, name: string, create: (engine: Engine) => ServedApp): ServedFetch {
  const given: unknown = create
  requireFunction(given ?? null, 'create')
  const apps = new WeakMap<Engine, ServedApp>()
  return async (input, init) => {
    const request = new Request(typeof input === 'string' ? new URL(input, ORIGIN) : input, init)
    const what = `${request.method} ${new URL(request.url).pathname}`
    await sent(world, what, name)
    await world.restarted(name)
    const { engine, process } = world.lifeOf(name)
    const app = apps.get(engine) ?? requireApp(create(engine))
    apps.set(engine, app)
    const { promise, resolve, reject } = createDeferred<Response>()
    void process.died.promise.then(() => reject(networkError('the process died')))
    runInProcess(process, () => {
      answerOf(app, request).then(resolve, reject)
    })
    return world.response(what, await promise)
  }
}

function requireApp(app: ServedApp): ServedApp {
  if (typeof app === 'function') return app
  requireMethods(app, 'the application', ['fetch'])
  return app
}

/** A request arrives when the process goes on. */
async function sent(world: World, what: string, name: string): Promise<void> {
  const { process, label } = world.calling(what)
  if (process?.isDead === true) return new Promise<never>(() => undefined)
  const isBlocked = (): boolean => world.isPaused(name)
  await world.boundaries.call({ label, process, isCommit: false, mayFail: false, isBlocked }, () => undefined)
}

async function answerOf(app: ServedApp, request: Request): Promise<Response> {
  if ('fetch' in app) return orFailed(async () => app.fetch(request))
  return isNodeApp(app) ? callNodeApp(app, request) : orFailed(async () => app(request))
}

/** As a server does when a handler throws. */
async function orFailed(answer: () => Promise<Response>): Promise<Response> {
  try {
    return await answer()
  } catch (error) {
    return new Response(String(error), { status: 500 })
  }
}

/** A listener takes the response as its second argument. */
function isNodeApp(app: Exclude<ServedApp, { fetch: unknown }>): app is NodeApp {
  return app.length > 1
}
