import type { TaskSchedule } from '../../api/schedule.ts'
import type { TimelineEntry } from '../../api/timeline.ts'
import type { RunRecord } from '../../contract/records.ts'
import { html, type Html } from '../../primitives/html.ts'
import type { PageContent } from '../page.ts'
import { newestOfTask } from '../records.ts'
import { newestRunCell } from './newest-run.ts'
import { count, moment, short, table } from '../values.ts'
import { eventsOf, linkedIds, linkTo, type Visit } from '../visit.ts'

/** So many schedules are shown. */
const MOST_SCHEDULES = 100

/** So many characters of a sentence are shown: tags may be long. */
const MOST_OF_A_SENTENCE = 300
/** So much of what is due next is shown. */
const MOST_DUE = 20

/**
 * *Schedules*: those of the tasks of this engine and those that were created, the next one that is due first; and what else
 * is due on the storage.
 */
export async function schedulesPage(visit: Visit): Promise<PageContent> {
  const all = await visit.engine.schedules.list()
  const sorted = all.toSorted((one, other) => dueAt(one) - dueAt(other))
  const due = (await visit.engine.timeline({ limit: MOST_DUE })).filter(({ kind }) => kind !== 'schedule')
  const rows = await Promise.all(
    sorted
      .slice(0, MOST_SCHEDULES)
      .map(async (schedule) =>
        rowOf(visit, schedule, (await newestOfTask(visit.inside, schedule.taskId, 1))[0]),
      ),
  )
  return {
    title: 'Schedules',
    section: 'schedules',
    events: eventsOf(visit),
    body: html`<h1>Schedules</h1>
      <div id="schedules" data-live>
        ${
          rows.length === 0
            ? nothing(visit)
            : table(['Task', 'Pattern', 'Next', 'Newest run of the task', 'For missed instants'], rows)
        }
        ${
          due.length > 0 &&
          html`<h2>Due next</h2>
            ${table(
              ['When', 'What'],
              due.map((entry) => dueRow(visit, entry)),
            )}`
        }
        ${all.length > MOST_SCHEDULES && html`<p class="note">${count(all.length - MOST_SCHEDULES)} more schedules are not shown.</p>`}
      </div>`,
  }
}

/** One that is not active comes last. */
function dueAt({ nextAt }: TaskSchedule): number {
  return nextAt?.getTime() ?? Number.MAX_SAFE_INTEGER
}

const CAUGHT_UP = { none: 'no run', last: 'a run for the last one', all: 'a run for each' } as const

function rowOf(
  visit: Visit,
  { id, taskId, cron, timezone, catchUp, nextAt, externalId }: TaskSchedule,
  newest: RunRecord | undefined,
): Html {
  return html`<tr id="row-${id}">
    <td>
      <a class="name" href="${linkTo(visit, 'runs', { task: taskId })}">${short(taskId)}</a>
      ${externalId !== undefined && html`<span class="id">${short(externalId)}</span>`}
    </td>
    <td><code>${short(cron)}</code> <span class="id">${short(timezone)}</span></td>
    <td class="num" data-label="next">
      ${nextAt === undefined ? html`<span class="none">not active</span>` : moment(nextAt.getTime(), visit.now)}
    </td>
    ${newestRunCell(visit, newest)}
    <td data-label="missed">${CAUGHT_UP[catchUp]}</td>
  </tr>`
}

function dueRow(visit: Visit, { at, sentence }: TimelineEntry): Html {
  return html`<tr>
    <td class="num">${moment(at.getTime(), visit.now)}</td>
    <td data-label="what">${linkedIds(visit, short(sentence, MOST_OF_A_SENTENCE))}</td>
  </tr>`
}

function nothing({ inside }: Visit): Html {
  if (inside.tasks.ids.length === 0)
    return html`<div class="empty">
      <h2>This engine has no tasks.</h2>
      <p>Schedules are in the code of tasks: the console of an engine that has the tasks shows them.</p>
    </div>`
  return html`<div class="empty">
    <h2>No task has a schedule.</h2>
    <p>A task gets one like this, and appears here:</p>
    <pre tabindex="0" role="region" aria-label="Example">
task({ id: 'report', schedule: { cron: '30 9 * * MON-FRI', timezone: 'Europe/Berlin' }, run })</pre>
  </div>`
}
