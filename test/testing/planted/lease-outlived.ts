import { task, wait } from 'waitpoint'
import type { Body } from 'waitpoint/testing'
import type { Planted } from './planted.ts'

/** A lock that expires after a minute guards work of 50 seconds, but the minute begins first: a holder held up in between writes over its successor's read. */
const body: Body = async (t) => {
  let holder: string | undefined // the token of the last lock
  let ledger: ReadonlySet<string> = new Set<string>() // replaced as a whole by each write

  const lock = async (): Promise<string> => {
    for (;;) {
      const held = holder
      if (held !== undefined) await wait.forToken(held) // released, or expired
      const mine = await wait.createToken({ timeout: '1m' })
      if (holder === held) {
        // no other attempt was faster
        holder = mine.id
        return mine.id
      }
    }
  }

  const post = task({
    id: 'post',
    run: async ({ entry }: { readonly entry: string }) => {
      const mine = await lock()
      const seen = ledger
      await t.step(`request the ${entry} figures`, () => undefined)
      await wait.for({ seconds: 50 }) // until they are there
      ledger = new Set([...seen, entry])
      await t.engine.wait.completeToken(mine, 'released')
    },
  })
  t.use(post)

  const sales = await t.engine.trigger(post, { entry: 'sales' })
  await t.clock.sleep('20s')
  const stock = await t.engine.trigger(post, { entry: 'stock' })
  for (const run of [sales, stock]) {
    const outcome = await run.outcome()
    if (!outcome.ok) throw outcome.error
  }
  for (const entry of ['sales', 'stock']) {
    if (!ledger.has(entry)) throw new Error(`${entry} is lost: the ledger has ${[...ledger].join(' and ')}`)
  }
}

export const leaseOutlived: Planted = { body, options: {}, breaks: 'the body holds' }
