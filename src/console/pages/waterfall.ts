import type { RunRecord, TokenRecord } from '../../contract/records.ts'
import { isFinal } from '../../contract/run-states.ts'
import { storedAttempts } from '../../api/thrown-attempts.ts'
import { html, type Html } from '../../primitives/html.ts'
import type { RunTree } from '../records.ts'
import { type Asked, type Segment, type SegmentKind, segmentsOfRun } from '../segments.ts'
import { count, duration, short, statusMark } from '../values.ts'
import { linkTo, placeOf, type Visit } from '../visit.ts'
import { summaryOf } from './summary.ts'
import { answererOf, nameOfToken } from './token.ts'

/** So many rows are drawn. Those above the run that is shown always are. */
const MOST_ROWS = 120
/** More siblings of one name are folded, and so many of them are in the fold, and beside it since they are open or have failed. */
const MOST_SIBLINGS = 5
const MOST_UNFOLDED = 10
/** So many bars are in one row, so many of a fold. */
const MOST_FOLDED_BARS = 60
/** Of so many runs the segments are told apart, and of none with so many children but the one that is shown. */
const MOST_ASKED = 60
const MANY_CHILDREN = 200
/** Deeper rows are not indented further. */
const DEEPEST = 9
const NAME_LENGTH = 60
/** In percent of the drawing: no bar is narrower, and right of all is room for the mark of what goes on. */
const LEAST_WIDTH = 0.3
const WHOLE_WIDTH = 97
const NONE: Asked = { tokens: [], runs: [] }

/** A run, something that one has asked for, or a fold of several. */
interface Row {
  readonly id: string
  /** What siblings are folded by. */
  readonly label: string
  readonly name: Html | string
  readonly note?: Html | string | undefined
  readonly status?: string
  readonly from: number
  /** Absent: it goes on. */
  readonly to: number | undefined
  readonly bars: readonly Segment[]
  /** The instants at which an attempt has thrown. */
  readonly thrown?: readonly number[]
  readonly rows: readonly Row[]
  /** It is not folded. */
  readonly isOut: boolean
  readonly isFold?: boolean
  readonly isShown?: boolean
}

interface Scale {
  readonly begin: number
  readonly end: number
}

/** The runs above one, and itself, whose rows are drawn before all others. */
function pathTo(record: RunRecord, { root, children }: RunTree): ReadonlySet<string> {
  const parents = new Map([root, ...[...children.values()].flat()].map(({ id, parentId }) => [id, parentId]))
  const path = new Set<string>()
  for (let id: string | undefined = record.id; id !== undefined && !path.has(id); id = parents.get(id))
    path.add(id)
  return path
}

/** What those runs of a tree have asked whose segments depend on it, as far as it is worth a read. */
async function askedOf(
  { inside }: Visit,
  tree: RunTree,
  known: ReadonlyMap<string, Asked>,
): Promise<ReadonlyMap<string, Asked>> {
  const all = [tree.root, ...[...tree.children.values()].flat()]
  const open = all.filter(({ status }) => !isFinal(status))
  const worth = [...new Set([...open, ...all])].filter(
    ({ id, parks = 0, attemptsJson }) =>
      (parks > 0 || attemptsJson !== undefined) &&
      !known.has(id) &&
      (tree.children.get(id)?.length ?? 0) < MANY_CHILDREN,
  )
  const turns = inside.turns(1)
  const asked = worth.slice(0, MOST_ASKED).map(async ({ id }) => {
    await turns.next()
    return [id, await inside.read(() => inside.host.storage.runs.asked(id))] as const
  })
  return new Map([...known, ...(await Promise.all(asked))])
}

/** One picture of the whole tree of a run: what happened when in each of its runs, to scale; nothing before its root is started. */
export async function waterfallOf(
  visit: Visit,
  { record, asked, tree }: { readonly record: RunRecord; readonly asked: Asked; readonly tree: RunTree },
): Promise<Html | undefined> {
  if (tree.root.startedAt === undefined) return undefined
  const all = await askedOf(visit, tree, new Map([[record.id, asked]]))
  const rows = new Rows(visit, { shown: record, tree, asked: all })
  const root = rows.ofRun(tree.root)
  const scale = { begin: root.from, end: Math.max(endOf(root, visit.now), root.from + 1) }
  const rest = linkTo(visit, 'runs', { root: tree.root.id })
  return html`<h2>Timeline</h2>
    <section class="sheet tree" aria-label="Timeline">
      ${tookOf(segmentsOfRun(record, asked, visit.now))}
      <div class="axis" aria-hidden="true">
        <span>What</span>
        <svg class="ticks" aria-hidden="true">
          ${[0, 25, 50, 75].map(
            (place) =>
              html`<line x1="${place}%" x2="${place}%" y1="22" y2="32" /><text x="${place}%" dx="4" y="20">
                  ${duration(((scale.end - scale.begin) * place) / 100)}
                </text>`,
          )}
        </svg>
        <span class="num">Took</span>
      </div>
      <ol>
        ${rowOf(root, scale, 0)}
      </ol>
    </section>
    ${
      (tree.isMore || rows.left < 0) &&
      html`<p class="note">
        Not all runs of this tree are drawn. <a href="${rest}">List the runs below its root</a>
      </p>`
    }`
}

/** The rows of a tree, as many as are drawn. */
class Rows {
  /** How many more are drawn. Below 0 some were left out. */
  left = MOST_ROWS
  readonly #visit: Visit
  readonly #shown: RunRecord
  readonly #tree: RunTree
  readonly #asked: ReadonlyMap<string, Asked>
  readonly #path: ReadonlySet<string>

  constructor(
    visit: Visit,
    {
      shown,
      tree,
      asked,
    }: { readonly shown: RunRecord; readonly tree: RunTree; readonly asked: ReadonlyMap<string, Asked> },
  ) {
    this.#visit = visit
    this.#shown = shown
    this.#tree = tree
    this.#asked = asked
    this.#path = pathTo(shown, tree)
    this.left -= this.#path.size
  }

  ofRun(record: RunRecord): Row {
    const { id, taskId, status, createdAt: from, finishedAt: to, attemptsJson } = record
    const { now } = this.#visit
    const isShown = id === this.#shown.id
    const link = html`<a href="${placeOf(this.#visit, 'runs', id)}" ${isShown && html`aria-current="true"`}
      >${short(taskId, NAME_LENGTH)}</a
    >`
    const asked = this.#asked.get(id) ?? NONE
    return {
      id,
      label: taskId,
      name: link,
      note: isShown ? undefined : summaryOf(record, [], now),
      status,
      from,
      to,
      bars: segmentsOfRun(record, asked, now),
      thrown: storedAttempts(attemptsJson).map(({ endedAt }) => endedAt),
      rows: this.#below(record, asked),
      isOut: this.#path.has(id) || !isFinal(status) || record.errorJson !== undefined,
      isShown,
    }
  }

  /** What a run has asked for, and its children, in the order of time. */
  #below(record: RunRecord, { tokens }: Asked): readonly Row[] {
    const isShown = record.id === this.#shown.id
    const waits = tokens.filter(({ kind, status }) =>
      kind === 'MANUAL' || kind === 'SLEEP' ? isShown || status === 'WAITING' : false,
    )
    const groups = new Map<string, (RunRecord | TokenRecord)[]>()
    for (const each of [...(this.#tree.children.get(record.id) ?? []), ...waits]) {
      const label = labelOf(each)
      const group = groups.get(label)
      if (group === undefined) groups.set(label, [each])
      else group.push(each)
    }
    const rows = [...groups].flatMap(([label, group]) => this.#siblings(record, label, group))
    return rows.sort((one, other) => one.from - other.from)
  }

  #siblings(parent: RunRecord, label: string, group: readonly (RunRecord | TokenRecord)[]): readonly Row[] {
    if (group.length <= MOST_SIBLINGS) return this.#drawn(parent, group)
    const isOut = (one: RunRecord | TokenRecord): boolean =>
      this.#path.has(one.id) ||
      one.status === 'WAITING' ||
      ('taskId' in one && (!isFinal(one.status) || one.errorJson !== undefined))
    const out = group.filter(isOut)
    const beside = new Set([...out.slice(-MOST_UNFOLDED), ...out.filter(({ id }) => this.#path.has(id))])
    const folded = group.filter((one) => !beside.has(one))
    return [
      ...this.#drawn(parent, [...beside]),
      ...(folded.length === 0 ? [] : [this.#fold(parent, label, folded)]),
    ]
  }

  #fold(parent: RunRecord, label: string, folded: readonly (RunRecord | TokenRecord)[]): Row {
    this.left -= 1
    const spans = folded.map((one) => spanOf(one, parent))
    const step = Math.ceil(spans.length / MOST_FOLDED_BARS)
    const { now } = this.#visit
    const bars = spans
      .filter((_, at) => at % step === 0)
      .map(({ kind, from, to }): Segment => ({ kind, from, to: to ?? now }))
    return {
      id: `fold-${parent.id}-${folded[0]?.id ?? ''}`,
      label,
      name: html`<span>${short(label, NAME_LENGTH)}</span>`,
      note: `× ${count(folded.length)}${this.#tree.isMore ? '+' : ''}`,
      from: Math.min(...spans.map(({ from }) => from)),
      to: spans.some(({ to }) => to === undefined) ? undefined : Math.max(...spans.map(({ to }) => to ?? 0)),
      bars,
      rows: this.#drawn(parent, folded.slice(-MOST_UNFOLDED)),
      isOut: false,
      isFold: true,
    }
  }

  #drawn(parent: RunRecord, group: readonly (RunRecord | TokenRecord)[]): readonly Row[] {
    return group.flatMap((one) => {
      if (!this.#path.has(one.id)) {
        this.left -= 1
        if (this.left < 0) return []
      }
      return ['taskId' in one ? this.ofRun(one) : this.#ofToken(one, parent)]
    })
  }

  #ofToken(token: TokenRecord, parent: RunRecord): Row {
    const { id, kind, status } = token
    const { from, to } = spanOf(token, parent)
    const name =
      kind === 'SLEEP'
        ? html`<span>sleep</span>`
        : html`<a href="${placeOf(this.#visit, 'tokens', id)}">${short(nameOfToken(token), NAME_LENGTH)}</a>`
    const bars: readonly Segment[] = [{ kind: 'waiting', from, to: to ?? this.#visit.now }]
    const [label, note] = [labelOf(token), answererOf(token)]
    return { id, label, name, note, status, from, to, bars, rows: [], isOut: status === 'WAITING' }
  }
}

function labelOf(one: RunRecord | TokenRecord): string {
  if ('taskId' in one) return one.taskId
  return one.kind === 'SLEEP' ? 'sleep' : 'tokens'
}

/** From its beginning to its end, as one stretch. */
function spanOf(
  one: RunRecord | TokenRecord,
  parent: RunRecord,
): { readonly kind: SegmentKind; readonly from: number; readonly to: number | undefined } {
  if ('taskId' in one) return { kind: 'executing', from: one.startedAt ?? one.createdAt, to: one.finishedAt }
  const { kind, createdAt: from, completedAt, timeoutAt, status } = one
  const to = status === 'TIMED_OUT' ? timeoutAt : completedAt
  // A run that has ended sleeps no longer.
  const slept = parent.finishedAt === undefined ? to : Math.min(to ?? parent.finishedAt, parent.finishedAt)
  return { kind: 'waiting', from, to: kind === 'SLEEP' ? slept : to }
}

/** When the last row of a tree has ended, or now. */
function endOf({ to, rows }: Row, now: number): number {
  return rows.reduce((end, row) => Math.max(end, endOf(row, now)), to ?? now)
}

/** How each kind of segment is called, and by which letter it is drawn. When a run that has begun was delayed is stored nowhere. */
const DRAWN: Readonly<Record<SegmentKind, readonly [color: string, name: string]>> = {
  delayed: ['queued', 'delayed'],
  'in line': ['queued', 'in line, or delayed'],
  executing: ['executing', 'executing'],
  waiting: ['waiting', 'waiting'],
  'before a retry': ['retry', 'before a retry'],
  unknown: ['unknown', 'unknown: executing, waiting or without a process'],
}

function totalsOf(segments: readonly Segment[]): ReadonlyMap<SegmentKind, number> {
  const took = new Map<SegmentKind, number>()
  for (const { kind, from, to } of segments) took.set(kind, (took.get(kind) ?? 0) + to - from)
  return took
}

/** What each kind took in all of the run that is shown: the key to the drawing, too. */
function tookOf(segments: readonly Segment[]): Html {
  return html`<ul class="took">
    ${Array.from(
      totalsOf(segments),
      ([kind, ms]) => html`<li class="${DRAWN[kind][0]}">${duration(ms)} <span>${DRAWN[kind][1]}</span></li>`,
    )}
  </ul>`
}

function rowOf(row: Row, scale: Scale, depth: number): Html {
  const { id, name, note, status, from, to, rows, isFold = false, isShown = false } = row
  return html`<li id="in-${id}">
    <div class="row ${isShown && 'on'}">
      <div class="name d${Math.min(depth, DEEPEST)}">
        ${
          rows.length === 0
            ? html`<i></i>`
            : html`<details class="fold" id="f-${id}" ${!isFold && html`open`}>
                <summary aria-label="Rows below">
                  <svg class="i" aria-hidden="true"><use href="#i-right" /></svg>
                </summary>
              </details>`
        }${status !== undefined && statusMark(status)}${name}${note !== undefined && html`<span class="soft">${note}</span>`}
      </div>
      ${barsOf(row, scale)}<span class="num"
        >${to === undefined ? html`<span title="goes on">${duration(Math.max(scale.end - from, 0))}</span>` : duration(Math.max(to - from, 0))}</span
      >
    </div>
    ${
      rows.length > 0 &&
      html`<ol>
        ${rows.map((each) => rowOf(each, scale, depth + 1))}
      </ol>`
    }
  </li>`
}

function barsOf({ bars, thrown = [], to, isFold = false }: Row, { begin, end }: Scale): Html {
  const place = (at: number): number => Math.min(Math.max((at - begin) / (end - begin), 0), 1) * WHOLE_WIDTH
  const totals = Array.from(totalsOf(bars), ([kind, ms]) => `${DRAWN[kind][1]} ${duration(ms)}`)
  const label = [
    ...(isFold ? [] : totals),
    ...(thrown.length === 0 ? [] : [`thrown ${count(thrown.length)} ×`]),
    ...(to === undefined ? ['goes on'] : []),
  ]
  return html`<svg class="bars" role="img" aria-label="${label.length === 0 ? 'several' : label.join(', ')}">
    ${bars.map(({ kind, from, to: until }) => {
      const left = place(from)
      const where = html`x="${percent(left)}" width="${percent(Math.max(place(until) - left, LEAST_WIDTH))}"`
      return html`<rect
          class="${DRAWN[kind][0]}"
          ${where}
        />${kind === 'waiting' && html`<rect class="hatched" ${where} />`}`
    })}${thrown.map((at) => html`<svg x="${percent(place(at))}" y="16"><path class="thrown" d="M-4-4l8 8M4-4l-8 8" /></svg>`)}${
      to === undefined && html`<svg x="${WHOLE_WIDTH}%" y="16"><path class="onward" d="M2-6l6 6-6 6" /></svg>`
    }
  </svg>`
}

const percent = (part: number): string => `${part.toFixed(2)}%`
