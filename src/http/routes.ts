import { Hono } from 'hono'
import { addAuthRoutes } from './auth-routes.ts'
import type { RouteContext } from './route-context.ts'
import { addRunChangeRoutes } from './run-change-routes.ts'
import { addRunRoutes } from './run-routes.ts'
import { addRunStreamRoutes } from './run-stream-routes.ts'
import { addShapeRoutes } from './shape-routes.ts'
import { addStreamRoutes } from './stream-routes.ts'
import { addStreamWriteRoutes } from './stream-write-routes.ts'
import { addTokenRoutes } from './token-routes.ts'
import { addTriggerRoutes } from './trigger-routes.ts'
import { addWorkerRoutes } from './worker-routes.ts'

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
