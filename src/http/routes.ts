import { Hono } from 'hono'
import type { RouteContext } from './route-context.ts'
import { addRunChangeRoutes } from './runs/change-routes.ts'
import { addRunRoutes } from './runs/routes.ts'
import { addRunStreamRoutes } from './streams/run-routes.ts'
import { addShapeRoutes } from './shapes/routes.ts'
import { addStreamRoutes } from './streams/routes.ts'
import { addStreamWriteRoutes } from './streams/write-routes.ts'
import { addTokenRoutes } from './tokens/routes.ts'
import { addTriggerRoutes } from './runs/trigger-routes.ts'
import { PUBLIC_CLAIMS, signAccessToken } from './access/token.ts'
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
  // Before those that read: a key may have slashes in it.
  addStreamWriteRoutes,
  addStreamRoutes,
  addAuthRoutes,
  addWorkerRoutes,
] as const

/** Every path there is; what is none of them, and what goes wrong, is for whoever mounts it. */
export function createRoutes(context: RouteContext): Hono {
  const app = new Hono()
  for (const addGroup of GROUPS) addGroup(app, context)
  return app
}

/** How a holder of a secret key gets public access tokens: what to sign them with itself, or a signed one. */
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
      // An access token that could sign others would never end.
      caller.requireSecretKey()
      const asked = await readJsonObject(c.req.raw, limits.otherBytes)
      const signing = { key: credentials.secretKeys[0] ?? '', now: host.now() }
      return c.json({ token: await refusingWrongInput(() => signAccessToken(asked, signing)) })
    },
  })
}

/** Where the workers of the service ask for waits. An engine is its own worker: the answer says what to do instead. */
function addWorkerRoutes(app: Hono, { gate }: RouteContext): void {
  const refuse = async ({ req }: { readonly req: { readonly raw: Request } }): Promise<never> => {
    await gate.enter(req.raw)
    throw new Refusal(
      404,
      'There are no workers: tasks run in the process of the engine, and wait there with wait.forToken() or wait.for()',
    )
  }
  addRoute(app, '/engine/v1/runs/:run/waitpoints/tokens/:id/wait', { POST: refuse })
  addRoute(app, '/engine/v1/runs/:run/wait/duration', { POST: refuse })
}
