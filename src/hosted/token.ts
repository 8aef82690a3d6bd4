import type { Token } from '../api/token.ts'
import type { MembersOf } from './members.ts'

/** The members of a token that only some have. */
export const TOKEN_MEMBERS: MembersOf<Omit<Token, 'question' | 'answeredBy' | 'withdrawn'>> = {
  completedAt: 'date',
  idempotencyKey: 'text',
  idempotencyKeyExpiresAt: 'date',
  runId: 'text',
}

/** The code of the error that is the output of a token that timed out. */
export const TIMED_OUT_CODE = 'TRIGGER_WAITPOINT_TIMEOUT'
