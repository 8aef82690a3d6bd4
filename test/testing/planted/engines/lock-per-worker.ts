import { type Task, task } from 'waitpoint'
import type { Body } from 'waitpoint/testing'
import type { Twin } from '../twin.ts'

/** A lock in the memory of each worker guards stock that both of them change. The twin has a queue, whose limit is one for all workers. */
export const lockPerWorker: Twin = (isFixed) => {
  const body: Body = async (t) => {
    let stock = 1
    let sold = 0
    const db = t.outside('stock', {
      read: () => Promise.resolve(stock),
      write: (left: number) => Promise.resolve(void (stock = left)),
    })
    const sell = (): Task<null, void> => {
      let lock: Promise<unknown> = Promise.resolve()
      const sale = async (): Promise<void> => {
        const left = await db.read()
        if (left === 0) return
        await db.write(left - 1)
        sold += 1
      }
      return task({
        id: 'sell',
        version: '1',
        ...(isFixed ? { queue: { concurrencyLimit: 1 } } : {}),
        run: async (_payload: null) => {
          const mine = lock.then(sale)
          lock = mine
          await mine
        },
      })
    }
    const [first, second] = [sell(), sell()]
    t.startEngine('worker-1', { tasks: [first], concurrency: 1 })
    t.startEngine('worker-2', { tasks: [second], concurrency: 1 })
    const web = t.startEngine('web', { tasks: [first], execute: false })
    const one = await web.trigger(first, null)
    await t.clock.sleep('1m')
    const other = await web.trigger(first, null)
    for (const run of [one, other]) await run.result()
    if (sold > 1) throw new Error(`one book was sold ${sold} times`)
  }
  return { body, options: {}, breaks: 'the body holds' }
}
