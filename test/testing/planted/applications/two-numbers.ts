import { once, task, wait } from 'waitpoint'
import type { Body } from 'waitpoint/testing'
import type { Twin } from '../twin.ts'

/** An invoice gets another number after a crash than the one that its mail names. The twin keeps its number with `once`. */
export const twoNumbers: Twin = (isFixed) => {
  const body: Body = async (t) => {
    let last = 0
    const mailed = new Set<number>()
    const db = t.outside('db', { nextNumber: () => Promise.resolve((last += 1)) })
    const smtp = t.outside('smtp', {
      send: (invoice: number) => Promise.resolve(void mailed.add(invoice)),
    })
    const invoice = task({
      id: 'invoice',
      run: async (_payload: null) => {
        const number = isFixed ? await once('number', () => db.nextNumber()) : await db.nextNumber()
        await smtp.send(number)
        await wait.for({ days: 30 })
      },
    })
    t.use(invoice)
    await (await t.engine.trigger(invoice, null)).result()
    if (mailed.size > 1) throw new Error(`the invoice has the numbers ${[...mailed].join(' and ')}`)
  }
  return { body, options: { crashes: 'every-commit' }, breaks: 'the body holds' }
}
