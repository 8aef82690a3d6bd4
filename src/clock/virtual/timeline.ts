import type { FiredTimer, PendingTimer } from './timers.ts'

/** A snapshot of a test clock. */
export interface ClockView {
  readonly now: number
  readonly fired: readonly FiredTimer[]
  readonly pending: readonly PendingTimer[]
  /** The busy and waiting runs and calls. */
  readonly occupations: readonly string[]
}

const LISTED_OCCUPATIONS = 20
const LISTED_TIMERS = 20

/**
 * The report of a clock, one line for each entry: the last fired timers, the current instant with its busy and waiting
 * runs and calls, and the scheduled timers.
 */
export function renderTimeline({ now, fired, pending, occupations }: ClockView): string {
  const more = occupations.length - LISTED_OCCUPATIONS
  const later = pending.length - LISTED_TIMERS
  return [
    ...fired.map(({ at, label, background }) => line(at, `fired ${label}`, background)),
    line(now, 'now', false),
    ...occupations.slice(0, LISTED_OCCUPATIONS).map((occupation) => `  ${occupation}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
    ...pending.slice(0, LISTED_TIMERS).map(({ at, label, background, whom }) => {
      const text = `${spell(at - now)} ${label}${whom === undefined ? '' : `, for ${whom}`}`
      return line(at, text, background)
    }),
    ...(later > 0 ? [`and ${later} more`] : []),
  ].join('\n')
}

/**
 * What an error tells of a clock beside a wait graph, one line for each entry. Upkeep, and what the lines above tell of
 * already, is left out.
 *
 * @param told The lines above.
 */
export function renderBeside(view: ClockView, told: string): string {
  const isNews = (id: string): boolean => !told.includes(id)
  return renderTimeline({
    now: view.now,
    fired: view.fired.filter(({ background }) => !background),
    occupations: view.occupations.filter((occupation) => isNews(lastWord(occupation))),
    pending: view.pending.filter(({ background, label }) => !background && isNews(lastWord(label))),
  })
}

/** Labels and occupations end with the id of their object. */
function lastWord(text: string): string {
  return text.slice(text.lastIndexOf(' ') + 1)
}

function line(at: number, text: string, background: boolean): string {
  return `${new Date(at).toISOString()} ${text}${background ? ' (background)' : ''}`
}

/** A duration such as `+1d 2h 3m 4s 5ms`, without zero parts. */
function spell(durationMs: number): string {
  const parts = [
    { unit: 'd', ms: 86_400_000 },
    { unit: 'h', ms: 3_600_000 },
    { unit: 'm', ms: 60_000 },
    { unit: 's', ms: 1_000 },
    { unit: 'ms', ms: 1 },
  ]
  let rest = Math.abs(durationMs)
  const spelled = parts.flatMap(({ unit, ms }) => {
    const count = Math.floor(rest / ms)
    rest -= count * ms
    return count === 0 ? [] : [`${count}${unit}`]
  })
  return `${durationMs < 0 ? '-' : '+'}${spelled.join(' ') || '0ms'}`
}
