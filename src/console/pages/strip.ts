import type { RunCounts } from '../../api/counts.ts'
import type { StatusCount } from '../../contract/storage.ts'
import { html, type Html } from '../../primitives/html.ts'
import type { DayFigures } from '../last-day.ts'
import { quantile } from '../outcome.ts'
import { bounded, count, duration, short } from '../values.ts'
import { linkTo, type Visit } from '../visit.ts'

const WIDTH = 144
const HEIGHT = 40
/** Of a bar and the gap behind it. */
const STEP = 6
const NONE: StatusCount = { count: 0, isMore: false }

/** Four numbers above the runs: what the last 24 hours were like, and what goes on. */
export function strip(
  visit: Visit,
  { hours, oftenFailed, took }: DayFigures,
  counts: RunCounts,
): Html | undefined {
  if (Object.values(counts).every(({ count: number }) => number === 0)) return undefined
  const made = sumOf(hours.map((hour) => hour.made))
  const failed = sumOf(hours.map((hour) => hour.failed))
  const { EXECUTING, WAITING, QUEUED, DELAYED } = counts
  const { executes, slots } = visit.inside.counts()
  return html`<dl class="sheet strip" aria-label="The last 24 hours">
    <div>
      <dt>New runs, last 24 h</dt>
      <dd>${bounded(made)}<small>${bounded(hours.at(-1)?.made ?? NONE)} in this hour</small></dd>
      <dd class="side">
        ${chart(
          'New runs',
          hours.map(({ made: { count: number } }) => number),
          'a',
        )}
      </dd>
    </div>
    <div>
      <dt>Failed of these</dt>
      <dd>
        ${bounded(failed)}<small
          >${shareOf(failed, made)}${oftenFailed !== undefined && html`, mostly <a href="${linkTo(visit, 'runs', { task: oftenFailed, status: 'failed' })}">${short(oftenFailed, 40)}</a>`}</small
        >
      </dd>
      <dd class="side">
        ${chart(
          'Failed runs',
          hours.map(({ failed: { count: number } }) => number),
          'f',
        )}
      </dd>
    </div>
    <div>
      <dt>Duration, p50 and p95</dt>
      ${
        took.length === 0
          ? html`<dd>–<small>none has completed</small></dd>`
          : html`<dd>
              ${duration(quantile(took, 0.5))}<small
                >p95 ${duration(quantile(took, 0.95))}, of the last ${count(took.length)}</small
              >
            </dd>`
      }
    </div>
    <div>
      <dt>Now</dt>
      <dd>
        ${bounded(EXECUTING)}<small
          >executing${executes && slots !== Infinity && `, ${count(slots)} at once in this engine`}</small
        >
      </dd>
      <dd class="side">
        <b>${bounded(WAITING)}</b> wait<br /><b>${bounded(QUEUED)}</b> in line,
        <b>${bounded(DELAYED)}</b> delayed
      </dd>
    </div>
  </dl>`
}

/** A bar for each hour, the one that has just begun in ink. */
function chart(what: string, numbers: readonly number[], style: 'a' | 'f'): Html {
  const most = Math.max(1, ...numbers)
  const last = numbers.at(-1) ?? 0
  const label = `${what} by hour: at most ${count(Math.max(...numbers))}, ${count(last)} in this one`
  return html`<svg
    class="chart"
    viewBox="0 0 ${WIDTH} ${HEIGHT}"
    preserveAspectRatio="none"
    role="img"
    aria-label="${label}"
  >
    <line class="base" x1="0" y1="${HEIGHT - 0.5}" x2="${WIDTH}" y2="${HEIGHT - 0.5}" />
    ${numbers.map((number, at) => {
      const height = number === 0 ? 0 : Math.max(1, Math.round((number / most) * HEIGHT))
      const kind = at === numbers.length - 1 && style === 'a' ? 'now' : style
      return html`<rect
        class="${kind}"
        x="${at * STEP}"
        y="${HEIGHT - height}"
        width="${STEP - 1}"
        height="${height}"
      />`
    })}
  </svg>`
}

function sumOf(counts: readonly StatusCount[]): StatusCount {
  return {
    count: counts.reduce((sum, each) => sum + each.count, 0),
    isMore: counts.some(({ isMore }) => isMore),
  }
}

function shareOf(failed: StatusCount, made: StatusCount): string {
  if (made.count === 0) return 'no run was made'
  if (failed.isMore || made.isMore) return 'of more than can be counted'
  return `${((100 * failed.count) / made.count).toFixed(1)} %`
}
