import { FLAG, json, object, TEXT } from '../operation.ts'
import { Refusal } from '../refusal.ts'
import { group, type Route, route, type RouteGroup } from '../route.ts'
import type { RouteContext } from '../route-context.ts'
import { HealthCheck } from './health.ts'
import { Look } from './look.ts'
import { METRICS_TYPE, metricsText } from './metrics.ts'
import { queueLines } from './queue-lines.ts'
import { Stopwatch } from './stopwatch.ts'

const routes: readonly Route<RouteContext>[] = [
  route(
    'GET /healthz',
    {
      id: 'readHealth',
      tag: 'Probes',
      summary: 'Ask whether the engine is well',
      description:
        '200 if the storage answers a small read within 2 seconds. 503 if it does not, and when the engine is closing. The answer has no details.',
      allowed: 'open',
      answers: { 200: { description: 'It is well.', content: json(object({ ok: FLAG })) } },
    },
    ({ inside }) => {
      const health = new HealthCheck(inside)
      return async (c) => {
        c.header('cache-control', 'no-store')
        if (await health.isHealthy()) return c.json({ ok: true })
        throw new Refusal(503, 'Service Unavailable', { headers: { 'cache-control': 'no-store' } })
      }
    },
  ),
  route(
    'GET /metrics',
    {
      id: 'readMetrics',
      tag: 'Probes',
      summary: 'Read the numbers of the engine, as text for Prometheus',
      allowed: 'secret key',
      answers: { 200: { description: 'The numbers, in format 0.0.4.', content: { 'text/plain': TEXT } } },
    },
    ({ engine, inside, gate, turns }) => {
      const durations = new Stopwatch(inside)
      const look = new Look(inside, (signal) => queueLines(inside, turns, signal))
      return async (c) => {
        durations.asked()
        const text = metricsText({
          queues: (await look.take()) ?? [],
          durations,
          stats: engine.stats(),
          slots: inside.counts().slots,
          subscriptions: gate.subscriptions.size,
          now: inside.host.now(),
        })
        return c.body(text, 200, { 'content-type': METRICS_TYPE })
      }
    },
  ),
]

/** Routes for monitors: whether the engine is well, and its numbers. */
export const PROBE_ROUTES: RouteGroup = group(routes, (context) => context)
