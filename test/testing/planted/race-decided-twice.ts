import { once, task, wait } from 'waitpoint'
import type { Body } from 'waitpoint/testing'
import type { Planted } from './planted.ts'

/** The sale's number is recorded but not its buyer, so a run that a crash repeats looks at the bids again, and may sell to another. */
const body: Body = async (t) => {
  let sales = 0
  const letters = new Map<number, Set<string>>() // whom each sale was promised to; the same letter twice is one letter

  const promise = (no: number, to: string): void => {
    const buyers = letters.get(no) ?? new Set<string>()
    letters.set(no, buyers.add(to))
  }

  const winner = async ({ ann }: { readonly ann: string }): Promise<string> =>
    (await wait.retrieveToken(ann)).status === 'COMPLETED' ? 'ann' : 'bob'

  const sell = task({
    id: 'sell',
    run: async (bids: { readonly ann: string; readonly bob: string }) => {
      await Promise.race([wait.forToken(bids.ann), wait.forToken(bids.bob)])
      const to = await winner(bids)
      const no = await once('sale', () => ++sales)
      promise(no, to)
      await wait.for({ minutes: 5 }) // time to object
      return to
    },
  })
  t.use(sell)

  const ann = await t.engine.wait.createToken({ timeout: '1h' })
  const bob = await t.engine.wait.createToken({ timeout: '1h' })
  const run = await t.engine.trigger(sell, { ann: ann.id, bob: bob.id })
  await t.clock.sleep('1m')
  await t.engine.wait.completeToken(bob.id, 'bob')
  await t.clock.sleep('1m')
  await t.engine.wait.completeToken(ann.id, 'ann')
  const outcome = await run.outcome()
  if (!outcome.ok) throw outcome.error
  for (const [no, buyers] of letters) {
    if (buyers.size > 1) throw new Error(`sale ${no} was promised to ${[...buyers].join(' and ')}`)
  }
}

export const raceDecidedTwice: Planted = {
  body,
  options: { crashes: 'every-commit' },
  breaks: 'the body holds',
}
