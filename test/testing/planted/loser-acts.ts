import { task, wait } from 'waitpoint'
import type { Body } from 'waitpoint/testing'
import type { Planted } from './planted.ts'

/** Whether the one who answers acts on it. */
export type Acts = (answered: { readonly success: boolean }) => boolean

/** Two people answer one question, and each acts on the own answer. */
export function twoAnswers(acts: Acts): Body {
  return async (t) => {
    const acted: string[] = []
    const ask = task({
      id: 'ask',
      run: async (_payload: null) => {
        const token = await wait.createToken({ timeout: '1h', tags: ['ask'] })
        return wait.forToken<string>(token).unwrap()
      },
    })
    t.use(ask)
    const run = await t.engine.trigger(ask, null)
    const token = await t.waitingToken({ tag: 'ask' })
    const answer = async (after: string, text: string): Promise<void> => {
      await t.clock.sleep(after)
      const { status } = await t.engine.wait.retrieveToken(token.id)
      if (status !== 'WAITING') return
      if (acts(await t.engine.wait.completeToken(token.id, text))) acted.push(text)
    }
    await Promise.all([answer('10m', 'yes'), answer('20m', 'no')])
    await run.outcome()
    if (acted.length > 1) throw new Error(`both acted: ${acted.join(' and ')}`)
  }
}

/** Takes it that the own answer has won, because the token was waiting. */
export const loserActs: Planted = {
  body: twoAnswers(() => true),
  options: {},
  breaks: 'the body holds',
}
