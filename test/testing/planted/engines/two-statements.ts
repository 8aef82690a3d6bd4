import { task } from 'waitpoint'
import type { Body } from 'waitpoint/testing'
import type { Twin } from '../twin.ts'

/** A worker takes money, dies, and another worker begins anew. The twin marks in one statement what it does. */
export const twoStatements: Twin = (isFixed) => {
  const body: Body = async (t) => {
    const done = new Set<string>()
    let balance = 10
    const db = t.outside('db', {
      isDone: (id: string) => Promise.resolve(done.has(id)),
      take: () => Promise.resolve(void (balance -= 1)),
      mark: (id: string) => Promise.resolve(void done.add(id)),
      takeOnce: (id: string) => {
        if (!done.has(id)) balance -= 1
        return Promise.resolve(void done.add(id))
      },
    })
    const pay = task({
      id: 'pay',
      run: async (_payload: null, { ctx: { run } }) => {
        if (isFixed) return db.takeOnce(run.id)
        if (await db.isDone(run.id)) return
        await db.take()
        await db.mark(run.id)
      },
    })
    t.use(pay)
    const web = t.startEngine('web', { execute: false })
    for (const name of ['worker-1', 'worker-2']) t.startEngine(name)
    await (await web.trigger(pay, null)).result()
    if (balance !== 9) throw new Error(`the balance is ${balance}`)
  }
  return { body, options: { crashes: 'every-commit' }, breaks: 'the body holds' }
}
