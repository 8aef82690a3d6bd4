/**
 * Programs that stand for hosts which are not installed here. Each does with a file of docs/in-your-server.md or of
 * examples/servers what the host does, as far as the file can see, on a server of Node.
 */

/** What the files use of packages and globals that are not here, for the type checker. */
export const DECLARATIONS = `
declare module 'next' {
  export interface NextConfig {
    readonly serverExternalPackages?: readonly string[]
  }
}
interface BunServer {
  timeout(request: Request, seconds: number): void
  stop(closeActiveConnections?: boolean): Promise<void>
}
declare const Bun: {
  serve(options: {
    readonly port: number
    fetch(request: Request, server: BunServer): Response | Promise<Response>
  }): BunServer
}
declare const Deno: {
  serve(
    options: { readonly port: number; readonly signal: AbortSignal },
    handler: (request: Request, info: { readonly remoteAddr: object }) => Response | Promise<Response>,
  ): { readonly finished: Promise<void> }
}
`

/** A server of Bun cuts requests that may be silent for long unless it is told not to: here they are refused. */
export const BUN = `
import { serve } from '@hono/node-server'
globalThis.Bun = {
  serve({ port, fetch }) {
    const patient = new WeakSet()
    const bun = {
      timeout: (request, seconds) => void (seconds === 0 && patient.add(request)),
      stop: (force) =>
        new Promise((resolve) => {
          server.close(() => resolve())
          if (force) server.closeAllConnections()
        }),
    }
    const answer = async (request) => {
      const response = await fetch(request, bun)
      const isPatient = patient.has(request) || !request.url.includes('/engine/')
      return isPatient ? response : new Response('It would be cut after ten seconds', { status: 500 })
    }
    const server = serve({ port, fetch: answer })
    return bun
  },
}
await import('./bun-server.mjs')
`

export const DENO = `
import { serve } from '@hono/node-server'
globalThis.Deno = {
  serve({ port, signal }, handler) {
    const server = serve({ port, fetch: (request) => handler(request, { remoteAddr: {} }) })
    const finished = new Promise((resolve) => {
      signal.addEventListener('abort', () => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
    })
    return { finished }
  },
}
await import('./deno-server.mjs')
`

/**
 * As Next loads them: \`register\` once at the start, the route as a bundle of its own, which is evaluated again between
 * two requests. A page of the application has its own bundle of \`lib/engine.ts\`.
 */
export const NEXT = `
import { serve } from '@hono/node-server'
process.env.NEXT_RUNTIME = 'nodejs'
const { register } = await import('./instrumentation.mjs')
await register()
let loads = 0
const fetch = async (request) => {
  loads += 1
  const { pathname } = new URL(request.url)
  if (pathname.startsWith('/engine/')) {
    const route = await import('./app/engine/[...path]/route.mjs?load=' + loads)
    const answer = route[request.method]
    return answer === undefined ? new Response(null, { status: 405 }) : answer(request, { params: Promise.resolve({}) })
  }
  if (request.method !== 'POST' || pathname !== '/reviews') return new Response('Not found', { status: 404 })
  const { engine } = await import('./lib/engine.mjs?load=' + loads)
  const { doc } = await request.json()
  if (typeof doc !== 'string') return new Response(null, { status: 400 })
  const run = await engine.tasks.trigger('review', { doc })
  return Response.json({ run: run.id, accessToken: run.publicAccessToken }, { status: 201 })
}
const server = serve({ fetch, port: Number(process.env.PORT) })
process.once('SIGTERM', async () => {
  const { engine } = await import('./lib/engine.mjs')
  server.close()
  await engine.close()
  server.closeAllConnections()
})
`
