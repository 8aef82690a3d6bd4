import type { Engine } from '../core/engine.ts'
import { type Inside, inside, outsideRuns, type Turns } from '../core/inside.ts'
import { type Connection, LiveRequest } from '../http/live-request.ts'
import { isReading } from '../http/access/gate.ts'
import { Refusal } from '../http/refusal.ts'
import { WaitpointError } from '../api/errors.ts'
import { StorageUnavailableError } from '../contract/storage-unavailable.ts'
import { show } from '../primitives/require.ts'
import {
  type Acted,
  answerInbox,
  cancelRun,
  changeAsked,
  setQueue,
  completeToken,
  replayRun,
  triggerLikeRun,
  triggerTask,
} from './actions.ts'
import { ChangeEvents, shownBy } from './events.ts'
import { readForm, requireFormToken } from './form.ts'
import { KeyAttempts } from './key-attempts.ts'
import { LastDay } from './last-day.ts'
import { useLoginLink } from './login-link.ts'
import { type ConsoleOptions, type ConsoleSettings, readConsoleOptions } from './options.ts'
import { documentOf, type PageContent, pageFiles, SECURITY_HEADERS } from './page.ts'
import { enginesPage } from './pages/engines.ts'
import { healthPage } from './pages/health.ts'
import { manyPage } from './pages/many.ts'
import { actOnMany } from './many.ts'
import { inboxPage } from './pages/inbox.ts'
import { loginPage, problemPage } from './pages/login.ts'
import { queuesPage } from './pages/queues.ts'
import { RUN_TEXTS, runPage, runText } from './pages/run.ts'
import { runsPage } from './pages/runs.ts'
import { schedulesPage } from './pages/schedules.ts'
import { tasksPage } from './pages/tasks.ts'
import { tokenPage } from './pages/token.ts'
import { tokensPage } from './pages/tokens.ts'
import { Refused } from './refused.ts'
import { searchedAddress } from './search.ts'
import { type Session, Sessions } from './session.ts'
import { linkTo, may, type Visit } from './visit.ts'

/** Answers the requests for the pages of a console. It never rejects for a `Request`: failures are pages too. */
export interface Console {
  (request: Request): Promise<Response>
  /** This function again, for hosts that call `fetch` of an object. */
  readonly fetch: (request: Request) => Promise<Response>
}

/**
 * Creates the console of an engine: pages that show runs and tokens and act on them, for any host with `Request` and
 * `Response`. Its visitors log in with a secret key of the engine, or pass `authorize`. See docs/console-and-cli.md.
 *
 * @throws TypeError or RangeError for options that cannot be used, and if nothing says who may enter: the engine has no
 *   `secretKey`, and there is no `authorize`.
 *
 * @example
 * ```ts
 * const handler = createConsole(engine, { basePath: '/console' })
 * const response = await handler(new Request('http://localhost/console/runs'))
 * ```
 */
export function createConsole(engine: Engine, options: ConsoleOptions = {}): Console {
  const answer = createConsoleAnswer(engine, options)
  const handler = (request: Request): Promise<Response> => answer(request)
  return Object.assign(handler, { fetch: handler })
}

/** Creates the function that answers requests, for a host that can pass on the connection of each request. */
export function createConsoleAnswer(
  engine: Engine,
  options: ConsoleOptions,
): (request: Request, connection?: Connection) => Promise<Response> {
  const door = inside(engine)
  const pages = new Pages(engine, door, readConsoleOptions(options, door))
  return (request, connection) =>
    outsideRuns(async () => {
      requireRequest(request)
      const live = new LiveRequest(door.host, `${request.method} a page of the console`, connection)
      try {
        return await pages.answer(request, connection)
      } finally {
        live.end()
      }
    })
}

function requireRequest(request: unknown): void {
  const url = typeof request === 'object' && request !== null && 'url' in request ? request.url : undefined
  if (typeof url === 'string' && URL.canParse(url)) return
  throw new TypeError(`Cannot answer ${show(request)}: give a Request with an absolute URL`)
}

/** A browser that may enter, or the answer to one that may not. */
type Entrance = { readonly session: Session } | { readonly refusal: Response }

/** A login has a key in it, and nothing else. */
const MOST_LOGIN_BYTES = 4_096
/** So many forms go on in one turn, if they are small. */
const AT_ONCE = 8
/** The longest address, in characters, that a login leads to. */
const LONGEST_NEXT = 2_048

/** The pages of the navigation. */
const PAGES = new Map<string, (visit: Visit) => Promise<PageContent>>([
  ['runs', runsPage],
  ['inbox', inboxPage],
  ['tokens', tokensPage],
  ['tasks', tasksPage],
  ['queues', queuesPage],
  ['schedules', schedulesPage],
  ['engines', enginesPage],
  ['health', healthPage],
  ['many', manyPage],
])

class Pages {
  readonly #engine: Engine
  readonly #inside: Inside
  readonly #turns: Turns
  readonly #lastDay: LastDay
  readonly #settings: ConsoleSettings
  readonly #sessions: Sessions
  readonly #events: ChangeEvents
  /** Of browsers that have logged in before: strangers who guess do not keep them out. */
  readonly #knownAttempts = new KeyAttempts()
  readonly #attempts = new KeyAttempts()

  constructor(engine: Engine, inside: Inside, settings: ConsoleSettings) {
    this.#engine = engine
    this.#inside = inside
    this.#turns = inside.turns(AT_ONCE)
    this.#lastDay = new LastDay(engine, inside)
    this.#settings = settings
    this.#sessions = new Sessions(inside, settings)
    this.#events = new ChangeEvents(engine, inside)
  }

  async answer(request: Request, connection: Connection | undefined): Promise<Response> {
    try {
      const answer = await this.#route(request, connection)
      if (request.method !== 'HEAD') return answer
      await answer.body?.cancel()
      return new Response(null, answer)
    } catch (thrown) {
      return this.#problem(request, thrown)
    }
  }

  async #route(request: Request, connection: Connection | undefined): Promise<Response> {
    const url = new URL(request.url)
    const [section = '', id, action, ...rest] = segmentsOf(url, this.#settings.basePath)
    if (rest.length > 0) throw notFound()
    const file = id === undefined ? pageFiles().get(section) : undefined
    if (file !== undefined) return fileAnswer(url, file)
    await this.#inside.open(isReading(request))
    if (section === 'login' && id === undefined && this.#settings.authorize === undefined)
      return request.method === 'POST' ? this.#logIn(request, url) : this.#askForKey(request, url)
    const entrance = await this.#enter(request, url)
    if ('refusal' in entrance) return entrance.refusal
    const { session } = entrance
    const visit = {
      engine: this.#engine,
      inside: this.#inside,
      turns: this.#turns,
      lastDay: this.#lastDay,
      request,
      url,
      session,
    } as const
    const whole: Visit = { ...visit, now: this.#inside.host.now(), settings: this.#settings }
    const answer =
      request.method === 'POST'
        ? await this.#act(whole, { section, id, action })
        : await this.#show(whole, { section, id, action }, connection)
    if (session.cookie !== undefined) answer.headers.append('set-cookie', session.cookie)
    return answer
  }

  /** The login with a key, or what the application says. */
  async #enter(request: Request, url: URL): Promise<Entrance> {
    const session = this.#sessions.read(request)
    if (this.#settings.authorize !== undefined) {
      if (!(await may({ request, settings: this.#settings }, 'read')))
        throw new Refused(403, 'You may not see this.')
      return { session: session ?? this.#sessions.begin(request, 'visit') }
    }
    if (session?.isLoggedIn === true) return { session }
    if (request.method === 'POST')
      throw new Refused(401, 'Your login has ended.', 'Log in, and repeat what you did.')
    const next = url.pathname + url.search
    return {
      refusal: redirect(`${this.#settings.basePath}/login?${new URLSearchParams({ next }).toString()}`),
    }
  }

  async #askForKey(request: Request, url: URL): Promise<Response> {
    const next = this.#nextOf(url)
    const link = url.searchParams.get('link')
    if (link === null || !isFollowed(request))
      return this.#page(loginPage(this.#settings.basePath, { next }), 200)
    // A link that is clicked again by its user stays as it is.
    if (this.#sessions.read(request)?.isLoggedIn === true) return redirect(next)
    if (await useLoginLink(this.#inside, link)) return this.#loggedIn(request, next)
    const problem = 'This link was used before, or its time is over. Log in with the key.'
    return this.#page(loginPage(this.#settings.basePath, { next, problem }), 401)
  }

  /** Of a request without a credential nothing is read before the pause, and little after it. */
  async #logIn(request: Request, url: URL): Promise<Response> {
    const next = this.#nextOf(url)
    const attempts = this.#sessions.isKnown(request) ? this.#knownAttempts : this.#attempts
    const refusedEarly = this.#pause(attempts, next)
    if (refusedEarly !== undefined) return refusedEarly
    const form = await readForm(request, { mostBytes: MOST_LOGIN_BYTES })
    // Other attempts may have come meanwhile.
    const refused = this.#pause(attempts, next)
    if (refused !== undefined) return refused
    if (!this.#sessions.isSecretKey(form.get('key') ?? '')) {
      attempts.wrong(this.#inside.host.now())
      const problem = 'This is no secret key of the engine.'
      return this.#page(loginPage(this.#settings.basePath, { next, problem }), 401)
    }
    attempts.right()
    return this.#loggedIn(request, next)
  }

  /** Where a login leads to: a page of the console, whatever the address asks for. */
  #nextOf({ searchParams }: URL): string {
    return ownPath(searchParams.get('next') ?? '', this.#settings.basePath)
  }

  /** The answer while no key is looked at. */
  #pause(attempts: KeyAttempts, next: string): Response | undefined {
    const seconds = Math.ceil(attempts.pauseMs(this.#inside.host.now()) / 1_000)
    if (seconds === 0) return undefined
    const problem = `There were too many wrong keys. Try again in ${seconds} s.`
    const answer = this.#page(loginPage(this.#settings.basePath, { next, problem }), 429)
    answer.headers.set('retry-after', String(seconds))
    return answer
  }

  #loggedIn(request: Request, next: string): Response {
    const answer = redirect(next)
    answer.headers.append('set-cookie', this.#sessions.begin(request, 'key').cookie ?? '')
    answer.headers.append('set-cookie', this.#sessions.known(request))
    return answer
  }

  async #show(
    visit: Visit,
    { section, id, action }: Place,
    connection: Connection | undefined,
  ): Promise<Response> {
    if (!isReading(visit.request)) throw new Refused(405, 'This cannot be done.')
    if (action !== undefined) return this.#part(visit, { section, id, action })
    const searched = searchedAddress(visit)
    if (searched !== undefined) return redirect(searched)
    const page = id === undefined ? PAGES.get(section) : undefined
    if (page !== undefined) return this.#page(await page(visit), 200, visit)
    switch (`${section}${id === undefined ? '' : '/:id'}`) {
      case '':
        return redirect(linkTo(visit, 'runs'))
      case 'runs/:id':
        return this.#page(await runPage(visit, id ?? ''), 200, visit)
      case 'tokens/:id':
        return this.#page(await tokenPage(visit, id ?? ''), 200, visit)
      case 'events': {
        const endsAt = this.#inside.host.now() + this.#settings.sessionMs
        const answer = this.#events.respond(visit.request, {
          shown: shownBy(visit.url),
          connection,
          isOver: () =>
            this.#inside.host.now() >= endsAt ||
            (visit.session.isLoggedIn && this.#sessions.read(visit.request) === undefined),
        })
        return secured(answer)
      }
      default:
        throw notFound()
    }
  }

  /** What is below a page: a text to download; or an action that was asked for again, by a reload. */
  async #part(visit: Visit, { section, id = '', action = '' }: Place): Promise<Response> {
    if (section === 'tokens' || section === 'inbox')
      return redirect(linkTo(visit, `tokens/${encodeURIComponent(id)}`))
    const name = RUN_TEXTS.find((each) => action === `${each}.json`)
    const text = section === 'runs' && name !== undefined ? await runText(visit, id, name) : undefined
    if (text === undefined) throw notFound()
    return secured(
      new Response(text, {
        headers: {
          'content-type': 'application/json; charset=utf-8',
          'content-disposition': `attachment; filename="${action}"`,
        },
      }),
    )
  }

  async #act(visit: Visit, { section, id, action }: Place): Promise<Response> {
    if (section === 'logout' && id === undefined) {
      requireFormToken(await readForm(visit.request), visit.session)
      const answer = redirect(linkTo(visit, 'login'))
      answer.headers.append('set-cookie', this.#sessions.end(visit.request))
      return answer
    }
    const what = id === undefined ? section : `${section}/${action ?? ''}`
    const acted = await this.#acted(visit, what, id ?? '')
    return 'location' in acted ? redirect(acted.location) : this.#page(acted.page, acted.status, visit)
  }

  #acted(visit: Visit, what: string, id: string): Promise<Acted> {
    switch (what) {
      case 'runs/cancel':
        return cancelRun(visit, id)
      case 'runs/replay':
        return replayRun(visit, id)
      case 'runs/trigger':
        return triggerLikeRun(visit, id)
      case 'inbox/answer':
        return answerInbox(visit, id)
      case 'tokens/complete':
        return completeToken(visit, id)
      case 'tokens/withdraw':
        return changeAsked(visit, id, 'withdraw')
      case 'tokens/extend':
        return changeAsked(visit, id, 'extend')
      case 'tokens/reassign':
        return changeAsked(visit, id, 'reassign')
      case 'many':
        return actOnMany(visit)
      case 'tasks':
        return triggerTask(visit)
      case 'queues':
        return setQueue(visit)
      default:
        throw notFound()
    }
  }

  #page(content: PageContent, status: number, visit?: Visit): Response {
    const { basePath, isReadOnly, authorize } = this.#settings
    const token = authorize === undefined && visit !== undefined ? { formToken: visit.session.formToken } : {}
    const text = documentOf(content, { base: basePath, now: this.#inside.host.now(), isReadOnly, ...token })
    return secured(new Response(text, { status, headers: { 'content-type': 'text/html; charset=utf-8' } }))
  }

  #problem(request: Request, thrown: unknown): Response {
    const refused = refusedOf(thrown)
    if (refused.status === 500 && refused !== thrown) this.#inside.report(thrown)
    const answer = this.#page(
      problemPage(this.#settings.basePath, { message: refused.message, advice: refused.advice }),
      refused.status,
    )
    return request.method === 'HEAD' ? new Response(null, answer) : answer
  }
}

interface Place {
  readonly section: string
  readonly id: string | undefined
  readonly action: string | undefined
}

/** The page for a thrown value. A fault of the engine is shown without its details. */
function refusedOf(thrown: unknown): Refused {
  if (thrown instanceof Refused) return thrown
  if (thrown instanceof Refusal) return new Refused(thrown.status, thrown.message)
  if (thrown instanceof StorageUnavailableError)
    return new Refused(503, 'The storage does not answer.', 'Load the page again in a while.')
  switch (thrown instanceof WaitpointError ? thrown.code : undefined) {
    case 'ERR_RUN_NOT_FOUND':
      return new Refused(
        404,
        'There is no such run.',
        'It may have been deleted: ended runs are kept for a while only.',
      )
    case 'ERR_TOKEN_NOT_FOUND':
      return new Refused(
        404,
        'There is no such token.',
        'It may have been deleted: settled tokens are kept for a while only.',
      )
    case 'ERR_TASK_NOT_FOUND':
      return new Refused(422, 'This engine does not know the task of the run.')
    case 'ERR_STORAGE_UNAVAILABLE':
      return new Refused(503, 'The storage does not answer.', 'Load the page again in a while.')
    case 'ERR_ENGINE_CLOSED':
      return new Refused(503, 'The engine is closed.')
    default:
      return new Refused(500, 'Something went wrong.', 'The engine has reported it as an error event.')
  }
}

function notFound(): Refused {
  return new Refused(404, 'There is no such page.')
}

/** The parts of the path below the base path. */
function segmentsOf({ pathname }: URL, base: string): readonly string[] {
  if (pathname !== base && !pathname.startsWith(`${base}/`)) throw notFound()
  try {
    return pathname
      .slice(base.length)
      .split('/')
      .filter((part) => part !== '')
      .map(decodeURIComponent)
  } catch {
    throw new Refused(400, 'This address cannot be read.')
  }
}

/** Whether a person follows a link. Browsers that only look ahead must not use it up. */
function isFollowed({ method, headers }: Request): boolean {
  return method === 'GET' && !(headers.get('sec-purpose') ?? '').includes('prefetch')
}

/** The address of a page of the console. It is the one that was given, if that is one. */
function ownPath(given: string, base: string): string {
  const next = given.length > LONGEST_NEXT ? '' : given
  const url = URL.canParse(next, 'http://console.invalid')
    ? new URL(next, 'http://console.invalid')
    : undefined
  const isOwn = url?.origin === 'http://console.invalid' && url.pathname.startsWith(`${base}/`)
  return isOwn && !url.pathname.startsWith('//') ? url.pathname + url.search : `${base}/runs`
}

function redirect(location: string): Response {
  return secured(new Response(null, { status: 303, headers: { location } }))
}

function secured(answer: Response): Response {
  for (const [name, value] of Object.entries(SECURITY_HEADERS)) answer.headers.set(name, value)
  return answer
}

function fileAnswer(
  url: URL,
  { type, content, version }: { readonly type: string; readonly content: string; readonly version: string },
): Response {
  const answer = secured(new Response(content, { headers: { 'content-type': type } }))
  if (url.searchParams.get('v') === version)
    answer.headers.set('cache-control', 'public, max-age=31536000, immutable')
  return answer
}
