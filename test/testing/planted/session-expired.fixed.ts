import type { Planted } from './planted.ts'
import { portal, request } from './session-expired.ts'

/** The twin without the bug: whether the session was good enough is what the server says. */
export const sessionExpired: Planted = {
  body: portal(async (t, session, renew) => {
    for (let good = session; !(await request(t, good)); good = renew());
  }),
  options: {},
  breaks: 'the body holds',
}
