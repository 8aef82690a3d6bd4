import { task, wait } from 'waitpoint'
import type { Body } from 'waitpoint/testing'
import type { Twin } from '../twin.ts'

/** A web process thanks for an answer that came too late for the worker. The twin reads whether the answer counts. */
export const successNotRead: Twin = (isFixed) => {
  const body: Body = async (t) => {
    const told: string[] = []
    const booking = task({
      id: 'booking',
      run: async (_payload: null) => {
        const token = await wait.createToken({ timeout: '1h', tags: ['booking'] })
        const answer = await wait.forToken(token)
        if (!answer.ok) told.push('expired')
      },
    })
    t.use(booking)
    t.startEngine('worker')
    const web = t.startEngine('web', { execute: false })
    const run = await web.trigger(booking, null)
    const { id } = await t.waitingToken({ tag: 'booking' })
    await t.clock.sleep('59m')
    if ((await web.wait.retrieveToken(id)).status === 'WAITING') {
      const { success } = await web.wait.completeToken(id, 'yes')
      if (!isFixed || success) told.push('confirmed')
    }
    await run.outcome()
    if (told.length > 1) throw new Error(`the booking was ${told.join(' and ')}`)
  }
  return { body, options: {}, breaks: 'the body holds' }
}
