import { Hono } from 'hono'
import type { Engine } from '../core/engine.ts'
import { inside, outsideRuns } from '../core/inside.ts'
import { type OptionNames, requireOptions, show } from '../primitives/require.ts'
import type { AnswerPageOptions } from '../answer-page/texts.ts'
import { AnswerPages, type RenderQuestion } from './answer-pages.ts'
import { BatchStore } from './batches/store.ts'
import { Gate } from './access/gate.ts'
import { type HandlerLimits, readLimits } from './limits.ts'
import { type Connection, connectionOf, LiveRequest } from './live-request.ts'
import { Refusal, refusalOf } from './refusal.ts'
import { trustLength } from './requests/body.ts'
import { createRoutes } from './routes.ts'

/** Options of `createHandler`; all have defaults. */
export interface HandlerOptions {
  /**
   * The path in front of every route, where a host passes it on: `/engine`.
   *
   * @default none
   */
  readonly basePath?: string
  /**
   * The limits of one request, and of one credential.
   *
   * @default see HandlerLimits
   */
  readonly limits?: HandlerLimits
  /**
   * The texts, language, time zone and brand of the pages on which people answer tokens (docs/ask-a-person.md).
   *
   * @default English, in UTC
   */
  readonly answerPage?: AnswerPageOptions
  /**
   * Makes the whole HTML page instead, whenever a link to answer is opened or used.
   *
   * @default the page of this package
   */
  readonly renderQuestion?: RenderQuestion
}

/**
 * Answers a request. Every failure becomes a response; only a value that is not a `Request` makes it reject, with a
 * TypeError.
 */
export interface Handler {
  (request: Request): Promise<Response>
  /** This function again, for hosts that call `fetch` of an object. */
  readonly fetch: (request: Request) => Promise<Response>
}

/** In one turn, each of so many readers gets a text of some 32 KiB. */
const AT_ONCE = 8

const NAMES: OptionNames<HandlerOptions> = {
  basePath: true,
  limits: true,
  answerPage: true,
  renderQuestion: true,
}

/**
 * Creates a handler that serves an engine over HTTP, in any runtime with `Request` and `Response`. Routes are listed in
 * docs/http-api.md. Callers need one of the engine's secret keys, or a public access token with the right scopes. An
 * error is answered with `{ "error": "…" }`; a fault of the engine also emits an `error` event. The handler keeps
 * request rates and payloads sent ahead of their runs in memory, so create one handler for an engine, not one for each
 * request.
 *
 * @throws TypeError or RangeError for options that cannot be used.
 *
 * @example
 * ```ts
 * const handler = createHandler(engine)
 * const response = await handler(new Request(token.url, { method: 'POST', body: '{"approved":true}' }))
 * ```
 */
export function createHandler(engine: Engine, options: HandlerOptions = {}): Handler {
  const answer = createAnswer(engine, options)
  const handler = (request: Request): Promise<Response> => answer(request)
  return Object.assign(handler, { fetch: handler })
}

/** Creates the function that answers requests, for a host that can pass on the connection of each request. */
export function createAnswer(
  engine: Engine,
  options: HandlerOptions,
): (request: Request, connection?: Connection) => Promise<Response> {
  const door = inside(engine)
  requireOptions(options, 'the options of createHandler', NAMES)
  const limits = readLimits(options.limits)
  const { host } = door

  const refuse = (thrown: unknown): Refusal => {
    const refusal = refusalOf(thrown)
    if (refusal.status === 500) door.report(thrown)
    return refusal
  }

  const app = new Hono()
  const gate = new Gate(door, limits)
  const pages = new AnswerPages(host, options)
  const batches = new BatchStore(door)
  const turns = door.turns(AT_ONCE)
  const stored = door.stored ?? engine
  app.route(
    readBasePath(options.basePath),
    createRoutes({ engine, stored, inside: door, gate, limits, batches, turns, pages }),
  )
  app.notFound(() => {
    throw new Refusal(404, 'Not found')
  })
  app.onError((error, c) => {
    const { body, status, headers } = refuse(error)
    return c.json(body, status, headers)
  })

  const answer = async (request: Request, connection: Connection | undefined): Promise<Response> => {
    requireRequest(request)
    const { pathname } = new URL(request.url)
    if (connection !== undefined) trustLength(request)
    const live = new LiveRequest(host, `${request.method} ${pathname}`, connection ?? connectionOf(request))
    try {
      return await app.fetch(request, live)
    } catch (thrown) {
      // Hono passes on thrown values that are no `Error`.
      const { body, status, headers } = refuse(thrown)
      return Response.json(body, { status, headers })
    } finally {
      live.end()
    }
  }

  // Requests are outside of every run, also when `serve` was called in a run.
  return (request, connection) => outsideRuns(() => answer(request, connection))
}

/** A request of Node has a different `url` and no `text()`; without this check it would fail deep inside. */
function requireRequest(request: unknown): void {
  const url = typeof request === 'object' && request !== null && 'url' in request ? request.url : undefined
  if (typeof url === 'string' && URL.canParse(url)) return
  throw new TypeError(
    `Cannot answer ${show(request)}: give a Request with an absolute URL; for requests of Node use serve() or toNodeListener()`,
  )
}

/**
 * The path without its trailing slash.
 *
 * @throws TypeError for a value that is not a plain path.
 */
export function readBasePath(path: unknown = ''): string {
  if (typeof path === 'string' && /^(?:\/[\w.~-]+)*\/?$/.test(path)) return path.replace(/\/$/, '')
  throw new TypeError(
    `Cannot create the handler: basePath ${show(path)} must be a plain path such as "/engine"`,
  )
}
