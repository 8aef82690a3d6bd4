import { Hono } from 'hono'
import type { RouteContext } from './route-context.ts'
import { addRunStreamRoutes } from './run-stream-routes.ts'
import { addShapeRoutes } from './shape-routes.ts'
import { addStreamRoutes } from './stream-routes.ts'
import { addStreamWriteRoutes } from './stream-write-routes.ts'
import { addTokenRoutes } from './token-routes.ts'

const GROUPS = [
  addTokenRoutes,
  addStreamWriteRoutes,
  addStreamRoutes,
  addRunStreamRoutes,
  addShapeRoutes,
] as const

/** Every path there is; what is none of them, and what goes wrong, is for whoever mounts it. */
export function createRoutes(context: RouteContext): Hono {
  const app = new Hono()
  for (const addGroup of GROUPS) addGroup(app, context)
  return app
}
