import type { RunCounts } from '../../api/counts.ts'
import type { RunRecord, TokenRecord } from '../../contract/records.ts'
import { isFinal, RUN_STATUSES } from '../../contract/run-states.ts'
import { defined } from '../../primitives/defined.ts'
import { choiceOf, countLinks, cursorsOf, filterOfRuns, pageLinks, sinceOf, soughtOf } from '../filters.ts'
import { html, type Html } from '../../primitives/html.ts'
import type { PageContent } from '../page.ts'
import { familySizes, MOST_BELOW, openWaits, runRecord, runRecords, type RunsPage } from '../records.ts'
import { RUN_WORDS, searchField } from '../search.ts'
import { badge, count, duration, moment, short, table } from '../values.ts'
import { eventsOf, filterOf, linkTo, placeOf, tagLinks, type Visit } from '../visit.ts'
import { manyParts } from './many.ts'
import { strip } from './strip.ts'
import { summaryOf } from './summary.ts'

/** So many tasks are proposed to a search. */
const MOST_PROPOSED = 100

/** *Runs*: a list with filters. */
export async function runsPage(visit: Visit): Promise<PageContent> {
  const { inside } = visit
  const [page, counts, many, day] = await Promise.all([
    pageOfRuns(visit),
    countsOfRuns(visit),
    manyParts(visit),
    hasNoFilter(visit) ? visit.lastDay.figures(visit.now) : undefined,
  ])
  const isFiltered = !hasNoFilter(visit) && filterOf(visit, 'id') === undefined && page.records.length > 0
  const { records, lookedThrough } = page
  const [waits, sizes] = await Promise.all([openWaits(inside, records), familySizes(inside, records)])
  const list =
    records.length === 0
      ? nothing(visit, page)
      : table(
          ['Run', 'Status', 'What it says', 'Tags', 'Children', 'Created', 'Took'],
          records.map((record) =>
            rowOf(visit, {
              record,
              waits: waits.get(record.id) ?? [],
              below: sizes.get(record.id) ?? 0,
              isChoice: many.bar !== undefined,
            }),
          ),
          'list',
        )
  return {
    title: 'Runs',
    section: 'runs',
    events: eventsOf(visit),
    body: html`<h1>Runs</h1>
      <div id="strip" data-live>
        ${day !== undefined && counts !== undefined && strip(visit, day, counts)}
      </div>
      ${searchField(visit, RUN_WORDS, {
        placeholder:
          'status:failed  tag:invoice  task:import  since:2h  payload.customer:42  "words of an error"',
        proposed: [
          ...RUN_STATUSES.map((status) => `status:${status.toLowerCase()}`),
          ...inside.tasks.ids.slice(0, MOST_PROPOSED).map((id) => `task:${id}`),
          'since:1h',
          'since:24h',
          'show:all',
        ],
      })}
      <div id="counts" data-live>
        ${counts !== undefined && countLinks(visit, 'runs', { counts, current: choiceOf(visit, 'status', RUN_STATUSES) })}
      </div>
      <form class="list" method="get" action="${linkTo(visit, 'many')}">
        <div id="list" data-live>
          ${list}${
            lookedThrough !== undefined &&
            html`<p class="note">
              Looked through ${count(lookedThrough)} ${lookedThrough === 1 ? 'run' : 'runs'}.
            </p>`
          }${
            hasNoFilter(visit) &&
            html`<p class="note">
              Runs without a parent. <a href="${linkTo(visit, 'runs', { show: 'all' })}">Show children too</a>
            </p>`
          }
        </div>
        ${many.bar}
      </form>
      ${many.all !== undefined && isFiltered && html`<p class="note">${many.all}</p>`}
      ${pageLinks(visit, 'runs', page)}`,
  }
}

async function pageOfRuns(visit: Visit): Promise<RunsPage> {
  const { inside } = visit
  const id = filterOf(visit, 'id')
  if (id !== undefined) {
    const found = await runRecord(inside, id).catch(() => undefined)
    return { records: found === undefined ? [] : [found] }
  }
  const filter = filterOfRuns(visit)
  return runRecords(inside, hasNoFilter(visit) ? { ...filter, isRoot: true } : filter, cursorsOf(visit))
}

/** Then only the roots of trees are listed: a run with many children would fill the page. */
function hasNoFilter({ url: { searchParams } }: Visit): boolean {
  return [...searchParams].every(([name, value]) => value === '' || name === 'after' || name === 'before')
}

async function countsOfRuns(visit: Visit): Promise<RunCounts | undefined> {
  const { text, members = [] } = soughtOf(visit) ?? {}
  // These are not counted by.
  if (['id', 'root'].some((name) => filterOf(visit, name) !== undefined)) return undefined
  if (text !== undefined || members.length > 0) return undefined
  const given = { taskIdentifier: filterOf(visit, 'task'), tag: filterOf(visit, 'tag') }
  const also = { queue: filterOf(visit, 'queue'), from: sinceOf(visit) }
  return visit.engine.runs.counts(defined({ ...given, ...also }))
}

interface ListedRun {
  readonly record: RunRecord
  readonly waits: readonly TokenRecord[]
  /** How many runs there are below it. */
  readonly below: number
  /** Whether it can be chosen, to do something to it. */
  readonly isChoice: boolean
}

function rowOf(visit: Visit, { record, waits, below, isChoice }: ListedRun): Html {
  const { now } = visit
  const { id, taskId, status, tags, createdAt } = record
  return html`<tr id="row-${id}">
    <td>
      ${isChoice && html`<input type="checkbox" name="run" value="${id}" data-pick aria-label="Select ${short(id)}" />`}<a
        class="name"
        href="${placeOf(visit, 'runs', id)}"
        ${!isFinal(status) && html`data-act="c"`}
        >${short(taskId)}</a
      ><span class="id">${short(id)}</span>
    </td>
    <td>${badge(status)}</td>
    <td class="says ${record.errorJson !== undefined && 'ink'}">${summaryOf(record, waits, now)}</td>
    <td>${tagLinks(visit, 'runs', tags)}</td>
    <td class="num" ${below > 0 && html`data-label="children"`}>${below > 0 && childrenOf(below)}</td>
    <td class="num" data-label="created">${moment(createdAt, now)}</td>
    <td class="num" data-label="took">${tookOf(record)}</td>
  </tr>`
}

function childrenOf(below: number): string {
  return below > MOST_BELOW ? `${count(MOST_BELOW)}+` : count(below)
}

/** From the first start to the end. */
export function tookOf({ startedAt, finishedAt, status }: RunRecord): Html | string {
  if (startedAt === undefined || finishedAt === undefined || !isFinal(status))
    return html`<span class="none">–</span>`
  return duration(finishedAt - startedAt)
}

function nothing(visit: Visit, { lookedThrough = 0, next }: RunsPage): Html {
  // Older ones may fit: a bounded look is not all.
  if (next !== undefined)
    return html`<div class="empty">
      <h2>None of these ${count(lookedThrough)} runs fits.</h2>
      <p>Older ones may: <b>Older →</b> looks through the next.</p>
    </div>`
  if (visit.url.search !== '')
    return html`<div class="empty">
      <h2>No run fits these filters.</h2>
      <a href="${linkTo(visit, 'runs')}">Show all runs</a>
    </div>`
  const [task = 'my-task'] = visit.inside.tasks.ids
  return html`<div class="empty">
    <h2>There are no runs yet.</h2>
    <p>Trigger one, and it appears here:</p>
    <pre tabindex="0" role="region" aria-label="Example">
await engine.tasks.trigger(${JSON.stringify(task)}, payload)</pre>
  </div>`
}
