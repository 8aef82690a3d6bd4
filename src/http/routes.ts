import { Hono } from 'hono'
import { addAuthRoutes } from './auth-routes.ts'
import type { RouteContext } from './route-context.ts'
import { addRunChangeRoutes } from './run-change-routes.ts'
import { addRunRoutes } from './run-routes.ts'
import { addTokenRoutes } from './token-routes.ts'
import { addTriggerRoutes } from './trigger-routes.ts'
import { addWorkerRoutes } from './worker-routes.ts'

const GROUPS = [
  addTokenRoutes,
  addTriggerRoutes,
  addRunRoutes,
  addRunChangeRoutes,
  addAuthRoutes,
  addWorkerRoutes,
] as const

/** Every path there is; what is none of them, and what goes wrong, is for whoever mounts it. */
export function createRoutes(context: RouteContext): Hono {
  const app = new Hono()
  for (const addGroup of GROUPS) addGroup(app, context)
  return app
}
