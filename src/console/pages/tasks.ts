import type { RunRecord } from '../../contract/records.ts'
import type { TaskDefinition } from '../../api/task-definition.ts'
import { html, type Html } from '../../primitives/html.ts'
import type { PageContent } from '../page.ts'
import { durationsOf, quantile } from '../outcome.ts'
import { newestOfTask } from '../records.ts'
import { count, duration, short, table } from '../values.ts'
import { eventsOf, linkTo, may, type Visit } from '../visit.ts'
import { newestRunCell } from './newest-run.ts'
import { IN_A_SPARK, spark } from './spark.ts'
import { payloadForm, type WrongPayload } from './payload-form.ts'

/** So many tasks are shown. */
const MOST_TASKS = 100
/** The runs of so many tasks are read in one turn of the event loop. */
const AT_ONCE = 8
/** So much of what a task says of itself. */
const MOST_OF_A_DESCRIPTION = 300
/** A form begins with the payload of the newest run, if it has no more characters: there is a form for each task. */
const MOST_FILLED_IN = 2_000

/** A payload of a task that starts no run. */
export interface WrongTaskPayload extends WrongPayload {
  readonly taskId: string
}

/** *Tasks*: those of this engine, how the newest runs of each went, and a form that starts a run. */
export async function tasksPage(visit: Visit, wrong?: WrongTaskPayload): Promise<PageContent> {
  const { tasks } = visit.inside
  const all = tasks.ids
    .toSorted()
    .map((id) => tasks.get(id))
    .filter((task) => task !== undefined)
  const mayTrigger = await may(visit, 'trigger')
  const turns = visit.inside.turns(AT_ONCE)
  const rows = await Promise.all(
    all.slice(0, MOST_TASKS).map(async (task) => {
      await turns.next()
      const shown = { task, newest: await newestOfTask(visit.inside, task.id, IN_A_SPARK) }
      const refused = wrong?.taskId === task.id ? wrong : undefined
      return rowOf(visit, shown, mayTrigger && formOf(visit, shown, refused))
    }),
  )
  const columns = ['Task', `Last ${String(IN_A_SPARK)} runs`, 'Schedule', 'Queue', 'Newest run']
  return {
    title: 'Tasks',
    section: 'tasks',
    events: eventsOf(visit),
    body: html`<h1>Tasks</h1>
      <div id="tasks" data-live>
        ${rows.length === 0 ? nothing() : table(mayTrigger ? [...columns, 'Run'] : columns, rows)}
        ${all.length > MOST_TASKS && html`<p class="note">${count(all.length - MOST_TASKS)} more tasks are not shown.</p>`}
      </div>`,
  }
}

interface ShownTask {
  readonly task: TaskDefinition
  readonly newest: readonly RunRecord[]
}

function rowOf(visit: Visit, { task, newest }: ShownTask, form: Html | false): Html {
  const { id, queue, schedule, options } = task
  const took = durationsOf(newest)
  return html`<tr id="row-${id}">
    <td>
      <a class="name" href="${linkTo(visit, 'runs', { task: id })}">${short(id)}</a>
      ${options.description !== undefined && html`<p class="soft">${short(options.description, MOST_OF_A_DESCRIPTION)}</p>`}
    </td>
    <td data-label="last runs">
      ${spark(newest)}${took.length > 0 && html`<span class="soft">p50 ${duration(quantile(took, 0.5))}</span>`}
    </td>
    <td data-label="schedule">
      ${
        schedule?.cron === undefined
          ? html`<span class="none">–</span>`
          : html`<code>${short(schedule.cron)}</code> <span class="id">${short(schedule.timezone)}</span>`
      }
    </td>
    <td data-label="queue"><a class="name" href="${linkTo(visit, 'runs', { queue })}">${short(queue)}</a></td>
    ${newestRunCell(visit, newest[0])} ${form !== false && html`<td>${form}</td>`}
  </tr>`
}

function formOf(
  visit: Visit,
  { task: { id }, newest: [newest] }: ShownTask,
  wrong: WrongPayload | undefined,
): Html {
  const { payloadJson = '' } = newest ?? {}
  const form = payloadForm(visit, {
    action: linkTo(visit, 'tasks', { task: id }),
    label: 'Payload, in JSON. Empty: none.',
    button: 'Start a run',
    payloadJson: payloadJson.length <= MOST_FILLED_IN ? payloadJson : '',
    wrong,
  })
  return html`<details class="sure" id="run ${id}" ${wrong !== undefined && html`open`}>
    <summary aria-label="Run task ${short(id)}">Run…</summary>
    ${form}
  </details>`
}

function nothing(): Html {
  return html`<div class="empty">
    <h2>This engine has no tasks.</h2>
    <p>
      The console of an engine that has them starts runs here. In this one, the page of a run starts another
      one.
    </p>
  </div>`
}
