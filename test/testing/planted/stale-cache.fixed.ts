import type { Planted } from './planted.ts'
import { priceList } from './stale-cache.ts'

/** The twin without the bug: what is no longer the version of the database is not stored. */
export const staleCache: Planted = {
  body: priceList((t, store, read) =>
    t.step('fill the cache', () => {
      if (read.version === store.price.version) store.cached = read
    }),
  ),
  options: {},
  breaks: 'the body holds',
}
