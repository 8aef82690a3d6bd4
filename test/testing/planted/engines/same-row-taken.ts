import { task } from 'waitpoint'
import type { Body } from 'waitpoint/testing'
import type { Twin } from '../twin.ts'

/** Two workers read the oldest open row and mark it then. The twin marks it if it is still open. */
export const sameRowTaken: Twin = (isFixed) => {
  const body: Body = async (t) => {
    const open = new Set(['letter-1', 'letter-2'])
    const sent: string[] = []
    const db = t.outside('letters', {
      oldest: () => Promise.resolve([...open][0]),
      close: (letter: string) => Promise.resolve(open.delete(letter)),
    })
    const send = task({
      id: 'send',
      run: async (_payload: null) => {
        for (let letter = await db.oldest(); letter !== undefined; letter = await db.oldest()) {
          const isMine = await db.close(letter)
          if (isFixed && !isMine) continue
          sent.push(letter)
          return
        }
      },
    })
    t.use(send)
    const web = t.startEngine('web', { execute: false })
    for (const name of ['worker-1', 'worker-2']) t.startEngine(name, { concurrency: 1 })
    const first = await web.trigger(send, null)
    await t.clock.sleep('1m')
    const second = await web.trigger(send, null)
    for (const run of [first, second]) await run.result()
    if (new Set(sent).size < sent.length) throw new Error(`${sent.join(' and ')} were sent`)
  }
  return { body, options: {}, breaks: 'the body holds' }
}
