import type { ScheduleReport } from './schedule.ts'
import type { Step } from './schedule-record.ts'
import { InvariantViolation } from './violation.ts'

const WHY =
  'code has read the real clock, Math.random or the order of real I/O before it: ' +
  'in tasks and bodies use `t.clock` and the tools of the engine, or wrap the code in `once`'

/** The first difference between two executions of one schedule; `undefined` if there is none. */
export function divergence(one: ScheduleReport, other: ScheduleReport): InvariantViolation | undefined {
  const length = Math.max(one.steps.length, other.steps.length)
  for (let index = 0; index < length; index++) {
    const [first, second] = [one.steps[index], other.steps[index]]
    if (spell(first) === spell(second)) continue
    const place = `boundary ${index + 1}, "${(second ?? first)?.label}"`
    const message = `${place}, differs between two executions of one schedule: ${WHY}.\n  ${spell(first)}\n  ${spell(second)}`
    return new InvariantViolation('the same schedule twice is the same', message)
  }
  return undefined
}

function spell(step: Step | undefined): string {
  if (step === undefined) return 'the end'
  const { now, label, event = '', asked = '' } = step
  return `${new Date(now).toISOString()} ${label} ${event} ${asked}`.trimEnd()
}
