import type { Hono } from 'hono'
import { PUBLIC_CLAIMS, signAccessToken } from './access/token.ts'
import { readJsonObject } from './requests/json-body.ts'
import { addRoute } from './route.ts'
import type { RouteContext } from './route-context.ts'
import { refusingWrongInput } from './requests/wrong-input.ts'

/** How a holder of a secret key gets public access tokens: what to sign them with itself, or a signed one. */
export function addAuthRoutes(app: Hono, { gate, limits, kernel }: RouteContext): void {
  const { credentials, host } = kernel.parts

  addRoute(app, '/api/v1/auth/jwt/claims', {
    POST: async (c) => {
      const caller = await gate.enter(c.req.raw)
      caller.requireSecretKey()
      return c.json(PUBLIC_CLAIMS)
    },
  })

  addRoute(app, '/api/v1/auth/public-tokens', {
    POST: async (c) => {
      const caller = await gate.enter(c.req.raw)
      // An access token that could sign others would never end.
      caller.requireSecretKey()
      const asked = await readJsonObject(c.req.raw, limits.otherBytes)
      const signing = { key: credentials.secretKeys[0] ?? '', now: host.now() }
      return c.json({ token: await refusingWrongInput(() => signAccessToken(asked, signing)) })
    },
  })
}
