import type { RunRecord } from '../../contract/records.ts'
import { storedAttempts } from '../../api/thrown-attempts.ts'
import { html, type Html } from '../../primitives/html.ts'
import { count, duration, isoOf, short } from '../values.ts'
import { type Asked, type Segment, type SegmentKind, segmentsOfRun } from '../segments.ts'
import { placeOf, type Visit } from '../visit.ts'

/** So many of the newest tokens, sleeps and children are drawn. */
const MOST_ASKED = 60
/** The width of the drawing, in its own units; no span is narrower than the least. */
const WIDTH = 1_000
const LEAST_WIDTH = 4

/** Something that took time. Without an end it goes on. */
interface Span {
  readonly name: Html | string
  readonly color: 'thrown' | 'waiting' | 'child'
  readonly from: number
  readonly to: number | undefined
}

/** What happened when in a run, drawn to scale; nothing before it is started. */
export function timelineOf(visit: Visit, record: RunRecord, asked: Asked): Html | undefined {
  if (record.startedAt === undefined) return undefined
  const all = askedSpans(visit, record, asked)
  const spans = [...thrownSpans(record), ...all.slice(-MOST_ASKED)]
  const begin = record.createdAt
  const scale = { begin, end: Math.max(record.finishedAt ?? visit.now, begin + 1) }
  return html`<h2>Timeline</h2>
    <table class="timeline">
      <thead>
        <tr>
          <th scope="col">What</th>
          <th scope="col">${duration(scale.end - begin)}, to scale</th>
          <th scope="col">From</th>
          <th scope="col">Took</th>
        </tr>
      </thead>
      <tbody>
        ${runRow(segmentsOfRun(record, asked, visit.now), scale)} ${spans.map((span) => rowOf(span, scale))}
      </tbody>
    </table>
    ${all.length > MOST_ASKED && html`<p class="note">${count(all.length - MOST_ASKED)} earlier ones are not drawn.</p>`}`
}

function thrownSpans({ attemptsJson }: RunRecord): readonly Span[] {
  return storedAttempts(attemptsJson).map(({ number, startedAt: from, endedAt: to }): Span => {
    return { name: `attempt ${number}, thrown`, color: 'thrown', from, to }
  })
}

/** How each kind of segment is drawn, and called. When a run that has begun was delayed is stored nowhere. */
const DRAWN: Readonly<Record<SegmentKind, readonly [color: string, name: string]>> = {
  delayed: ['queued', 'delayed'],
  'in line': ['queued', 'in line, or delayed'],
  executing: ['executing', 'executing'],
  waiting: ['waiting', 'waiting'],
  'before a retry': ['queued', 'before a retry'],
  unknown: ['unknown', 'unknown: executing, waiting or without a process'],
}

/** The whole life of the run in one row, with what each kind of it took in all. */
function runRow(segments: readonly Segment[], scale: Scale): Html {
  const took = new Map<SegmentKind, number>()
  for (const { kind, from, to } of segments) took.set(kind, (took.get(kind) ?? 0) + to - from)
  return html`<tr>
    <td>
      the run
      <ul class="took">
        ${Array.from(
          took,
          ([kind, ms]) =>
            html`<li class="${DRAWN[kind][0]}">${duration(ms)} <span>${DRAWN[kind][1]}</span></li>`,
        )}
      </ul>
    </td>
    <td class="drawn">
      <svg viewBox="0 0 ${WIDTH} 10" preserveAspectRatio="none" aria-hidden="true">
        ${segments.map((segment) => barOf(DRAWN[segment.kind][0], segment, scale))}
      </svg>
    </td>
    <td class="num" data-label="from">+ ${duration(0)}</td>
    <td class="num" data-label="took">${duration(scale.end - scale.begin)}</td>
  </tr>`
}

function askedSpans(visit: Visit, { finishedAt }: RunRecord, { tokens, runs }: Asked): readonly Span[] {
  const waits = tokens.flatMap((token): Span[] => {
    const { kind, id, tags, createdAt: from, completedAt, timeoutAt, status } = token
    const to = status === 'TIMED_OUT' ? timeoutAt : completedAt
    // A run that has ended sleeps no longer.
    const slept = finishedAt === undefined ? to : Math.min(to ?? finishedAt, finishedAt)
    if (kind === 'SLEEP') return [{ name: 'sleep', color: 'waiting', from, to: slept }]
    if (kind !== 'MANUAL') return []
    const label = tags.length === 0 ? 'no tags' : short(tags.join(', '))
    const name = html`token <a href="${placeOf(visit, 'tokens', id)}">${label}</a>`
    return [{ name, color: 'waiting', from, to }]
  })
  const children = runs.map(({ id, taskId, createdAt: from, finishedAt: to }): Span => {
    const name = html`child <a href="${placeOf(visit, 'runs', id)}">${short(taskId)}</a>`
    return { name, color: 'child', from, to }
  })
  return [...waits, ...children].sort((one, other) => one.from - other.from)
}

/** The whole drawing: from the trigger of the run to its end, or until now. What goes on after it is cut. */
interface Scale {
  readonly begin: number
  readonly end: number
}

function barOf(
  color: string,
  { from, to }: { readonly from: number; readonly to: number | undefined },
  { begin, end }: Scale,
): Html {
  const place = (at: number): number =>
    Math.round((Math.min(Math.max(at - begin, 0), end - begin) / (end - begin)) * WIDTH)
  const left = Math.min(place(from), WIDTH - LEAST_WIDTH)
  const width = Math.max(place(to ?? end) - left, LEAST_WIDTH)
  return html`<rect class="${color}" x="${left}" y="0" width="${width}" height="10" />`
}

function rowOf({ name, color, from, to }: Span, scale: Scale): Html {
  return html`<tr>
    <td>${name}</td>
    <td class="drawn">
      <svg viewBox="0 0 ${WIDTH} 10" preserveAspectRatio="none" aria-hidden="true">
        ${barOf(color, { from, to }, scale)}
      </svg>
    </td>
    <td class="num" data-label="from">
      <span title="${isoOf(from)}">+ ${duration(Math.max(from - scale.begin, 0))}</span>
    </td>
    <td class="num" data-label="took">${to === undefined ? 'goes on' : duration(Math.max(to - from, 0))}</td>
  </tr>`
}
