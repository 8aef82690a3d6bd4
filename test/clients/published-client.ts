import type { AnyTask, Engine, EngineOptions } from 'waitpoint'
import { createEngine } from 'waitpoint'
import { type HttpServer, serve } from 'waitpoint/http'
import { freePort } from '../support/free-port.ts'

/** The package under test; each has a project of its own in which all tests run. */
const PACKAGE = process.env['WAITPOINT_CLIENT'] ?? '@trigger.dev/sdk'

/** Of the older version some subscriptions do not end by themselves. */
export const isOlder: boolean = PACKAGE !== '@trigger.dev/sdk'

/** The key of these tests: not of the form with which the service tells that a client must not sign with it. */
export const SECRET = 'tr_dev_xxxxxxxx'

type Json = Readonly<Record<string, unknown>>

interface Created {
  readonly id: string
  readonly url: string
  readonly isCached: boolean
  readonly publicAccessToken: string
}

interface Token extends Json {
  readonly id: string
  readonly url: string
  readonly status: string
  readonly tags: readonly string[]
  readonly createdAt: Date
  readonly output?: unknown
  readonly error?: Error
}

interface Page<Item> {
  readonly data: readonly Item[]
  hasNextPage(): boolean
  getNextPage(): Promise<Page<Item>>
  hasPreviousPage(): boolean
  getPreviousPage(): Promise<Page<Item>>
}

type Pages<Item> = Promise<Page<Item>> & AsyncIterable<Item>

interface Handle {
  readonly id: string
  readonly isCached?: boolean
  readonly publicAccessToken: string
}

interface BatchHandle {
  readonly publicAccessToken: string
  readonly batchId: string
  readonly runCount: number
}

interface Run extends Json {
  readonly id: string
  readonly status: string
  readonly output?: unknown
  readonly error?: { readonly message: string; readonly name?: string }
}

interface Schedule extends Json {
  readonly id: string
  readonly active: boolean
  readonly nextRun?: Date | null
}

interface Queue extends Json {
  readonly id: string
  readonly paused: boolean
}

type NamedQueue = string | { readonly type: 'task' | 'custom'; readonly name: string }

/** A part of a subscription with streams. */
export type Part =
  | { readonly type: 'run'; readonly run: Run; readonly chunk?: never }
  | { readonly type: string; readonly run: Run; readonly chunk: unknown }

export interface Subscription extends AsyncIterable<Run> {
  withStreams(): AsyncIterable<Part>
  unsubscribe(): void
}

/** Where a client sends its requests, and as whom. */
interface Access {
  readonly baseURL: string
  readonly accessToken: string
}

/** What a published error is known by. */
type ErrorClass = abstract new (...args: never[]) => Error

/**
 * As much of the published client as is used here, as its own declarations have it: what is installed for this folder
 * only, other checks do without.
 */
export interface PublishedClient {
  configure(access: Access): void
  readonly wait: {
    createToken(options?: Json): Promise<Created>
    listTokens(params?: Json): Pages<Token>
    retrieveToken(token: string | { readonly id: string }): Promise<Token>
    completeToken(
      token: string | { readonly id: string },
      data: unknown,
    ): Promise<{ readonly success: boolean }>
    forToken(token: string | { readonly id: string }): Promise<unknown>
  }
  readonly tasks: {
    trigger(id: string, payload?: unknown, options?: Json): Promise<Handle>
    batchTrigger(id: string, items: readonly Json[]): Promise<BatchHandle>
  }
  readonly schedules: {
    create(options: Json): Promise<Schedule>
    retrieve(id: string): Promise<Schedule>
    update(id: string, options: Json): Promise<Schedule>
    del(id: string): Promise<{ readonly id: string }>
    activate(id: string): Promise<Schedule>
    deactivate(id: string): Promise<Schedule>
    list(
      options?: Json,
    ): Promise<{ readonly data: readonly Schedule[]; hasNextPage(): boolean }> & AsyncIterable<Schedule>
    timezones(options?: Json): Promise<{ readonly timezones: readonly string[] }>
  }
  readonly idempotencyKeys: {
    create(key: string, options?: Json): Promise<string>
    reset(task: string, key: string, options?: Json): Promise<{ readonly id: string }>
  }
  readonly queues: {
    list(
      options?: Json,
    ): Promise<{ readonly data: readonly Queue[]; hasNextPage(): boolean }> & AsyncIterable<Queue>
    retrieve(queue: NamedQueue): Promise<Queue>
    pause(queue: NamedQueue): Promise<Queue>
    resume(queue: NamedQueue): Promise<Queue>
    overrideConcurrencyLimit(queue: NamedQueue, limit: number): Promise<Queue>
    resetConcurrencyLimit(queue: NamedQueue): Promise<Queue>
  }
  readonly batch: {
    retrieve(id: string): Promise<Json>
  }
  readonly runs: {
    retrieve(id: string): Promise<Run>
    list(params?: Json): Pages<Run>
    poll(id: string, options: { readonly pollIntervalMs: number }): Promise<Run>
    cancel(id: string): Promise<{ readonly id: string }>
    reschedule(id: string, options: Json): Promise<Run>
    replay(id: string, options?: Json): Promise<{ readonly id: string }>
    subscribeToRun(id: string): Subscription
    subscribeToRunsWithTag(tag: string | readonly string[]): Subscription
    subscribeToBatch(id: string): Subscription
  }
  readonly streams: {
    read(run: string, key: string, options?: Json): Promise<AsyncIterable<unknown>>
    /** Of the newer version. */
    input(options: { readonly id: string }): {
      send(run: string, data: unknown, options?: Json): Promise<void>
    }
  }
  readonly auth: {
    createPublicToken(options: Json): Promise<string>
    createTriggerPublicToken(task: string): Promise<string>
    withAuth<Result>(access: Access, work: () => Promise<Result>): Promise<Result>
  }
  readonly ApiError: ErrorClass
  readonly AuthenticationError: ErrorClass
  readonly BadRequestError: ErrorClass
  readonly NotFoundError: ErrorClass
  readonly PermissionDeniedError: ErrorClass
  readonly UnprocessableEntityError: ErrorClass
}

/** The published client as it is. */
export const client: PublishedClient = (await import(PACKAGE)) as PublishedClient

/** An engine behind its server, and the published client pointed at it. */
export interface Served extends AsyncDisposable {
  readonly engine: Engine
  readonly server: HttpServer
}

/** Serves an engine with these tasks on loopback, and points the client there. */
export async function served(tasks: readonly AnyTask[] = [], options: EngineOptions = {}): Promise<Served> {
  const engine = createEngine({ tasks, secretKey: SECRET, ...options })
  const server = await serve(engine, { port: await freePort() })
  client.configure({ baseURL: server.url, accessToken: SECRET })
  return {
    engine,
    server,
    [Symbol.asyncDispose]: async () => {
      await server.close()
      await engine.close()
    },
  }
}

/** Uses the published client with an access token. */
export function withAccess<Result>(
  { server }: Served,
  accessToken: string,
  work: () => Promise<Result>,
): Promise<Result> {
  return client.auth.withAuth({ baseURL: server.url, accessToken }, work)
}

/**
 * Reads a subscription, with its streams or without, until there is enough; then it unsubscribes, after which both
 * versions end the loop. The older one does not bear to be unsubscribed from after a `break`, nor ends by itself.
 */
export async function readUntil<Item>(
  subscription: Subscription,
  items: AsyncIterable<Item>,
  isEnough: (all: readonly Item[]) => boolean | Promise<boolean>,
): Promise<Item[]> {
  const all: Item[] = []
  let isOver = false
  for await (const item of items) {
    all.push(item)
    if (isOver) continue
    isOver = await isEnough(all)
    if (isOver) subscription.unsubscribe()
  }
  return all
}
