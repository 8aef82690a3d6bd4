import type { Engine } from '../core/engine.ts'
import type { Handler } from '../http/create-handler.ts'

/** Posts to the URLs of an engine's tokens: through its HTTP handler, which is loaded with the first call. */
export function tokenPost(engine: Engine): (url: string, body?: unknown) => Promise<Response> {
  return async (url, body) => {
    const createHandler = await loadCreateHandler()
    return postJson(createHandler(engine), url, body)
  }
}

export async function loadCreateHandler(): Promise<(engine: Engine) => Handler> {
  return (await import('../http/create-handler.ts')).createHandler
}

/** Posts a JSON body, or none. */
export function postJson(handler: Handler, url: string, body: unknown): Promise<Response> {
  const headers = { 'content-type': 'application/json' }
  const content = body === undefined ? {} : { headers, body: JSON.stringify(body) }
  return handler(new Request(url, { method: 'POST', ...content }))
}
