import { task } from 'waitpoint'
import type { Body, ExplorationTools } from 'waitpoint/testing'
import type { Planted } from './planted.ts'

/** A price, kept in a database and beside it in a cache. */
export interface PriceStore {
  price: { readonly amount: number; readonly version: number }
  cached: { readonly amount: number; readonly version: number } | undefined
}

/** Puts what was read from the database into the cache. */
export type Fill = (t: ExplorationTools, store: PriceStore, read: PriceStore['price']) => Promise<void>

/** One run shows the price and fills the cache; another one changes the price and empties it. */
export function priceList(fill: Fill): Body {
  return async (t) => {
    const store: PriceStore = { price: { amount: 10, version: 1 }, cached: undefined }
    const show = task({
      id: 'show',
      run: async (_payload: null) => {
        const read = await t.step('read the price', () => store.price)
        await fill(t, store, read)
      },
    })
    const change = task({
      id: 'change',
      run: async (_payload: null) => {
        await t.step('write the price', () => void (store.price = { amount: 20, version: 2 }))
        await t.step('empty the cache', () => void (store.cached = undefined))
      },
    })
    t.use(show, change)
    const runs = [await t.engine.trigger(show, null), await t.engine.trigger(change, null)]
    for (const run of runs) await run.result()
    if (store.cached !== undefined && store.cached.amount !== store.price.amount)
      throw new Error(`the cache says ${store.cached.amount}, the price is ${store.price.amount}`)
  }
}

/** What was read before the change is stored after the cache was emptied. */
export const staleCache: Planted = {
  body: priceList((t, store, read) => t.step('fill the cache', () => void (store.cached = read))),
  options: {},
  breaks: 'the body holds',
}
