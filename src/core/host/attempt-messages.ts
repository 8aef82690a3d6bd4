import type { AttemptDetails, AttemptEndMessage } from '../../api/diagnostics.ts'
import type { Host } from './host.ts'
import type { Attempt } from '../attempt/attempt.ts'
import { ATTEMPT } from '../diagnostics.ts'
import { readOverrides } from './overrides.ts'

/** Calls the function of an attempt as the subscribers to attempts want it called. To be called only if there are any. */
export function callAsTold(attempt: Attempt, host: Host, call: () => unknown): unknown {
  const { trace: carrier } = readOverrides(attempt.record.optionsJson)
  const message = { ...detailsOf(attempt, host), phase: 'begin' as const, carrier, call }
  ATTEMPT.publish(message)
  return message.call()
}

/** The run gives its slot back because it waits, or has one again. */
export function tellPark(attempt: Attempt, host: Host, phase: 'park' | 'resume'): void {
  if (ATTEMPT.hasSubscribers) ATTEMPT.publish({ ...detailsOf(attempt, host), phase })
}

/** The function has settled, or the attempt was ended from outside. */
export function tellEnd(
  attempt: Attempt,
  host: Host,
  end: Pick<AttemptEndMessage, 'outcome' | 'error'>,
): void {
  ATTEMPT.publish({ ...detailsOf(attempt, host), phase: 'end', ...end })
}

function detailsOf(attempt: Attempt, host: Host): AttemptDetails {
  return { engine: host.owner, at: host.now(), attempt, run: attempt.record }
}
