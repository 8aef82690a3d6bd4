import type { Context } from 'hono'
import type { Caller } from '../access/caller.ts'
import { type EventTexts, eventBody, PING_MS } from './body.ts'
import { LiveRequest } from '../live-request.ts'
import { PING_SECONDS } from '../../hosted/headers.ts'
import type { RouteContext } from '../route-context.ts'

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
  [PING_SECONDS]: String(PING_MS / 1_000),
}

export interface EventResponseOptions extends EventTexts {
  readonly idleMs?: number | undefined
  /** The caller that subscribes. */
  readonly caller: Caller
}

/**
 * Answers with server-sent events until `texts` ends.
 *
 * @throws Refusal 429 if the caller has too many open subscriptions.
 */
export function eventResponse(
  c: Context,
  { inside, gate, turns }: RouteContext,
  { caller, ...texts }: EventResponseOptions,
): Response {
  const { host } = inside
  const request = c.req.raw
  if (request.method === 'HEAD') return c.body(null, 200, HEADERS)
  const live = LiveRequest.of(c)
  const ended = gate.subscriptions.open(caller.credential)
  live.outlast()
  const failed = (error: unknown): boolean => live.breakOff(error, inside)
  const label = new URL(request.url).pathname
  const { expiresAt } = caller
  const body = eventBody({ ...texts, host, turns, label, signal: request.signal, expiresAt, ended, failed })
  return c.body(body, 200, HEADERS)
}
