import { Trials } from './execution/trials.ts'
import { TRIALS } from './execution/claimer.ts'
import { explainRun } from './reading/explanation.ts'
import { LastAttempt } from './reading/last-attempt.ts'
import { timeline } from './reading/timeline.ts'
import { signAccessToken } from './namespaces/access-token.ts'
import { CHANGE_TOKEN, TokenChanger } from './namespaces/change-token.ts'
import { continueRun } from './namespaces/continue-run.ts'
import { COUNT_RUNS, countRuns, countTokens } from './namespaces/counts.ts'
import { InputWork, unreadInputs } from './namespaces/input-work.ts'
import { listedRuns, listedTokens } from './namespaces/list-pages.ts'
import { listQueues, retrieveQueue, changeQueue } from './namespaces/queues.ts'
import * as questions from './namespaces/questions.ts'
import { QUEUES } from './namespaces/queue-handle.ts'
import { storeReplay, storeRun } from './namespaces/replay.ts'
import { rescheduleRun } from './namespaces/reschedule.ts'
import { resetKey } from './namespaces/reset-key.ts'
import { tagRun } from './namespaces/tag-run.ts'
import {
  ACCESS_TOKENS,
  COUNTS,
  EXPLANATION,
  KEY_RESET,
  INPUTS,
  LISTS,
  QUESTIONS,
  RELEASE,
  REPLAY,
  RESCHEDULE,
  TAGS,
  TIMELINE,
  TOKEN_CHANGES,
} from './namespaces/late-calls.ts'
import { LAST_ATTEMPT } from './reading/stream-pages.ts'
import { ScheduleBook } from './schedules/schedule-book.ts'
import { SCHEDULE_BOOK } from './schedules/schedules.ts'

/**
 * Has everything there that an engine loads late, without waiting: for virtual time. Else the first call in a process would be real I/O, and
 * the first execution of an explored schedule unlike the second.
 */
export function loadAll(): void {
  TRIALS.provide({ Trials })
  SCHEDULE_BOOK.provide({ ScheduleBook })
  EXPLANATION.provide({ explainRun })
  TIMELINE.provide({ timeline })
  LAST_ATTEMPT.provide({ LastAttempt })
  ACCESS_TOKENS.provide({ signAccessToken })
  RELEASE.provide({ continueRun })
  COUNTS.provide({ COUNT_RUNS, countRuns, countTokens })
  INPUTS.provide({ InputWork, unreadInputs })
  LISTS.provide({ listedRuns, listedTokens })
  QUESTIONS.provide(questions)
  TOKEN_CHANGES.provide({ CHANGE_TOKEN, TokenChanger })
  QUEUES.provide({ listQueues, retrieveQueue, changeQueue })
  REPLAY.provide({ storeReplay, storeRun })
  RESCHEDULE.provide({ rescheduleRun })
  KEY_RESET.provide({ resetKey })
  TAGS.provide({ tagRun })
}
