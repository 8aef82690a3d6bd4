// A server of Deno with an engine in it. `tasks.ts` and `engine.ts` are those of docs/in-your-server.md. `npm:waitpoint` in the
// imports of `deno.json` brings the package; the program needs `--allow-net` and `--allow-env`.
import process from 'node:process'
import { createHandler } from 'waitpoint/http'
import { engine } from './engine.ts'
import { review } from './tasks.ts'

const handler = createHandler(engine, { basePath: '/engine' })
const stop = new AbortController()

const server = Deno.serve(
  { port: Number(process.env.PORT ?? 3000), signal: stop.signal },
  async (request) => {
    const { pathname } = new URL(request.url)
    if (pathname.startsWith('/engine/')) return handler(request)
    if (request.method !== 'POST' || pathname !== '/reviews')
      return new Response('Not found', { status: 404 })
    const { doc } = (await request.json()) as { doc?: unknown }
    if (typeof doc !== 'string') return new Response('There is no doc', { status: 400 })
    const run = await engine.trigger(review, { doc })
    return Response.json({ run: run.id, accessToken: run.publicAccessToken }, { status: 201 })
  },
)
await engine.ready()

process.once('SIGTERM', async () => {
  await engine.close()
  stop.abort()
  await server.finished
})
