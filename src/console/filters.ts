import { RUN_STATUSES } from '../contract/run-states.ts'
import type { StatusCount } from '../contract/storage.ts'
import { parseDuration } from '../primitives/duration.ts'
import { html, type Html } from '../primitives/html.ts'
import type { Cursors, RunsFilter } from './records.ts'
import { Refused } from './refused.ts'
import { isMemberName, type Sought } from './sought.ts'
import { badge, bounded } from './values.ts'
import { filterOf, linkTo, type Visit } from './visit.ts'

/** How many there are of each status, as links that filter by it. */
export function countLinks(
  visit: Visit,
  section: string,
  {
    counts,
    current,
  }: {
    readonly counts: Readonly<Record<string, StatusCount>>
    readonly current: string | undefined
  },
): Html | undefined {
  const filters = filtersOf(visit)
  const shown = Object.entries(counts).filter(([status, { count }]) => count > 0 || status === current)
  if (shown.length === 0) return undefined
  return html`<nav class="counts" aria-label="Statuses">
    ${shown.map(
      ([status, number]) =>
        html`<a
          href="${linkTo(visit, section, { ...filters, status })}"
          ${status === current && html`aria-current="true"`}
          >${badge(status)} <b>${bounded(number)}</b></a
        >`,
    )}
  </nav>`
}

/** What the address says of a list, but for the place in it. */
export function filtersOf({ url }: Visit): Readonly<Record<string, string>> {
  const { after: _after, before: _before, ...filters } = Object.fromEntries(url.searchParams)
  return filters
}

/** Links to the pages before and after this one, which keep the filters. */
export function pageLinks(
  visit: Visit,
  section: string,
  { next, previous }: { readonly next?: string | undefined; readonly previous?: string | undefined },
): Html | undefined {
  const { after, before } = Object.fromEntries(visit.url.searchParams)
  const filters = filtersOf(visit)
  const isFirst = after === undefined && before === undefined
  if (isFirst && next === undefined) return undefined
  return html`<nav class="pages" aria-label="Pages of the list">
    ${!isFirst && html`<a href="${linkTo(visit, section, filters)}">Newest</a>`}${
      previous !== undefined &&
      html`<a rel="prev" href="${linkTo(visit, section, { ...filters, before: previous })}">← Newer</a>`
    }${next !== undefined && html`<a rel="next" href="${linkTo(visit, section, { ...filters, after: next })}">Older →</a>`}
  </nav>`
}

/** The place in the list that the address names. */
export function cursorsOf(visit: Visit): Cursors {
  const after = filterOf(visit, 'after')
  return after === undefined ? { before: filterOf(visit, 'before') } : { after }
}

/** One of the known values, if there is one: `failed` is `FAILED`. */
export function choiceOf<Value extends string>(
  visit: Visit,
  name: string,
  values: readonly Value[],
): Value | undefined {
  const value = filterOf(visit, name)
  const meant = value?.replace(/[- ]/g, '_').toLowerCase()
  const known = values.find((each) => each.toLowerCase() === meant)
  if (value !== undefined && known === undefined)
    throw new Refused(400, `There is no ${name} "${value}".`, `Use one of ${values.join(', ')}.`)
  return known
}

/** The instant that a list begins at. */
export function sinceOf(visit: Visit): number | undefined {
  const since = filterOf(visit, 'since')
  if (since === undefined) return undefined
  try {
    return visit.now - parseDuration(since, 'since')
  } catch {
    throw new Refused(400, `Nothing is since "${since}".`, 'Write it like 30m, 2h or 7d.')
  }
}

/** The runs that the address asks for. */
export function filterOfRuns(visit: Visit): RunsFilter {
  const status = choiceOf(visit, 'status', RUN_STATUSES)
  const [task, tag] = [filterOf(visit, 'task'), filterOf(visit, 'tag')]
  return {
    status: status && [status],
    taskIds: task === undefined ? undefined : [task],
    tags: tag === undefined ? undefined : [tag],
    from: sinceOf(visit),
    root: filterOf(visit, 'root'),
    sought: soughtOf(visit),
  }
}

/** What runs are looked through for, if the address asks for any of it. */
export function soughtOf(visit: Visit): Sought | undefined {
  const [queue, text] = [filterOf(visit, 'queue'), filterOf(visit, 'text')]
  const members = Object.entries(filtersOf(visit)).filter(([name]) => isMemberName(name))
  return queue === undefined && text === undefined && members.length === 0
    ? undefined
    : { queue, text, members }
}
