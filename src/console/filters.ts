import { RUN_STATUSES } from '../contract/run-states.ts'
import type { StatusCount } from '../contract/storage.ts'
import { parseDuration } from '../primitives/duration.ts'
import { exactly, html, type Html } from '../primitives/html.ts'
import type { Cursors, RunsFilter } from './records.ts'
import { Refused } from './refused.ts'
import { badge, count } from './values.ts'
import { filterOf, linkTo, type Visit } from './visit.ts'

/** A field of the filters above a list. */
export interface FilterField {
  readonly name: string
  readonly label: string
  /** The values to choose from. None: any text. */
  readonly values?: readonly string[]
  /** The value that counts when none is chosen. None: no filter. */
  readonly byDefault?: string
  readonly placeholder?: string
  /** Where `/` leads to. */
  readonly isSearch?: boolean
}

/** The filters above a list: a form whose fields are in the address of the page. */
export function filterForm(visit: Visit, section: string, fields: readonly FilterField[]): Html {
  return html`<form class="filters" method="get" action="${linkTo(visit, section)}" role="search">
    ${fields.map((field) => html`<label>${field.label}${inputOf(visit, field)}</label>`)}
    <div class="actions">
      <button class="main">Show</button><a class="button" href="${linkTo(visit, section)}">Reset</a>
    </div>
  </form>`
}

function inputOf(visit: Visit, field: FilterField): Html {
  const { name, values, byDefault, placeholder, isSearch = false } = field
  const value = filterOf(visit, name) ?? byDefault ?? ''
  if (values === undefined)
    return html`<input
      name="${name}"
      value="${exactly(value)}"
      ${placeholder !== undefined && html`placeholder="${placeholder}"`}
      ${isSearch && html`data-search`}
      autocomplete="off"
      spellcheck="false"
    />`
  const choices = byDefault === undefined ? ['', ...values] : values
  return html`<select name="${name}">
    ${choices.map(
      (each) =>
        html`<option value="${each}" ${each === value && html`selected`}>
          ${each === '' ? 'all' : each}
        </option>`,
    )}
  </select>`
}

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
      ([status, { count: number, isMore }]) =>
        html`<a
          href="${linkTo(visit, section, { ...filters, status })}"
          ${status === current && html`aria-current="true"`}
          >${badge(status)} <b>${count(number)}${isMore && '+'}</b></a
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

/** One of the known values, if there is one. */
export function choiceOf<Value extends string>(
  visit: Visit,
  name: string,
  values: readonly Value[],
): Value | undefined {
  const value = filterOf(visit, name)
  const known = values.find((each) => each === value)
  if (value !== undefined && known === undefined)
    throw new Refused(400, `There is no ${name} "${value}".`, `Use one of ${values.join(', ')}.`)
  return known
}

/** Since when, for a period until now. */
export function sinceOf(visit: Visit): number | undefined {
  const period = filterOf(visit, 'period')
  if (period === undefined) return undefined
  try {
    return visit.now - parseDuration(period, 'period')
  } catch {
    throw new Refused(400, `"${period}" is no period.`, 'Write it like 30m, 2h or 7d.')
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
    queue: filterOf(visit, 'queue'),
    from: sinceOf(visit),
    root: filterOf(visit, 'root'),
  }
}
