import { type Late, late } from '../../primitives/late.ts'
import type * as explanation from '../reading/explanation.ts'
import type * as timeline from '../reading/timeline.ts'
import type * as accessToken from './access-token.ts'
import type * as release from './continue-run.ts'
import type * as tokenChanges from './change-token.ts'
import type * as counts from './counts.ts'
import type * as inputs from './input-work.ts'
import type * as lists from './list-pages.ts'
import type * as questions from './questions.ts'
import type * as replay from './replay.ts'
import type * as reschedule from './reschedule.ts'
import type * as keyReset from './reset-key.ts'
import type * as tags from './tag-run.ts'

// What most programs never call.
export const EXPLANATION: Late<typeof explanation> = /* @__PURE__ */ late(
  () => import('../reading/explanation.ts'),
)
export const TIMELINE: Late<typeof timeline> = /* @__PURE__ */ late(() => import('../reading/timeline.ts'))
export const ACCESS_TOKENS: Late<typeof accessToken> = /* @__PURE__ */ late(() => import('./access-token.ts'))
export const RELEASE: Late<typeof release> = /* @__PURE__ */ late(() => import('./continue-run.ts'))
export const COUNTS: Late<typeof counts> = /* @__PURE__ */ late(() => import('./counts.ts'))
export const INPUTS: Late<typeof inputs> = /* @__PURE__ */ late(() => import('./input-work.ts'))
export const LISTS: Late<typeof lists> = /* @__PURE__ */ late(() => import('./list-pages.ts'))
export const QUESTIONS: Late<typeof questions> = /* @__PURE__ */ late(() => import('./questions.ts'))
export const REPLAY: Late<typeof replay> = /* @__PURE__ */ late(() => import('./replay.ts'))
export const RESCHEDULE: Late<typeof reschedule> = /* @__PURE__ */ late(() => import('./reschedule.ts'))
export const TOKEN_CHANGES: Late<typeof tokenChanges> = /* @__PURE__ */ late(
  () => import('./change-token.ts'),
)
export const KEY_RESET: Late<typeof keyReset> = /* @__PURE__ */ late(() => import('./reset-key.ts'))
export const TAGS: Late<typeof tags> = /* @__PURE__ */ late(() => import('./tag-run.ts'))
