import { task, wait } from 'waitpoint'
import type { Body } from 'waitpoint/testing'
import type { Planted } from './planted.ts'

/** The twin without the bug: the lock only saves work, and a write counts only if the ledger is still the one that was read, else it is done again. */
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
      while (!ledger.has(entry)) {
        const mine = await lock()
        const seen = ledger
        await t.step(`request the ${entry} figures`, () => undefined)
        await wait.for({ seconds: 50 }) // until they are there
        if (ledger === seen) ledger = new Set([...seen, entry]) // no await between the look and the write
        await t.engine.wait.completeToken(mine, 'released')
      }
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
