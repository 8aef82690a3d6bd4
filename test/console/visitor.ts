import type { Engine } from 'waitpoint'
import { type Console, type ConsoleOptions, createConsole } from 'waitpoint/console'

export const KEY = 'tr_dev_xxxxxxxx'
const ORIGIN = 'http://app.example'

/** An answer with its text, which is read already. */
export interface Visited {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** A browser without a window: it keeps its cookie, and fills in forms of the page that it saw last. */
export class Visitor {
  readonly #engine: Engine
  readonly #handler: Console
  #cookie: string | undefined
  #known: string | undefined
  #page = ''

  constructor(
    engine: Engine,
    options: ConsoleOptions = {},
    handler: Console = createConsole(engine, options),
  ) {
    this.#engine = engine
    this.#handler = handler
  }

  /** Another browser on this console. */
  another(): Visitor {
    return new Visitor(this.#engine, {}, this.#handler)
  }

  /** A visitor that has logged in. */
  static async loggedIn(engine: Engine, options: ConsoleOptions = {}): Promise<Visitor> {
    const visitor = new Visitor(engine, options)
    await visitor.logIn(KEY, options.basePath)
    return visitor
  }

  get cookie(): string | undefined {
    return this.#cookie
  }

  set cookie(cookie: string | undefined) {
    this.#cookie = cookie
  }

  /** The token in the forms of the page that was seen last. */
  get formToken(): string {
    return /name="_token" value="([^"]+)"/.exec(this.#page)?.[1] ?? ''
  }

  logIn(key: string, basePath = '', next = ''): Promise<Visited> {
    return this.post(`${basePath}/login?${new URLSearchParams({ next }).toString()}`, { key })
  }

  get(path: string, init: RequestInit = {}): Promise<Visited> {
    return this.#visit(path, init)
  }

  /** Sends a form. With `_token: ''` it carries none. */
  post(
    path: string,
    fields: Readonly<Record<string, string>> = {},
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Visited> {
    const body = new URLSearchParams({ _token: this.formToken, ...fields })
    return this.#visit(path, { method: 'POST', body, headers })
  }

  /** The answer as it comes, for one that does not end. */
  stream(path: string, signal: AbortSignal): Promise<Response> {
    return this.#handler(new Request(ORIGIN + path, { headers: this.#headers(), signal }))
  }

  async #visit(path: string, init: RequestInit): Promise<Visited> {
    const headers = { ...this.#headers(), ...(init.headers as Readonly<Record<string, string>> | undefined) }
    const answer = await this.#handler(new Request(ORIGIN + path, { ...init, headers }))
    for (const line of answer.headers.getSetCookie()) {
      const [cookie = ''] = line.split(';')
      if (cookie.startsWith('waitpoint_console_known=')) this.#known = cookie
      else this.#cookie = cookie
    }
    const text = await answer.text()
    if (answer.headers.get('content-type')?.startsWith('text/html') === true) this.#page = text
    return { status: answer.status, headers: answer.headers, text }
  }

  #headers(): Readonly<Record<string, string>> {
    const cookies = [this.#cookie, this.#known].filter((cookie) => cookie !== undefined)
    return cookies.length === 0 ? {} : { cookie: cookies.join('; ') }
  }
}
