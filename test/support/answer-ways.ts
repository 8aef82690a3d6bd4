import type { AnsweredBy, Answerer, CompletedToken, DefinedQuestion, Engine, LinkedToken } from 'waitpoint'
import { createHandler, toNodeListener } from 'waitpoint/http'
import { completeTokenByHand } from '../../src/cli/commands/tokens/complete.ts'
import { Given } from '../../src/cli/given.ts'
import type { Terminal } from '../../src/cli/output/terminal.ts'
import { plainClock } from '../../src/clock/plain.ts'
import { KEY, Visitor } from '../console/visitor.ts'
import { listening } from '../http/listening.ts'

/** The ways in which an answer may come. `hosted` is what the published client sends, `cli` is `waitpoint tokens complete --url`. */
export const WAYS = [
  'call',
  'definition',
  'http',
  'hosted',
  'access token',
  'url',
  'link',
  'console',
  'cli',
] as const
export type Way = (typeof WAYS)[number]

/** Ways that say who answers; the others know the way alone. */
export const NAMING: ReadonlySet<Way> = new Set(['call', 'definition', 'http', 'access token', 'link', 'cli'])
const VIA: Readonly<Record<Way, string>> = {
  call: 'call',
  definition: 'call',
  http: 'http',
  hosted: 'http',
  'access token': 'http',
  url: 'url',
  link: 'link',
  console: 'console',
  cli: 'cli',
}

/** One answer, as it is offered. */
export interface Offer {
  readonly way: Way
  /** Absent: it is not said who answers. */
  readonly person?: Answerer | undefined
  readonly answer: string
}

/** What the one who answers is told. */
export type Told =
  | { readonly kind: 'won' }
  | { readonly kind: 'lost'; readonly status: string; readonly by: string | undefined }
  | { readonly kind: 'does not fit' | 'is no approver' }
  /** The published client takes every answer to a settled token for a success. */
  | { readonly kind: 'told nothing'; readonly status: string }

/** Who is stored with an answer that wins, by the table of docs/ask-a-person.md. */
export function storedBy({ way, person }: Offer): AnsweredBy | undefined {
  if (person === undefined) {
    if (way === 'call' || way === 'definition') return undefined
    // The command sends what it was given, over HTTP.
    return { via: way === 'cli' ? 'http' : VIA[way] }
  }
  const { id, name } = person
  return { id, ...(name !== undefined && { name }), via: VIA[way] }
}

/** The short text by which two answerers are told apart, on pages too. */
export function shownBy(by: AnsweredBy | undefined): string | undefined {
  return by && (by.name ?? by.id ?? `via ${by.via}`)
}

/** What can be answered. */
export interface Answerable {
  readonly token: LinkedToken
  /** As a form shows them; absent: the form takes JSON. */
  readonly choices: readonly string[] | undefined
  readonly definition: DefinedQuestion<unknown, unknown>
}

/** Answers a question by any way, on one engine, and reads what is told. */
export class AnswerWays {
  readonly #engine: Engine
  readonly #handler: (request: Request) => Promise<Response>
  #visitor: Promise<LoggedIn> | undefined

  /** Of an engine that has the console's key as its secret key. */
  constructor(engine: Engine) {
    this.#engine = engine
    this.#handler = createHandler(engine)
  }

  async offer(asked: Answerable, offer: Offer): Promise<Told> {
    const { way, answer } = offer
    switch (way) {
      case 'call':
      case 'definition':
        return this.#called(asked, offer)
      case 'link':
        return this.#linked(asked, offer)
      case 'console':
        return this.#console(asked, answer)
      case 'cli':
        return this.#commanded(asked, offer)
      default:
        return this.#requested(asked, offer)
    }
  }

  /** What scanners and previews do: all that has an address is fetched. */
  async look({ token }: Answerable): Promise<void> {
    for (const address of [token.url, token.link, token.linkFor({ id: 'ann' })])
      for (const method of ['GET', 'HEAD', 'OPTIONS'])
        await (await this.#handler(new Request(address, { method }))).text()
    const { visitor } = await this.#loggedIn()
    await visitor.get(`/tokens/${token.id}`)
  }

  /** A visitor, and what makes its forms its own. */
  #loggedIn(): Promise<LoggedIn> {
    return (this.#visitor ??= logIn(this.#engine))
  }

  async #called({ token, definition }: Answerable, { way, person, answer }: Offer): Promise<Told> {
    const options = person === undefined ? {} : { by: person }
    // A definition finds the engine when it is called.
    const unset = this.#engine.makeDefault()
    const completed =
      way === 'call'
        ? this.#engine.wait.completeToken(token, answer, options)
        : definition.answer(token, answer, options)
    unset()
    try {
      const { success, status, by } = await completed
      return success ? { kind: 'won' } : { kind: 'lost', status, by: shownBy(by) }
    } catch (error) {
      return refusalOf((error as { readonly code?: string }).code, error)
    }
  }

  async #requested({ token }: Answerable, { way, person, answer }: Offer): Promise<Told> {
    const grant = { complete: token.id }
    const credential =
      way === 'access token'
        ? await this.#engine.createAccessToken(grant, person === undefined ? {} : { by: person })
        : KEY
    const url = way === 'url' ? token.url : completeUrl(token.id)
    const said = person === undefined || way !== 'http' ? {} : { by: person }
    const request = new Request(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(way !== 'url' && { authorization: `Bearer ${credential}` }),
        ...(way === 'hosted' && { 'trigger-version': '4.8.3' }),
      },
      body: JSON.stringify(way === 'url' ? answer : { output: answer, ...said }),
    })
    const response = await this.#handler(request)
    const body = (await response.json()) as {
      readonly code?: string
      readonly success?: boolean
      readonly status?: string
      readonly by?: AnsweredBy
    }
    if (response.status !== 200) return refusalOf(body.code, body)
    if (way === 'hosted') return { kind: 'told nothing', status: body.status ?? '' }
    if (body.success === true) return { kind: 'won' }
    return { kind: 'lost', status: body.status ?? '', by: shownBy(body.by) }
  }

  async #linked({ token, choices }: Answerable, { person, answer }: Offer): Promise<Told> {
    const response = await this.#handler(
      new Request(person === undefined ? token.link : token.linkFor(person), {
        method: 'POST',
        body: new URLSearchParams(formOf(choices, answer)),
      }),
    )
    const text = await response.text()
    if (response.status === 422) return { kind: 'does not fit' }
    if (response.status === 403) return { kind: 'is no approver' }
    if (text.includes('Thank you')) return { kind: 'won' }
    if (text.includes('The time to answer has ended'))
      return { kind: 'lost', status: 'TIMED_OUT', by: undefined }
    if (text.includes('This question was withdrawn'))
      return { kind: 'lost', status: 'TIMED_OUT', by: byOn(text) }
    if (!text.includes('answered before you')) throw new Error(`a page that says nothing: ${text}`)
    return { kind: 'lost', status: 'COMPLETED', by: byOn(text) }
  }

  async #commanded({ token }: Answerable, { person, answer }: Offer): Promise<Told> {
    await using server = await listening(toNodeListener(this.#handler))
    const words = [token.id, '--url', server.url, '--key', KEY, '--output', JSON.stringify(answer), '--json']
    if (person !== undefined) words.push('--by', person.id)
    let told: CompletedToken | undefined
    const terminal: Terminal = {
      clock: plainClock(),
      env: {},
      width: undefined,
      signal: new AbortController().signal,
      hearKeys: () => false,
      print: () => undefined,
      printJson: (value) => (told = value as CompletedToken),
      note: () => undefined,
    }
    try {
      const exit = await completeTokenByHand.run(new Given(words, completeTokenByHand), terminal)
      if (told === undefined || (exit === 0) !== told.success)
        throw new Error(`an exit code that says something else: ${exit}`)
      return told.success ? { kind: 'won' } : { kind: 'lost', status: told.status, by: shownBy(told.by) }
    } catch (error) {
      return refusalOf((error as { readonly code?: string }).code, error)
    }
  }

  async #console({ token, choices }: Answerable, answer: string): Promise<Told> {
    const { visitor, _token } = await this.#loggedIn()
    const fields = { ...formOf(choices, answer), _token }
    const { status, text } = await visitor.post(`/tokens/${token.id}/complete`, fields)
    if (status === 303) return { kind: 'won' }
    if (status === 422) return { kind: 'does not fit' }
    if (text.includes('This question has approvers')) return { kind: 'is no approver' }
    if (!text.includes('changed nothing')) throw new Error(`a page that says nothing: ${text}`)
    if (text.includes('was withdrawn')) return { kind: 'lost', status: 'TIMED_OUT', by: byOn(text) }
    return text.includes('the token timed out')
      ? { kind: 'lost', status: 'TIMED_OUT', by: undefined }
      : { kind: 'lost', status: 'COMPLETED', by: byOn(text) }
  }
}

interface LoggedIn {
  readonly visitor: Visitor
  readonly _token: string
}

async function logIn(engine: Engine): Promise<LoggedIn> {
  const visitor = await Visitor.loggedIn(engine, { sessionLength: '30d' })
  await visitor.get('/runs')
  return { visitor, _token: visitor.formToken }
}

function completeUrl(id: string): string {
  return `http://engine.test/api/v1/waitpoints/tokens/${id}/complete`
}

/** The fields of a form of choices, with the answer as it is chosen there. */
function formOf(choices: readonly string[] | undefined, answer: string): Record<string, string> {
  const at = choices?.indexOf(answer) ?? 0
  return { form: '1', answer: choices === undefined ? JSON.stringify(answer) : String(at < 0 ? 99 : at) }
}

function refusalOf(code: string | undefined, error: unknown): Told {
  if (code === 'ERR_OUTPUT_INVALID') return { kind: 'does not fit' }
  if (code === 'ERR_NOT_APPROVER') return { kind: 'is no approver' }
  throw error
}

/** Who has answered, as a page says it. It says `ann` of an approver, too, who is another one then. */
function byOn(text: string): string | undefined {
  const read = text.replace(/<style>[^]*?<\/style>|<[^>]*>/g, ' ')
  return (
    ['Ann', 'bo', 'eve', 'ann'].find((name) => new RegExp(`\\b${name}\\b`).test(read)) ??
    /via \w+/.exec(read)?.[0]
  )
}
