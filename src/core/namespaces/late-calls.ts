import { Late } from '../../primitives/late.ts'
import type * as explanation from '../reading/explanation.ts'
import type * as timeline from '../reading/timeline.ts'
import type * as accessToken from './access-token.ts'
import type * as counts from './counts.ts'
import type * as queues from './queues.ts'
import type * as keyReset from './reset-key.ts'

// What most programs never call.
export const EXPLANATION: Late<typeof explanation> = /* @__PURE__ */ new Late(
  () => import('../reading/explanation.ts'),
)
export const TIMELINE: Late<typeof timeline> = /* @__PURE__ */ new Late(
  () => import('../reading/timeline.ts'),
)
export const ACCESS_TOKENS: Late<typeof accessToken> = /* @__PURE__ */ new Late(
  () => import('./access-token.ts'),
)
export const COUNTS: Late<typeof counts> = /* @__PURE__ */ new Late(() => import('./counts.ts'))
export const QUEUES: Late<typeof queues> = /* @__PURE__ */ new Late(() => import('./queues.ts'))
export const KEY_RESET: Late<typeof keyReset> = /* @__PURE__ */ new Late(() => import('./reset-key.ts'))
