import { Hono } from 'hono'
import { cors } from 'hono/cors'
import type { Engine } from '../core/engine.ts'
import type { Kernel } from '../core/kernel.ts'
import { allows } from './access-scope.ts'
import type { BodyLimits } from './body-limits.ts'
import { callbackOutput } from './callback-output.ts'
import { callerScopes } from './caller.ts'
import { completionOutput } from './completion.ts'
import { areEqualSecrets } from './equal-secrets.ts'
import { Refusal } from './refusal.ts'
import { checkAnnouncedLength, readBody } from './request-body.ts'

export interface TokenRouteOptions {
  readonly engine: Engine
  readonly kernel: Kernel
  readonly limits: Required<BodyLimits>
}

const COMPLETE = '/api/v1/waitpoints/tokens/:id/complete'
const CALLBACK = '/api/v1/waitpoints/tokens/:id/callback/:hash'

/** What completes a token over HTTP: the endpoint, and the token's own URL (specification 4.1). */
export function tokenRoutes({ engine, kernel, limits }: TokenRouteOptions): Hono {
  const app = new Hono()
  const { credentials } = kernel.parts
  const { completeBytes } = limits

  // For browsers, which get an access token. A token's URL is given to servers.
  app.use(COMPLETE, cors({ allowMethods: ['POST'], exposeHeaders: ['*'] }))
  app.post(COMPLETE, async (c) => {
    await kernel.open()
    const scopes = await callerScopes(c.req.raw, kernel.parts)
    checkAnnouncedLength(c.req.raw, completeBytes)
    const id = plausibleId(c.req.param('id'))
    const output = completionOutput(await readBody(c.req.raw, completeBytes))
    if (!allows(scopes, { action: 'write', type: 'waitpoints', id })) throw forbidden()
    const { success, status } = await engine.wait.completeToken(id, output)
    // The published client takes any other answer for a malformed one.
    return c.json({ success: success || c.req.header('trigger-version') !== undefined, status })
  })

  app.post(CALLBACK, async (c) => {
    // What signs the addresses is in the storage.
    await kernel.open()
    const { id, hash } = c.req.param()
    // Before anything is looked up: who has not been given the address must not learn whether the token exists.
    if (!areEqualSecrets(hash, credentials.tokenHash(id))) {
      throw new Refusal(401, "Invalid URL, hash doesn't match")
    }
    checkAnnouncedLength(c.req.raw, completeBytes)
    const body = await readBody(c.req.raw, completeBytes)
    const output = await callbackOutput(body, c.req.header('content-type'))
    return c.json(await engine.wait.completeToken(plausibleId(id), output))
  })

  app.on('ALL', [COMPLETE, CALLBACK], () => {
    throw new Refusal(405, 'Method not allowed', { headers: { allow: 'POST' } })
  })
  return app
}

/** An id as this library makes them: nothing else reaches a storage. */
function plausibleId(id: string): string {
  if (/^waitpoint_\w{1,64}$/.test(id)) return id
  throw new Refusal(404, 'Waitpoint not found')
}

function forbidden(): Refusal {
  const details = { code: 'unauthorized', param: 'access_token', type: 'authorization' }
  return new Refusal(403, 'Unauthorized', { details })
}
