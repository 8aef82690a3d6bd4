import type { ScheduleReport } from './schedule.ts'
import { deviationText } from './story.ts'
import { type Decision, type Deviation, type Trace, traceOf } from './trace.ts'
import { InvariantViolation } from './violation.ts'

const SHOWN = 6

/** The violation of a replay that could not take all of its deviations; `undefined` if it took them all. */
export function missed(trace: Trace, { decisions }: ScheduleReport): InvariantViolation | undefined {
  if (trace.length === 0) return undefined
  const left = [...trace]
  for (const taken of traceOf({ decisions })) {
    const place = left.findIndex(
      ({ kind, at, take }) => kind === taken.kind && at === taken.at && take === taken.take,
    )
    if (place >= 0) left.splice(place, 1)
  }
  if (left.length === 0) return undefined
  const what = left.map((deviation) => `  ${deviationText(deviation)}: ${instead(deviation, decisions)}`)
  const count = trace.length === 1 ? 'Its deviation' : `${left.length} of its ${trace.length} deviations`
  const message = `${count} did not happen, so this schedule is not the one that failed: the code has changed since, or the line belongs to another body. Explore anew without it.\n${what.join('\n')}`
  return new InvariantViolation('the replay applies', message)
}

/** What this schedule had in place of a deviation. */
function instead({ kind, at }: Deviation, decisions: readonly Decision[]): string {
  const choices = decisions.flatMap(({ choice }) => (choice.kind === kind ? [choice] : []))
  const here = choices.filter((choice) => choice.at === at).flatMap(({ options }) => options)
  if (here.length > 0) return `there were ${listed(here)}`
  if (choices.length === 0 && kind !== 'next') return NONE[kind]
  const alike = choices.filter((choice) => operationOf(choice.at) === operationOf(at))
  const points = (alike.length > 0 ? alike : choices).map((choice) => choice.at)
  return points.length === 0 ? 'nothing was ever left to choose' : `the choices were at ${listed(points)}`
}

const NONE = {
  slow: 'no call was out while anything else could happen',
  crash: "no crash was possible, it needs the option `crashes: 'every-commit'`",
  fault: 'no call could fail, it needs the option `faults`',
}

function operationOf(label: string): string {
  return label.slice(label.indexOf('/') + 1, label.lastIndexOf('#'))
}

function listed(all: readonly string[]): string {
  const labels = [...new Set(all)]
  const more = labels.length > SHOWN ? `, and ${labels.length - SHOWN} more` : ''
  return labels.slice(0, SHOWN).join(', ') + more
}
