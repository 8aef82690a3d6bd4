import type { Hono } from 'hono'
import { callbackOutput } from './callback-output.ts'
import { completionOutput } from './completion.ts'
import { areEqualSecrets } from './equal-secrets.ts'
import { Refusal } from './refusal.ts'
import { checkAnnouncedLength, readBody } from './request-body.ts'
import { addRoute } from './route.ts'
import type { RouteContext } from './route-context.ts'

const TOKEN = '/api/v1/waitpoints/tokens/:id'

/** What completes a token over HTTP: the endpoint, and the token's own URL (specification 4.1). */
export function addTokenRoutes(app: Hono, { engine, kernel, gate, limits }: RouteContext): void {
  const { credentials } = kernel.parts
  const { completeBytes } = limits

  // For browsers, which get an access token. A token's URL is given to servers.
  addRoute(app, `${TOKEN}/complete`, {
    anyOrigin: true,
    POST: async (c) => {
      const caller = await gate.enter(c.req.raw)
      checkAnnouncedLength(c.req.raw, completeBytes)
      const id = plausibleTokenId(c.req.param('id'))
      const output = completionOutput(await readBody(c.req.raw, completeBytes))
      caller.require({ action: 'write', type: 'waitpoints', id })
      const { success, status } = await engine.wait.completeToken(id, output)
      // The published client takes any other answer for a malformed one.
      return c.json({ success: success || c.req.header('trigger-version') !== undefined, status })
    },
  })

  addRoute(app, `${TOKEN}/callback/:hash`, {
    POST: async (c) => {
      const { id, hash } = c.req.param()
      // Before anything is looked up: who has not been given the address must not learn whether the token exists.
      await gate.enterBy(`token ${id}`, () => {
        if (areEqualSecrets(hash, credentials.tokenHash(id))) return
        throw new Refusal(401, "Invalid URL, hash doesn't match")
      })
      checkAnnouncedLength(c.req.raw, completeBytes)
      const body = await readBody(c.req.raw, completeBytes)
      const output = await callbackOutput(body, c.req.header('content-type'))
      return c.json(await engine.wait.completeToken(plausibleTokenId(id), output))
    },
  })
}

/** An id as this library makes them: nothing else reaches a storage. */
function plausibleTokenId(id: string): string {
  if (/^waitpoint_\w{1,64}$/.test(id)) return id
  throw new Refusal(404, 'Waitpoint not found')
}
