import { task } from 'waitpoint'
import type { Body } from 'waitpoint/testing'
import type { Twin } from '../twin.ts'

/** A worker stands still before it pays, and pays when another one has done so. The bank of the twin knows the key of a payment. */
export const pausedWorker: Twin = (isFixed) => {
  const body: Body = async (t) => {
    const payments: string[] = []
    const pay = (key: string): void => {
      if (!isFixed || !payments.includes(key)) payments.push(key)
    }
    const salary = task({
      id: 'salary',
      run: async (_payload: null, { ctx }) => t.step('pay', () => pay(ctx.run.id)),
    })
    t.use(salary)
    const web = t.startEngine('web', { execute: false })
    for (const name of ['worker-1', 'worker-2']) t.startEngine(name)
    const run = await web.trigger(salary, null)
    await run.result()
    // The worker that stood still goes on.
    await t.clock.sleep('10m')
    if (payments.length > 1) throw new Error(`the salary was paid ${payments.length} times`)
  }
  return { body, options: { pauses: 'every-commit' }, breaks: 'the body holds' }
}
