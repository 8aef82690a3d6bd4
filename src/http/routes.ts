import { Hono } from 'hono'
import type { RouteContext } from './route-context.ts'
import { addTokenRoutes } from './token-routes.ts'

const GROUPS = [addTokenRoutes] as const

/** Every path there is; what is none of them, and what goes wrong, is for whoever mounts it. */
export function createRoutes(context: RouteContext): Hono {
  const app = new Hono()
  for (const addGroup of GROUPS) addGroup(app, context)
  return app
}
