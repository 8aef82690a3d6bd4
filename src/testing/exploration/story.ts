import type { Step } from './schedule-record.ts'
import { FIRST_INSTANT } from './schedule-timers.ts'
import type { Deviation, Trace } from './trace.ts'

/** The number of steps shown around a deviation from FIFO. */
const AROUND = 3
const SHOWN_OTHERS = 3
/** Lines of a story, lines of a trace, and characters of a line, at most. */
const MOST_STEPS = 60
const MOST_DEVIATIONS = 20
const MOST_WIDE = 400

/** The events, one line for each boundary: the time, the event, and the other candidates. */
export function renderStory(steps: readonly Step[], trace: Trace): string {
  const taken = new Set(trace.flatMap(({ kind, at, take }) => (kind === 'next' ? [take] : [at])))
  const isShown = (index: number): boolean => {
    if (index < AROUND || index >= steps.length - AROUND) return true
    return steps.slice(Math.max(0, index - AROUND), index + AROUND + 1).some(({ label }) => taken.has(label))
  }
  const lines: string[] = []
  let left = 0
  for (const [index, step] of steps.entries()) {
    if (!isShown(index)) {
      left += 1
      continue
    }
    if (left > 0) lines.push(`  … ${left} more, in order`)
    left = 0
    lines.push(line(step, taken.has(step.label)))
  }
  return bounded(lines, MOST_STEPS)
}

/** The deviations from FIFO, one line each. */
export function renderTrace(trace: Trace): string {
  if (trace.length === 0) return '  none: it fails in FIFO order'
  const lines = trace.map((deviation) => `  ${deviationText(deviation)}`)
  return bounded(lines, MOST_DEVIATIONS)
}

/** The first and the last lines of too many, with the number of those left out. */
function bounded(lines: readonly string[], most: number): string {
  const left = lines.length - most
  const shown =
    left <= 0 ? lines : [...lines.slice(0, most / 2), `  … ${left} lines left out`, ...lines.slice(-most / 2)]
  return shown.map(clipped).join('\n')
}

function clipped(text: string): string {
  return text.length <= MOST_WIDE
    ? text
    : `${text.slice(0, MOST_WIDE)}… ${text.length - MOST_WIDE} characters more`
}

/** A deviation in words: `body/ship#1 goes before engine/tick#1`. */
export function deviationText({ kind, at, take }: Deviation): string {
  if (kind === 'next') return `${take} goes before ${at}`
  if (kind === 'crash') return `the process dies ${take} ${at}`
  return `${at} ${FAULTS[take] ?? take}`
}

const FAULTS: Readonly<Record<string, string>> = {
  error: 'fails without effect',
  lost: 'takes effect and fails',
  late: 'is answered late',
}

function line({ now, label, ready: all, event }: Step, isDeparture: boolean): string {
  const others = all.filter((other) => other !== label)
  const mark = isDeparture ? '▶' : ' '
  const what = event === undefined ? label : `${label}: ${event}`
  const more = others.length > SHOWN_OTHERS ? [`${others.length - SHOWN_OTHERS} more`] : []
  const ready = [...others.slice(0, SHOWN_OTHERS), ...more]
  return `${mark} ${spell(now - FIRST_INSTANT).padEnd(9)} ${what}${ready.length === 0 ? '' : `   (ready: ${ready.join(', ')})`}`
}

const UNITS = [
  { unit: 'd', ms: 86_400_000 },
  { unit: 'h', ms: 3_600_000 },
  { unit: 'm', ms: 60_000 },
  { unit: 's', ms: 1_000 },
  { unit: 'ms', ms: 1 },
]

/** A virtual duration without zero parts: `23h 59m`. */
export function spell(durationMs: number): string {
  let rest = durationMs
  const parts = UNITS.flatMap(({ unit, ms }) => {
    const count = Math.floor(rest / ms)
    rest -= count * ms
    return count === 0 ? [] : [`${count}${unit}`]
  })
  return parts.join(' ') || '0ms'
}
