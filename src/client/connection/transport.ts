import { ApiError, unavailable, unreadable } from './api-error.ts'
import { Backoff } from './backoff.ts'
import { Credential } from './credential.ts'
import type { ClientSettings } from './options.ts'
import { Exchange } from './exchange.ts'
import { refusedAnswer } from './refused-answer.ts'
import { pageConnections } from './page-connections.ts'
import { reasonOf } from './reason.ts'
import type { Address } from '../../hosted/addresses.ts'
import { API_VERSION_HEADER, REQUEST_NAME } from '../../hosted/headers.ts'
import { API_VERSION } from '../../hosted/run.ts'
import { defined } from '../../primitives/defined.ts'

/** One request to the service. */
export interface ApiRequest {
  readonly address: Address
  /** What stands at the colons of the address, in order. The first one is the id in errors. */
  readonly ids?: readonly string[]
  /** Members that are `undefined` are left out. */
  readonly query?: Readonly<Record<string, string | undefined>>
  /** JSON, unless the headers say otherwise. */
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** The answer of the service to a call. */
export interface ApiAnswer {
  readonly body: unknown
  readonly headers: Headers
}

/** Sends requests to one service. */
export class Transport {
  readonly settings: ClientSettings
  readonly #credential: Credential

  constructor(settings: ClientSettings) {
    this.settings = settings
    this.#credential = new Credential(settings.accessToken, settings.clock)
  }

  /**
   * The answer to a call. A call that reaches no service is sent again, under its first name, so that it takes effect
   * once.
   *
   * Rejects with the engine's own error if the answer names one, otherwise with an ApiError, or with the reason of the
   * signal.
   */
  async call(request: ApiRequest, signal?: AbortSignal): Promise<ApiAnswer> {
    const backoff = new Backoff(this.settings, signal)
    const headers = placeOf(request).method === 'GET' ? {} : { [REQUEST_NAME]: this.newKey() }
    const keyed = { ...request, headers: { ...headers, ...request.headers } }
    for (;;) {
      try {
        return await this.#attempt(keyed, signal)
      } catch (error) {
        await backoff.failed(error, request.ids?.[0])
      }
    }
  }

  /** A new unique name. */
  newKey(): string {
    return Array.from(this.settings.random.bytes(16), (byte) => byte.toString(16).padStart(2, '0')).join('')
  }

  /**
   * Downloads a value that was too large for an answer. The address may be outside the service, so the request has no
   * credentials.
   */
  async download(url: string, signal?: AbortSignal): Promise<Response> {
    const connection = this.connect(signal)
    try {
      const response = await this.#send(new Request(url, { signal: connection.signal }), connection)
      const { status } = response
      if (!response.ok)
        throw new ApiError('ERR_API_REFUSED', `Cannot download a value: the server answered ${status}`, {
          status,
        })
      const text = await connection.during(reached(response.text(), connection))
      return new Response(text, { headers: response.headers })
    } finally {
      connection.close()
    }
  }

  /** Opens an exchange that ends with the given signal, or with the signal of the client. */
  connect(signal: AbortSignal | undefined, silenceMs: number = this.settings.timeoutMs): Exchange {
    return new Exchange({
      clock: this.settings.clock,
      signals: [this.settings.signal, signal],
      silenceMs,
    })
  }

  /** Waits, on a page, until it is shown and has a connection for what follows something. The exchange ends when it has not any more. */
  async mayFollow(connection: Exchange): Promise<void> {
    await connection.whileShown()
    await pageConnections(this.settings)?.enter(connection)
  }

  /** Makes one attempt and reads its answer to the end. Rejects with an ApiError. */
  async answer(request: ApiRequest, connection: Exchange): Promise<ApiAnswer> {
    const response = await this.open(request, connection)
    const { headers, status } = response
    const text = await connection.during(reached(response.text(), connection))
    return { headers, body: parseAnswer(text, { what: `the answer to "${placeOf(request).path}"`, status }) }
  }

  /** Makes one attempt and returns a successful response with its body unread. Rejects with an ApiError. */
  async open(request: ApiRequest, connection: Exchange, mayRenew = true): Promise<Response> {
    const token = await connection.during(this.#credential.token())
    const response = await this.#sendWith(token, request, connection)
    if (response.ok) return response
    // The clocks may differ: a kept token can have expired early.
    if (response.status === 401 && this.#credential.refused(token) && mayRenew) {
      response.body?.cancel().catch(() => undefined)
      return this.open(request, connection, false)
    }
    const { method, path } = placeOf(request)
    const what = `${method} "${path}"`
    if (isRedirect(response)) throw redirected(response, what)
    throw await connection.during(refusedAnswer(response, what, this.settings.clock.now()))
  }

  #sendWith(token: string, request: ApiRequest, connection: Exchange): Promise<Response> {
    const { body } = request
    const { method, path } = placeOf(request)
    const headers = {
      authorization: `Bearer ${token}`,
      [API_VERSION_HEADER]: API_VERSION,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...request.headers,
    }
    const sent = new Request(this.settings.baseUrl + path + queryOf(request), {
      method,
      headers,
      signal: connection.signal,
      // A redirect could lead the credential, or the answer, to another server.
      redirect: 'manual',
      body: body ?? null,
    })
    return this.#send(sent, connection)
  }

  async #attempt(request: ApiRequest, signal: AbortSignal | undefined): Promise<ApiAnswer> {
    const connection = this.connect(signal)
    try {
      return await this.answer(request, connection)
    } finally {
      connection.close()
    }
  }

  async #send(request: Request, connection: Exchange): Promise<Response> {
    const asked = this.settings.fetch(request)
    // A response that arrives after the exchange has ended has no reader.
    asked
      .then(
        (response) => (connection.signal.aborted ? response.body?.cancel() : undefined),
        () => undefined,
      )
      .catch(() => undefined)
    return connection.during(reached(asked, connection, ` at ${new URL(request.url).origin}`))
  }
}

/** The method and the path of a request. */
function placeOf({ address, ids = [] }: ApiRequest): { method: string; path: string } {
  const rest = [...ids]
  const [method = '', pattern = ''] = address.split(' ')
  return { method, path: pattern.replace(/:[^/]+/g, () => encodeURIComponent(rest.shift() ?? '')) }
}

function queryOf({ query = {} }: ApiRequest): string {
  const text = String(new URLSearchParams(defined(query) as Record<string, string>))
  return text && `?${text}`
}

/** Turns the various errors of a failed connection into one ApiError. */
export async function reached<T>(step: Promise<T>, { signal }: Exchange, where = ''): Promise<T> {
  try {
    return await step
  } catch (cause) {
    if (signal.aborted) throw signal.reason
    const message = `Cannot reach the service${where}: ${reasonOf(cause)}`
    throw unavailable(message, { cause })
  }
}

/** Browsers hide a redirect: its type is all that they show. */
function isRedirect({ type, status, headers }: Response): boolean {
  return type === 'opaqueredirect' || (status >= 300 && status < 400 && headers.has('location'))
}

function redirected({ status, headers }: Response, what: string): ApiError {
  const location = headers.get('location')
  const where = location === null ? 'another address' : `"${location.slice(0, 200)}"`
  const message = `Cannot ${what}: the service redirects to ${where}, which is not followed; if that is the service, give its address as baseUrl`
  return new ApiError('ERR_API_REFUSED', message, { status })
}

/** An empty body is a valid answer. */
function parseAnswer(text: string, { what, status }: { what: string; status: number }): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text)
  } catch (cause) {
    throw unreadable(what, { status, body: text, cause })
  }
}
