import type { Person } from '../api/question.ts'
import type { Engine } from '../core/engine.ts'
import type { Inside, Turns } from '../core/inside.ts'
import { html, type Html } from '../primitives/html.ts'
import type { LastDay } from './last-day.ts'
import type { ConsoleAction, ConsoleSettings } from './options.ts'
import type { Session } from './session.ts'
import { RUN_ID_START } from '../contract/id-prefixes.ts'
import { short } from './values.ts'

/** One request for a page, and what its page is made of. */
export interface Visit {
  readonly engine: Engine
  readonly inside: Inside
  /** For forms that may be large. */
  readonly turns: Turns
  readonly lastDay: LastDay
  readonly request: Request
  readonly url: URL
  readonly now: number
  readonly session: Session
  readonly settings: ConsoleSettings
}

/** Whether the visitor may do something. */
export async function may(
  { request, settings }: Pick<Visit, 'request' | 'settings'>,
  action: ConsoleAction,
): Promise<boolean> {
  if (action !== 'read' && settings.isReadOnly) return false
  if (settings.authorize === undefined) return true
  // Nothing but `true` lets a visitor in, whatever code without types answers.
  const answer: unknown = await settings.authorize(request.clone(), action)
  return answer === true
}

/** The person that uses the console, as the application knows them. */
export function personOf({ request, settings }: Visit): Promise<Person | undefined> {
  return settings.user(request.clone())
}

/** An address of the console. */
export function linkTo(
  { settings }: Visit,
  path: string,
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => (pair[1] ?? '') !== '')
  const search = new URLSearchParams(given).toString()
  return `${settings.basePath}/${path}${search === '' ? '' : `?${search}`}`
}

/** The address of the page of a run or a token. */
export function placeOf(visit: Visit, kind: 'runs' | 'tokens', id: string): string {
  return linkTo(visit, `${kind}/${encodeURIComponent(id)}`)
}

/** The address that tells of changes: of a run, or of all runs and tokens. */
export function eventsOf(visit: Visit, runId?: string): string {
  return linkTo(visit, 'events', { of: runId ?? 'runs' })
}

/** The field that ties a form to the browser that it was sent to. */
export function formToken({ session }: Visit): Html {
  return html`<input type="hidden" name="_token" value="${session.formToken}" />`
}

/** One filter of the address. */
export function filterOf({ url }: Visit, name: string): string | undefined {
  const value = url.searchParams.get(name)?.trim()
  return value === '' ? undefined : value
}

/** The ids in a sentence as links. */
export function linkedIds(visit: Visit, sentence: string): readonly (Html | string)[] {
  return sentence.split(/\b((?:run|waitpoint)_\w+)/).map((text, at) => {
    if (at % 2 === 0) return text
    const kind = text.startsWith(RUN_ID_START) ? 'runs' : 'tokens'
    return html`<a class="id" href="${placeOf(visit, kind, text)}">${text}</a>`
  })
}

/** Tags that lead to the list of what has them. */
export function tagLinks(
  visit: Visit,
  section: 'runs' | 'tokens',
  tags: readonly string[],
): Html | undefined {
  if (tags.length === 0) return undefined
  return html`<span class="tags"
    >${tags.map(
      (tag) =>
        html`<a
          class="tag"
          href="${linkTo(visit, section, { tag, ...(section === 'tokens' ? { status: 'all' } : {}) })}"
          >${short(tag)}</a
        >`,
    )}</span
  >`
}
