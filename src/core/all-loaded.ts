import * as trials from './execution/trials.ts'
import { TRIALS } from './execution/claimer.ts'
import * as explanation from './reading/explanation.ts'
import * as timeline from './reading/timeline.ts'
import * as accessToken from './namespaces/access-token.ts'
import * as counts from './namespaces/counts.ts'
import * as queues from './namespaces/queues.ts'
import * as keyReset from './namespaces/reset-key.ts'
import { ACCESS_TOKENS, COUNTS, EXPLANATION, KEY_RESET, QUEUES, TIMELINE } from './namespaces/late-calls.ts'
import * as scheduleBook from './schedules/schedule-book.ts'
import { SCHEDULE_BOOK } from './schedules/schedules.ts'

/**
 * Has everything there that an engine loads late, without waiting: for virtual time. Else the first call in a process would be real I/O, and
 * the first execution of an explored schedule unlike the second.
 */
export function loadAll(): void {
  TRIALS.provide(trials)
  SCHEDULE_BOOK.provide(scheduleBook)
  EXPLANATION.provide(explanation)
  TIMELINE.provide(timeline)
  ACCESS_TOKENS.provide(accessToken)
  COUNTS.provide(counts)
  QUEUES.provide(queues)
  KEY_RESET.provide(keyReset)
}
