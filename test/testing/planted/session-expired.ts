import { task, wait } from 'waitpoint'
import type { Body, ExplorationTools } from 'waitpoint/testing'
import type { Planted } from './planted.ts'

const HOUR = 3_600_000

export interface Session {
  readonly endsAt: number
}

/** Sends a request of a session. */
export type Send = (t: ExplorationTools, session: Session, renew: () => Session) => Promise<void>

/** A run logs in, waits, and sends a request with the session, which ends after an hour. */
export function portal(send: Send): Body {
  return async (t) => {
    const upload = task({
      id: 'upload',
      run: async (_payload: null) => {
        const logIn = (): Session => ({ endsAt: t.clock.now() + HOUR })
        const session = logIn()
        await wait.for({ minutes: 59 })
        await send(t, session, logIn)
      },
    })
    t.use(upload)
    const run = await t.engine.trigger(upload, null)
    await t.clock.sleep('2h')
    const outcome = await run.outcome()
    if (!outcome.ok) throw outcome.error
  }
}

/** The server takes the request, or not. */
export function request(t: ExplorationTools, session: Session): Promise<boolean> {
  return t.step('send the request', () => t.clock.now() < session.endsAt)
}

/** Looks whether the session is good enough, and takes it that the request is there at once. */
export const sessionExpired: Planted = {
  body: portal(async (t, session, renew) => {
    const good = session.endsAt > t.clock.now() ? session : renew()
    if (!(await request(t, good))) throw new Error('the session has ended')
  }),
  options: {},
  breaks: 'the body holds',
}
