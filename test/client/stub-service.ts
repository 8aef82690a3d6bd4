import { type Client, type ClientOptions, createClient } from 'waitpoint/client'
import { testClock, type TestClock } from 'waitpoint/testing'

type Answer = (request: Request) => Response | Promise<Response>

/** A service that answers what the test says, in order, and remembers what it was asked. */
export class StubService {
  readonly asked: Request[] = []
  readonly bodies: string[] = []
  readonly clock: TestClock = testClock({ mode: 'manual' })
  readonly client: Client
  readonly #answers: Answer[]

  constructor(answers: readonly (Answer | Response)[], options: Partial<ClientOptions> = {}) {
    this.#answers = answers.map((answer) => (answer instanceof Response ? () => answer : answer))
    const { clock } = this
    this.client = createClient({
      baseUrl: 'https://api.test/base/',
      accessToken: 'key',
      clock,
      retry: { randomize: false },
      fetch: (request) => this.#answer(request),
      ...options,
    })
  }

  /** The paths and queries asked for, in order. */
  get paths(): string[] {
    return this.asked.map(({ method, url }) => `${method} ${decodeURIComponent(url.slice(16))}`)
  }

  async #answer(request: Request): Promise<Response> {
    this.asked.push(request)
    this.bodies.push(await request.clone().text())
    const answer = this.#answers.shift()
    if (answer === undefined) throw new Error(`Cannot answer ${request.url}: the test says no more`)
    return answer(request)
  }
}

export function json(body: unknown, init: ResponseInit = {}): Response {
  return Response.json(body, init)
}

/** Never answers, and ignores the abort of its request. */
export function silence(): Promise<Response> {
  return new Promise<Response>(() => undefined)
}

/** A body of text in parts; what is an error breaks it off. */
export function textBody(parts: readonly (string | Error)[], headers: Record<string, string> = {}): Response {
  const encoder = new TextEncoder()
  const left = [...parts]
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const part = left.shift()
      if (part === undefined) controller.close()
      else if (part instanceof Error) controller.error(part)
      else controller.enqueue(encoder.encode(part))
    },
  })
  return new Response(body, { headers })
}
