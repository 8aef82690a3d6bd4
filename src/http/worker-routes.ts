import type { Hono } from 'hono'
import { Refusal } from './refusal.ts'
import { addRoute } from './route.ts'
import type { RouteContext } from './route-context.ts'

/** Where the workers of the service ask for waits. An engine is its own worker: the answer says what to do instead. */
export function addWorkerRoutes(app: Hono, { gate }: RouteContext): void {
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
