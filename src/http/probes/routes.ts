import type { Hono } from 'hono'
import { Refusal } from '../refusal.ts'
import { addRoute } from '../route.ts'
import type { RouteContext } from '../route-context.ts'
import { HealthCheck } from './health.ts'
import { METRICS_TYPE, metricsText } from './metrics.ts'

/** Routes for monitors: whether the engine is well, and its numbers. */
export function addProbeRoutes(app: Hono, { engine, kernel, gate }: RouteContext): void {
  const health = new HealthCheck(kernel)

  addRoute(app, '/healthz', {
    GET: async (c) => {
      c.header('cache-control', 'no-store')
      if (await health.isHealthy()) return c.json({ ok: true })
      throw new Refusal(503, 'Service Unavailable', { headers: { 'cache-control': 'no-store' } })
    },
  })

  addRoute(app, '/metrics', {
    GET: async (c) => {
      const caller = await gate.enter(c.req.raw)
      caller.requireSecretKey()
      const text = metricsText({
        stats: engine.stats(),
        slots: kernel.slots.concurrency,
        subscriptions: gate.subscriptions.size,
      })
      return c.body(text, 200, { 'content-type': METRICS_TYPE })
    },
  })
}
