import { SignJWT } from 'jose'
import { createTestEngine, type TestEngine, type TestEngineOptions } from 'waitpoint/testing'

export const SECRET = 'sk_first'
export const OTHER_SECRET = 'sk_second'

/** An engine in virtual time that stands still, with two secret keys. */
export function stillEngine(options: TestEngineOptions = {}): Promise<TestEngine> {
  return createTestEngine({ secretKey: [SECRET, OTHER_SECRET], clock: { mode: 'manual' }, ...options })
}

export function completeUrl(id: string): string {
  return `http://engine.test/api/v1/waitpoints/tokens/${id}/complete`
}

export interface RequestParts {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array<ArrayBuffer> | ReadableStream | FormData | URLSearchParams
}

export function request(url: string, { method = 'POST', headers = {}, body }: RequestParts = {}): Request {
  return new Request(url, { method, headers, ...(body === undefined ? {} : { body, duplex: 'half' }) })
}

/** A request to the complete endpoint, with the first secret key unless told otherwise. */
export function completion(
  id: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Request {
  return request(completeUrl(id), {
    headers: { authorization: `Bearer ${SECRET}`, ...headers },
    body: JSON.stringify(body),
  })
}

export function json(url: string, body: unknown): Request {
  return request(url, { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
}

/** What a handler answered: the body read as JSON, if it is any. */
export interface Answer {
  readonly status: number
  readonly body: unknown
  readonly headers: Headers
}

export interface AskParts {
  /** Default: the first secret key; null: none. */
  readonly credential?: string | null
  /** Sent as JSON, unless it is a text. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** Asks a handler for `POST /path`. */
export async function ask(
  handler: (request: Request) => Promise<Response>,
  methodAndPath: string,
  { credential = SECRET, body, headers = {} }: AskParts = {},
): Promise<Answer> {
  const [method = '', path = ''] = methodAndPath.split(' ')
  const authorization = credential === null ? {} : { authorization: `Bearer ${credential}` }
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const url = path.startsWith('/') ? `http://engine.test${path}` : path
  const response = await handler(
    request(url, {
      method,
      headers: { ...authorization, ...headers },
      ...(body === undefined ? {} : { body: text }),
    }),
  )
  const answer = await textOf(response)
  const isJson = response.headers.get('content-type') === 'application/json'
  return {
    status: response.status,
    headers: response.headers,
    body: isJson && answer !== '' ? JSON.parse(answer) : answer,
  }
}

/** The whole body; of events, which may never end, nothing. */
export async function textOf(response: Response): Promise<string> {
  if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true) return response.text()
  await response.body?.cancel()
  return ''
}

/** A body that comes in parts, without a length. */
export function chunked(parts: readonly (string | Uint8Array)[]): ReadableStream {
  const encoder = new TextEncoder()
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(typeof part === 'string' ? encoder.encode(part) : part)
      controller.close()
    },
  })
}

export interface ClaimParts {
  readonly claims?: Readonly<Record<string, unknown>>
  readonly key?: string
  readonly alg?: string
}

/** An access token as the published client signs it, except for what is given; `undefined` leaves a claim out. */
export function accessToken(
  scopes: unknown,
  now: number,
  { claims = {}, key = SECRET, alg = 'HS256' }: ClaimParts = {},
): Promise<string> {
  const issuedAt = Math.floor(now / 1_000)
  const all = {
    sub: 'env_1',
    pub: true,
    scopes,
    iss: 'https://id.trigger.dev',
    aud: 'https://api.trigger.dev',
    iat: issuedAt,
    exp: issuedAt + 60,
    ...claims,
  }
  const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
  return new SignJWT(given).setProtectedHeader({ alg }).sign(Buffer.from(key))
}
