import { once } from 'waitpoint'
import type { Planted } from './planted.ts'
import { dunning } from './reminded-twice.ts'

/** The twin without the bug: the key is drawn once for all attempts. */
export const remindedTwice: Planted = {
  body: dunning(async (t, send) => {
    const key = await once('key', () => String(t.clock.now()))
    await t.step('remind', () => send(key))
  }),
  options: { crashes: 'every-commit' },
  breaks: 'the body holds',
}
