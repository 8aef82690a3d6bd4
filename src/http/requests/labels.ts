import type { JsonObject } from './json-body.ts'
import type { Limits } from '../limits.ts'
import { Refusal } from '../refusal.ts'

/**
 * Checks the number of tags and the length of the idempotency key of an object to create. The engine checks their
 * types.
 *
 * @throws Refusal 422 for too many tags; 400 for a key that is too long.
 */
export function checkLabels(
  { tags, idempotencyKey }: JsonObject,
  limits: Pick<Limits, 'tags' | 'keyLength'>,
  whose: string,
): void {
  const count = Array.isArray(tags) ? tags.length : tags === undefined ? 0 : 1
  if (count > limits.tags) {
    throw new Refusal(422, `${whose} can only have ${limits.tags} tags, you're trying to set ${count}.`)
  }
  if (typeof idempotencyKey === 'string' && idempotencyKey.length > limits.keyLength) {
    throw new Refusal(
      400,
      `Cannot use an idempotencyKey of ${idempotencyKey.length} characters: at most ${limits.keyLength} are allowed`,
    )
  }
}
