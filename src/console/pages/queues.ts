import type { RunStatus } from '../../contract/records.ts'
import { rateInForce } from '../../contract/queue-rates.ts'
import type { QueueSettings, StatusCounts } from '../../contract/storage.ts'
import { rateText } from '../../api/queue.ts'
import { html, type Html } from '../../primitives/html.ts'
import type { PageContent } from '../page.ts'
import { bounded, count, short, table } from '../values.ts'
import { eventsOf, formToken, linkTo, may, type Visit } from '../visit.ts'

/** So many queues are shown. */
const MOST_QUEUES = 50
/** The queues of so many of the newest runs in line are found. */
const MOST_IN_LINE = 200
/** So many runs are looked at for all counts together, because no storage has an index of queues. */
const MOST_COUNTED = 20_000

const STATUSES = ['EXECUTING', 'QUEUED', 'DELAYED'] as const satisfies readonly RunStatus[]

interface FoundQueue {
  readonly name: string
  /** What is set of it while engines run. */
  readonly set: QueueSettings | undefined
  /** It has a limit, or a run in line. The others are shown if their count finds one. */
  readonly isShown: boolean
}

interface CountedQueue extends Pick<FoundQueue, 'name' | 'set'> {
  readonly counts: StatusCounts<string>
}

/** *Queues*: those that have a limit, and those in which runs are in line; and why a change of one was refused. */
export async function queuesPage(visit: Visit, problem?: string): Promise<PageContent> {
  const found = await queuesOf(visit)
  const looked = found.slice(0, MOST_QUEUES)
  const rest = found.slice(MOST_QUEUES).filter(({ isShown }) => isShown).length
  const atMost = Math.min(10_000, Math.floor(MOST_COUNTED / (STATUSES.length * Math.max(1, looked.length))))
  const counted = await Promise.all(looked.map((queue) => countedQueue(visit, queue, atMost)))
  const queues = counted.filter((queue) => queue !== undefined)
  const mayChange = visit.inside.host.storage.queues !== undefined && (await may(visit, 'queue'))
  const columns = ['Queue', 'Limit', 'Executing', 'In line', 'Delayed']
  return {
    title: 'Queues',
    section: 'queues',
    events: eventsOf(visit),
    body: html`<h1>Queues</h1>
      ${problem !== undefined && html`<p class="told bad" role="alert">${problem}</p>`}
      <div id="queues" data-live>
        ${
          queues.length === 0
            ? nothing(visit)
            : table(
                mayChange ? [...columns, 'Change'] : columns,
                queues.map((queue) => rowOf(visit, queue, mayChange)),
              )
        }
        ${rest > 0 && html`<p class="note">${count(rest)} more queues are not shown.</p>`}
        ${queues.length > 0 && html`<p class="note">${noteOf(queues, atMost)}</p>`}
      </div>`,
  }
}

/** Those with a limit, those of which something is set, those of the newest runs in line, and those of the other tasks of this engine. */
async function queuesOf({ inside }: Visit): Promise<readonly FoundQueue[]> {
  const { queueLimits, queueRates, definitions } = inside.tasks
  const { storage } = inside.host
  const [{ records }, set = []] = await Promise.all([
    inside.read(() => storage.runs.list({ status: ['QUEUED'] }, { limit: MOST_IN_LINE })),
    inside.read(() => storage.queues?.list()),
  ])
  const settings = new Map(set.map((one) => [one.name, one]))
  const inLine = records.map(({ queue }) => queue)
  const shown = new Set(
    [[...queueLimits.keys(), ...queueRates.keys(), ...settings.keys()], inLine].flatMap((names) =>
      names.toSorted(),
    ),
  )
  const all = new Set([...shown, ...definitions.map(({ queue }) => queue).toSorted()])
  return [...all].map((name) => ({ name, set: settings.get(name), isShown: shown.has(name) }))
}

async function countedQueue(
  { inside }: Visit,
  { name, set, isShown }: FoundQueue,
  atMost: number,
): Promise<CountedQueue | undefined> {
  const counts = await inside.runs.count({ queue: name, status: STATUSES }, atMost)
  return isShown || (counts['QUEUED']?.count ?? 0) > 0 ? { name, set, counts } : undefined
}

function rowOf(visit: Visit, { name, set, counts }: CountedQueue, mayChange: boolean): Html {
  const declared = visit.inside.tasks.queueLimits.get(name)
  const link = (status: RunStatus): Html => {
    const text = bounded(counts[status] ?? { count: 0, isMore: false })
    const label = `${text} ${status} in queue ${short(name)}`
    return html`<a href="${linkTo(visit, 'runs', { queue: name, status })}" aria-label="${label}">${text}</a>`
  }
  return html`<tr>
    <td><a class="name" href="${linkTo(visit, 'runs', { queue: name })}">${short(name)}</a></td>
    <td class="num" data-label="limit">${limitShown(visit, name, set)}</td>
    <td class="num" data-label="executing">${link('EXECUTING')}</td>
    <td class="num" data-label="in line">${link('QUEUED')}</td>
    <td class="num" data-label="delayed">${link('DELAYED')}</td>
    ${mayChange && html`<td>${changesOf(visit, { name, set, declared })}</td>`}
  </tr>`
}

/** The limits that are in force for a queue: what is set of it, else what its tasks say. */
export function limitShown({ inside }: Visit, name: string, set: QueueSettings | undefined): string {
  const { queueLimits, queueRates, definitions } = inside.tasks
  const isKnown = definitions.some(({ queue }) => queue === name)
  const limit = set?.limit ?? queueLimits.get(name) ?? (isKnown ? 'none' : 'not known here')
  const rate = rateInForce(set ?? {}, queueRates.get(name))
  const parts = [
    `${limit}${set?.limit === undefined ? '' : ' (set)'}`,
    ...(rate === undefined ? [] : [`${rateText(rate)}${set?.rate === undefined ? '' : ' (set)'}`]),
    ...(set?.isPaused === true ? ['paused'] : []),
  ]
  return parts.join(', ')
}

interface ChangeableQueue extends Pick<FoundQueue, 'name' | 'set'> {
  /** The limit of its tasks. */
  readonly declared: number | undefined
}

/** Forms of their own, so that Enter in the field of the limit sets the limit. */
function changesOf(visit: Visit, { name, set, declared }: ChangeableQueue): Html {
  const form = (fields: Html): Html =>
    html`<form method="post" action="${linkTo(visit, 'queues', { queue: name })}">
      ${formToken(visit)}${fields}
    </form>`
  const button = (change: string, label: string): Html =>
    html`<button class="main" name="change" value="${change}">${label}</button>`
  return html`<details class="sure" id="change ${name}">
    <summary aria-label="Change queue ${short(name)}">Change…</summary>
    ${form(
      set?.isPaused === true
        ? button('resume', 'Resume: give its runs slots again')
        : button('pause', 'Pause: give its runs no slots'),
    )}
    ${form(
      html`<label>
          Runs that may execute at once<input
            name="limit"
            inputmode="numeric"
            required
            pattern="[0-9]+"
            value="${set?.limit ?? declared ?? ''}"
          />
        </label>
        ${button('set-limit', 'Set the limit')}`,
    )}
    ${
      set?.limit !== undefined &&
      form(
        button(
          'reset-limit',
          `Back to the limit of its tasks${declared === undefined ? '' : `: ${declared}`}`,
        ),
      )
    }
  </details>`
}

function noteOf(queues: readonly CountedQueue[], atMost: number): string {
  const isBounded = queues.some(({ counts }) => STATUSES.some((status) => counts[status]?.isMore === true))
  const bound = isBounded
    ? ` A number with + is what was found among the newest ${count(atMost)} runs of its status.`
    : ''
  return `A limit counts the runs that execute, over all engines; under concurrency keys for each key on its own. A rate counts the runs that start.${bound}`
}

function nothing({ inside }: Visit): Html {
  if (inside.tasks.ids.length === 0)
    return html`<div class="empty">
      <h2>No run is in line.</h2>
      <p>
        The limits of queues are in the code of tasks, and this engine has none. Queues appear here while runs
        are in line.
      </p>
    </div>`
  return html`<div class="empty">
    <h2>No queue has a limit, and no run is in line.</h2>
    <p>A task gets a queue with a limit like this, and appears here:</p>
    <pre tabindex="0" role="region" aria-label="Example">
task({ id: 'send-mail', queue: { name: 'mail', concurrencyLimit: 5 }, run })</pre>
  </div>`
}
