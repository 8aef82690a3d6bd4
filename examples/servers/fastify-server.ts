// A Fastify application with an engine in it. `tasks.ts` and `engine.ts` are those of docs/in-your-server.md.
import fastify from 'fastify'
import { createHandler, toNodeListener } from 'waitpoint/http'
import { engine } from './engine.ts'
import { review } from './tasks.ts'

const app = fastify({ forceCloseConnections: true })
const listener = toNodeListener(createHandler(engine, { basePath: '/engine' }))

await app.register(async (scope) => {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', (_request, _body, done) => done(null))
  scope.all('/engine/*', (request, reply) => {
    reply.hijack()
    listener(request.raw, reply.raw)
  })
})

app.post<{ Body: { doc?: unknown } | null }>('/reviews', async (request, reply) => {
  const doc = request.body?.doc
  if (typeof doc !== 'string') return reply.code(400).send()
  const run = await engine.trigger(review, { doc })
  return reply.code(201).send({ run: run.id, accessToken: run.publicAccessToken })
})

await app.listen({ port: Number(process.env.PORT ?? 3000) })
await engine.ready()

process.once('SIGTERM', async () => {
  await app.close() // with forceCloseConnections it cuts subscriptions
  await engine.close()
})
