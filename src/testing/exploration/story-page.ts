import { escaped } from '../../primitives/html.ts'
import { STORY_STYLE } from './story-style.ts'
import { type StoryLane, type LaneEvent, type LaneState, storyLanes } from './story-lanes.ts'
import { spell } from './spell.ts'
import type { Told } from './story.ts'

export interface StoryPage extends Told {
  /** What failed, in one sentence or more. */
  readonly failure: string
  /** How many departures there are, and the like. */
  readonly notes: readonly string[]
  readonly replay: string
}

/** Events of a page, and characters of the arguments or the answer of a call, at most. */
const MOST_EVENTS = 5_000
const MOST_VALUE = 2_000

/** A schedule as a page of its own, for a browser: it asks the network for nothing, and has no script. */
export function storyPage(page: StoryPage): string {
  const { lanes, events } = storyLanes(page)
  const shown = events.slice(0, MOST_EVENTS)
  const left = events.length - shown.length
  const [title = ''] = page.failure.split('\n')
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="color-scheme" content="light dark">
<title>${text(title)}</title>
<style>${STORY_STYLE}</style>
</head>
<body style="--lanes: ${lanes.filter(({ isInside }) => !isInside).length}; --all: ${lanes.length}">
<header>
<h1>${text(page.failure)}</h1>
${page.notes.map((note) => `<p>${text(note)}</p>`).join('\n')}
<p class="replay"><code>WAITPOINT_REPLAY='${text(page.replay)}'</code></p>
</header>
<input type="checkbox" id="inside"><label for="inside">what the engine does for itself</label>
<input type="checkbox" id="calls"><label for="calls">storage calls</label>
<p class="legend"><i class="executing"></i>executes <i class="waiting"></i>waits <i class="queued"></i>stands in line <a href="#departure-1">${events.some(isDeparture) ? '▶ first departure' : ''}</a></p>
<main>
<div class="row lanes"><span class="time"></span>${lanes.map(laneTitle).join('')}<b class="storage">storage</b></div>
${rows(lanes, shown)}
${left > 0 ? `<div class="gap">${left} more</div>` : ''}
<div class="end">✗ ${text(page.failure)}</div>
</main>
</body>
</html>
`
}

function laneTitle({ name, kind, isInside }: StoryLane, index: number): string {
  return `<b class="lane-${kind}${isInside ? ' hidden' : ''}" style="${column(index)}">${text(TITLES[name] ?? name)}</b>`
}

/** The first column of the grid is that of the time. */
function column(index: number): string {
  return `grid-column: ${index + 2}`
}

const TITLES: Readonly<Record<string, string>> = { time: 'clock', body: 'test' }

function rows(lanes: readonly StoryLane[], events: readonly LaneEvent[]): string {
  let departures = 0
  let last: LaneEvent | undefined
  return events
    .map((event) => {
      const passed = last === undefined ? 0 : event.at - last.at
      const gap = passed > 0 ? `${gapRow(lanes, last, `${spell(passed)} later`)}\n` : ''
      const time = event.at === last?.at ? '' : spell(event.at)
      const id = isDeparture(event) ? ` id="departure-${(departures += 1)}"` : ''
      const line = `${gap}${row(lanes, event, { id, time, last })}`
      last = event
      return line
    })
    .join('\n')
}

function gapRow(lanes: readonly StoryLane[], last: LaneEvent | undefined, words: string): string {
  const cells = lanes.map((lane, index) => cell(lane, { index, state: stateIn(last, lane) }))
  return `<div class="row gap"><span class="time">${text(words)}</span>${cells.join('')}</div>`
}

function stateIn(event: LaneEvent | undefined, { name }: StoryLane): LaneState {
  return event?.states.get(name) ?? 'absent'
}

interface Cell {
  readonly index: number
  readonly state: string
  readonly content?: string
}

function cell({ isInside }: StoryLane, { index, state, content = '' }: Cell): string {
  return `<span class="lane ${state}${isInside ? ' hidden' : ''}" style="${column(index)}">${content}</span>`
}

function isDeparture({ departure }: LaneEvent): boolean {
  return departure !== undefined
}

interface RowOptions {
  readonly id: string
  readonly time: string
  /** The event before. */
  readonly last: LaneEvent | undefined
}

function row(lanes: readonly StoryLane[], event: LaneEvent, { id, time, last }: RowOptions): string {
  const kinds = ['row', event.isInside ? 'inside' : '', isDeparture(event) ? 'departs' : '']
  const cells = lanes.map((lane, index) => {
    const state = stateIn(event, lane)
    const before = stateIn(last, lane)
    const shown = state === 'absent' && before !== 'absent' ? `${before} ends` : state
    return cell(lane, { index, state: shown, content: lane.name === event.lane ? card(event) : '' })
  })
  const times = `<span class="time">${text(time)}</span>`
  return `<div class="${kinds.filter(Boolean).join(' ')}"${id}>${times}${cells.join('')}${storage(event)}${arrow(lanes, event)}</div>`
}

function card({ text: words, event, departure }: LaneEvent): string {
  const mark = departure === undefined ? '' : '▶ '
  const more = [event, departure].filter((one) => one !== undefined && one !== '')
  const details = more.map((one) => `<small>${text(one ?? '')}</small>`).join('')
  return `<span class="card${event === undefined ? '' : ' broken'}">${mark}${text(words)}${details}</span>`
}

/** From the lane of the actor to that of the run that the event is about. */
function arrow(lanes: readonly StoryLane[], { lane, to }: LaneEvent): string {
  const from = lanes.findIndex(({ name }) => name === lane)
  const at = lanes.findIndex(({ name }) => name === to)
  if (from < 0 || at < 0 || from === at) return ''
  const [start, end] = [Math.min(from, at) + 2, Math.max(from, at) + 3]
  return `<i class="arrow ${at > from ? 'right' : 'left'}" style="grid-column: ${start} / ${end}; --span: ${end - start}"></i>`
}

function storage({ label, call }: LaneEvent): string {
  if (call === undefined) return `<span class="storage"><code>${text(label)}</code></span>`
  const answer = call.answer === undefined ? 'none' : value(call.answer)
  const shown = `<dl><dt>arguments</dt><dd>${text(value(call.args))}</dd><dt>answer</dt><dd>${text(answer)}</dd></dl>`
  return `<span class="storage"><details><summary><code>${text(label)}</code></summary>${shown}</details></span>`
}

function value(given: unknown): string {
  const json = JSON.stringify(given, undefined, 1)
  return json.length <= MOST_VALUE
    ? json
    : `${json.slice(0, MOST_VALUE)}… ${json.length - MOST_VALUE} characters more`
}

/** A text as markup, with its control characters made visible, and those that turn the direction of what follows. */
function text(plain: string): string {
  return escaped(plain.replace(/[^\P{C}\n]/gu, (mark) => `\\u{${mark.codePointAt(0)?.toString(16) ?? ''}}`))
}
