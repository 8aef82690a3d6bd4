import type { Engine } from '../core/engine.ts'

/** Posts to the URLs of an engine's tokens: through its HTTP handler, which is loaded with the first call. */
export function tokenPost(engine: Engine): (url: string, body?: unknown) => Promise<Response> {
  return async (url, body) => {
    const { createHandler } = await import('../http/create-handler.ts')
    const headers = { 'content-type': 'application/json' }
    const content = body === undefined ? {} : { headers, body: JSON.stringify(body) }
    return createHandler(engine)(new Request(url, { method: 'POST', ...content }))
  }
}
