import { task, wait } from 'waitpoint'
import type { Engine } from 'waitpoint'
import type { Body } from 'waitpoint/testing'
import type { Twin } from '../twin.ts'

/** Two web processes get the same webhook. Each looks whether the order waits and charges; the twin charges if it has completed it. */
export const twoWebProcesses: Twin = (isFixed) => {
  const order = task({
    id: 'order',
    run: async (_payload: null) => wait.forToken(await wait.createToken({ timeout: '1h', tags: ['order'] })),
  })
  const body: Body = async (t) => {
    let charges = 0
    const charge = (): Promise<void> => t.step('charge', () => void (charges += 1))
    t.startEngine('worker')
    const webs = ['web-1', 'web-2'].map((name) => t.startEngine(name, { execute: false }))
    const run = await t.engine.trigger(order, null)
    const { id } = await t.waitingToken({ tag: 'order' })
    const paid = async (web: Engine): Promise<void> => {
      if (isFixed) {
        const { success } = await web.wait.completeToken(id, 'paid')
        if (success) await charge()
      } else if ((await web.wait.retrieveToken(id)).status === 'WAITING') {
        await charge()
        await web.wait.completeToken(id, 'paid')
      }
    }
    const delivered = webs.map(async (web, place) => {
      await t.clock.sleep(place * 200)
      await paid(web)
    })
    await Promise.all(delivered)
    await run.outcome()
    if (charges > 1) throw new Error(`the order was charged ${charges} times`)
  }
  return { body, options: { tasks: [order] }, breaks: 'the body holds' }
}
