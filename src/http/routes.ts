import { Hono } from 'hono'
import type { RouteContext } from './route-context.ts'
import { addProbeRoutes } from './probes/routes.ts'
import { addQueueRoutes } from './queues/routes.ts'
import { addRunChangeRoutes } from './runs/change-routes.ts'
import { addRunRoutes } from './runs/routes.ts'
import { addRunStreamRoutes } from './streams/run-routes.ts'
import { addScheduleRoutes } from './schedules/routes.ts'
import { addShapeRoutes } from './shapes/routes.ts'
import { addStreamRoutes } from './streams/routes.ts'
import { addStreamWriteRoutes } from './streams/write-routes.ts'
import { addTokenRoutes } from './tokens/routes.ts'
import { addTriggerRoutes } from './runs/trigger-routes.ts'
import { PUBLIC_CLAIMS, readAccessTokenBody } from './access/token.ts'
import { readJsonObject } from './requests/json-body.ts'
import { addRoute } from './route.ts'
import { refusingWrongInput } from './requests/wrong-input.ts'
import { Refusal } from './refusal.ts'

const GROUPS = [
  addTokenRoutes,
  addTriggerRoutes,
  addRunRoutes,
  addRunChangeRoutes,
  addRunStreamRoutes,
  addShapeRoutes,
  // The write routes come before the read routes, because a stream key may contain slashes.
  addStreamWriteRoutes,
  addStreamRoutes,
  addScheduleRoutes,
  addQueueRoutes,
  addAuthRoutes,
  addWorkerRoutes,
  addProbeRoutes,
] as const

/** Creates the app with every route. Its host answers unknown paths and errors. */
export function createRoutes(context: RouteContext): Hono {
  const app = new Hono()
  for (const addGroup of GROUPS) addGroup(app, context)
  return app
}

/** How the holder of a secret key obtains public access tokens: the claims to sign itself, or a signed token. */
function addAuthRoutes(app: Hono, { gate, limits, kernel }: RouteContext): void {
  const { credentials, host } = kernel

  addRoute(app, '/api/v1/auth/jwt/claims', {
    POST: async (c) => {
      const caller = await gate.enter(c.req.raw)
      caller.requireSecretKey()
      return c.json(PUBLIC_CLAIMS)
    },
  })

  addRoute(app, '/api/v1/auth/public-tokens', {
    POST: async (c) => {
      const caller = await gate.enter(c.req.raw)
      // An access token that could sign another would never expire.
      caller.requireSecretKey()
      const body = await readJsonObject(c.req.raw, limits.otherBytes)
      const asked = await refusingWrongInput(async () => readAccessTokenBody(body, host.now()))
      return c.json({ token: credentials.sign(asked) })
    },
  })
}

/** Where workers of the service create waits. An engine has no workers: the answer says what to use instead. */
function addWorkerRoutes(app: Hono, { gate }: RouteContext): void {
  const refuse = async ({ req }: { readonly req: { readonly raw: Request } }): Promise<never> => {
    await gate.enter(req.raw)
    throw new Refusal(
      404,
      'Workers are not supported: tasks run in the process of the engine, and wait there with wait.forToken() or wait.for()',
    )
  }
  addRoute(app, '/engine/v1/runs/:run/waitpoints/tokens/:id/wait', { POST: refuse })
  addRoute(app, '/engine/v1/runs/:run/wait/duration', { POST: refuse })
}
