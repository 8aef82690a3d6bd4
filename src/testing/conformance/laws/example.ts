import type { Law } from '../law.ts'
import { addLaws } from './add.ts'
import { askedLaws } from './asked.ts'
import { attemptLaws } from './attempt.ts'
import { awaitLaws } from './await.ts'
import { chunkLaws } from './chunk.ts'
import { claimLaws } from './claim.ts'
import { countLaws } from './count.ts'
import { freeKeyLaws } from './free-key.ts'
import { hintLaws } from './hint.ts'
import { insertLaws } from './insert.ts'
import { limitLaws } from './limit.ts'
import { listLaws, orderLaws } from './list.ts'
import { markLaws } from './mark.ts'
import { ownerLaws } from './owner.ts'
import { suspectLaws } from './suspect.ts'
import { priorityLaws } from './priority.ts'
import { pruneLaws } from './prune.ts'
import { pushLaws } from './push.ts'
import { questionLaws } from './question.ts'
import { queueLaws } from './queue.ts'
import { rateLaws } from './rate.ts'
import { runLaws } from './run.ts'
import { scheduleLaws } from './schedule.ts'
import { textLaws } from './text.ts'
import { tickLaws } from './tick.ts'
import { tokenLaws } from './token.ts'
import { valueLaws } from './value.ts'
import { versionLaws } from './version.ts'

/** Every law that one example can show. The fundamental laws come first. */
export const exampleLaws: readonly Law[] = [
  ...insertLaws,
  ...claimLaws,
  ...tokenLaws,
  ...awaitLaws,
  ...listLaws,
  ...freeKeyLaws,
  ...markLaws,
  ...runLaws,
  ...askedLaws,
  ...ownerLaws,
  ...suspectLaws,
  ...tickLaws,
  ...questionLaws,
  ...versionLaws,
  ...attemptLaws,
  ...chunkLaws,
  ...addLaws,
  ...pruneLaws,
  ...pushLaws,
  ...hintLaws,
  ...priorityLaws,
  ...countLaws,
  ...scheduleLaws,
  ...queueLaws,
  ...rateLaws,
  ...limitLaws,
  ...textLaws,
  ...orderLaws,
  ...valueLaws,
]
