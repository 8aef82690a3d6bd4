import { task, wait } from 'waitpoint'
import type { Body } from 'waitpoint/testing'
import type { Twin } from '../twin.ts'

/** A second attempt logs what the first has logged, the log refuses it, and the task does not look. The twin does. */
export const forgottenAudit: Twin = (isFixed) => {
  const body: Body = async (t) => {
    const entries = new Set<string>()
    const log = t.outside('log', {
      insert: (entry: string) => {
        if (entries.has(entry)) return Promise.reject(new Error(`Cannot insert "${entry}": it is there`))
        return Promise.resolve(void entries.add(entry))
      },
    })
    const order = task({
      id: 'order',
      run: async (id: string) => {
        const written = log.insert(id)
        if (isFixed) await written.catch(() => undefined)
        await wait.for({ seconds: 1 })
      },
    })
    t.use(order)
    await (await t.engine.trigger(order, 'order-1')).result()
  }
  return { body, options: { crashes: 'every-commit' }, breaks: 'no rejection is left unhandled' }
}
