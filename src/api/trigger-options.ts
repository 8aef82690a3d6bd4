import type { OptionNames } from '../primitives/require.ts'
import type { TriggerOptions } from './run.ts'

/** The options of a trigger. */
export const TRIGGER_OPTION_NAMES: OptionNames<TriggerOptions> = {
  delay: true,
  debounce: true,
  ttl: true,
  tags: true,
  metadata: true,
  maxAttempts: true,
  maxDuration: true,
  queue: true,
  concurrencyKey: true,
  priority: true,
  idempotencyKey: true,
  idempotencyKeyTTL: true,
  freeKeyOnFailure: true,
  name: true,
  transaction: true,
}

/** The highest priority in seconds, as in the hosted service: in milliseconds it is an integer of 32 bits. */
export const MOST_PRIORITY_S = 2_147_483
