import { stripVTControlCharacters } from 'node:util'
import type { Names } from './names.ts'
import type { Step } from './schedule-record.ts'
import { FIRST_INSTANT } from './schedule-timers.ts'
import { spell } from './spell.ts'
import { Narrator, type StepWords } from './step-words.ts'
import type { Deviation, Trace } from './trace.ts'

/** The number of steps shown around a deviation from FIFO. */
const AROUND = 3
/** In the words of the test a step is worth more, and there are fewer. */
const AROUND_IN_WORDS = 8
const SHOWN_OTHERS = 3
/** Lines of a story, and characters of a line, at most. */
const MOST_STEPS = 60
const MOST_WIDE = 400

/** `words`: what the test and its tasks do. `storage`: every storage call and timer by its label, as in a replay line. */
export type StoryKind = 'words' | 'storage'

/**
 * The kind of story that is told: `storage` if `WAITPOINT_STORY` says so, or if a storage is under test.
 *
 * @throws RangeError for another value of the variable.
 */
export function storyKind(
  isStorageTested: boolean,
  given: string | undefined = process.env['WAITPOINT_STORY'],
): StoryKind {
  if (given === undefined || given === '') return isStorageTested ? 'storage' : 'words'
  if (given === 'words' || given === 'storage') return given
  throw new RangeError(`Cannot use WAITPOINT_STORY "${given}": use "words" or "storage"`)
}

export interface Told {
  readonly steps: readonly Step[]
  readonly trace: Trace
  readonly names: Names
}

/** The events, one line each. A departure from FIFO is marked, and says what it came before. */
export function renderStory({ steps, trace, names }: Told, kind: StoryKind): string {
  const narrator = new Narrator(steps, names)
  const tell = (step: Step): StepWords =>
    kind === 'words' ? narrator.tell(step) : { text: step.label, outcome: '', isInside: false }
  const departures = departuresIn(steps, trace)
  const entries = steps.flatMap((step, index) => {
    const { text, outcome, isInside } = tell(step)
    const departure = departures.get(index)
    if (isInside && departure === undefined && step.event === undefined) return []
    const others = kind === 'words' ? '' : ready(step)
    const end = `${outcome}${before(departure, steps, tell)}${others}`
    return [
      {
        step,
        text: `${text}${end}`,
        isDeparture: departure !== undefined,
      },
    ]
  })
  const around = kind === 'words' ? AROUND_IN_WORDS : AROUND
  const lines: string[] = []
  let left = 0
  for (const [index, { step, text, isDeparture }] of entries.entries()) {
    const near = entries.slice(Math.max(0, index - around), index + around + 1)
    if (index >= around && index < entries.length - around && !near.some((one) => one.isDeparture)) {
      left += 1
      continue
    }
    if (left > 0) lines.push(`  … ${left} more, in order`)
    left = 0
    const event = step.event === undefined ? '' : `: ${step.event}`
    lines.push(`${isDeparture ? '▶' : ' '} ${spell(step.now - FIRST_INSTANT).padEnd(9)} ${text}${event}`)
  }
  return bounded(lines)
}

/** The deviation that a step makes, by the index of the step. */
export function departuresIn(steps: readonly Step[], trace: Trace): ReadonlyMap<number, Deviation> {
  const taken = new Map(
    trace.map((deviation) => [deviation.kind === 'next' ? deviation.take : deviation.at, deviation]),
  )
  return new Map(
    steps.flatMap(({ label }, index) => {
      const deviation = taken.get(label)
      return deviation === undefined ? [] : [[index, deviation] as const]
    }),
  )
}

/** What a step came before, or was held for, if it departs from FIFO by that: `, before …`. */
export function before(
  departure: Deviation | undefined,
  steps: readonly Step[],
  tell: (step: Step) => StepWords,
): string {
  if (departure?.kind === 'slow') return `, slow: held until ${until(departure, steps, tell)}`
  if (departure?.kind !== 'next') return ''
  const passed = steps.find(({ label }) => label === departure.at)
  // A step that a crash has cut off is known by its label only.
  return `, before ${passed === undefined ? departure.at : tell(passed).text}`
}

/** The last timer that a slow call was held over, or all that was left to do. */
function until({ at, take }: Deviation, steps: readonly Step[], tell: (step: Step) => StepWords): string {
  const earlier = steps.slice(
    0,
    steps.findIndex(({ label }) => label === at),
  )
  const now = earlier.at(-1)?.now
  const timers = earlier.filter((step) => step.now === now && step.label.startsWith('time/'))
  const timer = timers.findLast((step) => !tell(step).isInside) ?? timers.at(-1)
  return take === 'instant' || timer === undefined ? 'nothing else was left to do' : tell(timer).text
}

function ready({ label, ready: all }: Step): string {
  const others = all.filter((other) => other !== label)
  const more = others.length > SHOWN_OTHERS ? [`${others.length - SHOWN_OTHERS} more`] : []
  const listed = [...others.slice(0, SHOWN_OTHERS), ...more]
  return listed.length === 0 ? '' : `   (ready: ${listed.join(', ')})`
}

/** The first and the last lines of too many, with the number of those left out. */
function bounded(lines: readonly string[]): string {
  const left = lines.length - MOST_STEPS
  const shown =
    left <= 0
      ? lines
      : [...lines.slice(0, MOST_STEPS / 2), `  … ${left} lines left out`, ...lines.slice(-MOST_STEPS / 2)]
  return shown.map((text) => clipped(stripVTControlCharacters(text).replaceAll('\n', ' '))).join('\n')
}

function clipped(text: string): string {
  return text.length <= MOST_WIDE
    ? text
    : `${text.slice(0, MOST_WIDE)}… ${text.length - MOST_WIDE} characters more`
}

/** A deviation by its labels: `body/ship#1 goes before engine/tick#1`. */
export function deviationText({ kind, at, take }: Deviation): string {
  if (kind === 'next') return `${take} goes before ${at}`
  if (kind === 'crash')
    return take === 'pause' ? `the process stands still before ${at}` : `the process dies ${take} ${at}`
  if (kind === 'slow') return `${at} is slow, held ${SLOW[take] ?? take}`
  return `${at} ${FAULTS[take] ?? take}`
}

const SLOW: Readonly<Record<string, string>> = {
  instant: 'until nothing else was left to do at its instant',
  timer: 'over the next timer',
  end: 'to the end',
}

const FAULTS: Readonly<Record<string, string>> = {
  error: 'fails without effect',
  lost: 'takes effect and fails',
  late: 'is answered late',
}
