// A server of Bun with an engine in it. `tasks.ts` and `engine.ts` are those of docs/in-your-server.md.
// Bun closes a connection that was silent for 10 seconds, and a long poll is silent for up to 23: `server.timeout`.
import { createHandler } from 'waitpoint/http'
import { engine } from './engine.ts'
import { review } from './tasks.ts'

const handler = createHandler(engine, { basePath: '/engine' })

const server = Bun.serve({
  port: Number(process.env.PORT ?? 3000),
  async fetch(request, server) {
    const { pathname } = new URL(request.url)
    if (pathname.startsWith('/engine/')) {
      server.timeout(request, 0)
      return handler(request)
    }
    if (request.method !== 'POST' || pathname !== '/reviews')
      return new Response('Not found', { status: 404 })
    const { doc } = (await request.json()) as { doc?: unknown }
    if (typeof doc !== 'string') return new Response('There is no doc', { status: 400 })
    const run = await engine.trigger(review, { doc })
    return Response.json({ run: run.id, accessToken: run.publicAccessToken }, { status: 201 })
  },
})
await engine.ready()

process.once('SIGTERM', async () => {
  await engine.close()
  await server.stop(true)
})
