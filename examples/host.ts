// What the applications in the folders beside this file share: a database, a server for page and engine, and Ctrl-C.
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { serve } from '@hono/node-server'
import { type Context, Hono } from 'hono'
import { html } from 'hono/html'
import { streamSSE } from 'hono/streaming'
import type { Engine, Storage } from 'waitpoint'
import { createConsole } from 'waitpoint/console'
import { createHandler } from 'waitpoint/http'
import { sqliteStorage } from 'waitpoint/sqlite'
import type { z } from 'zod'
import { layout, type Page } from './layout.ts'

/** The port stays the same over a restart: links in mails lead there. */
const PORT = Number(process.env['PORT'] ?? 3000)
const ADDRESS = `http://localhost:${PORT}`

/** Node has SQLite built in from 22.13 on. For an older one see docs/sqlite.md#install. */
const HAS_SQLITE: boolean = process.getBuiltinModule('node:sqlite') !== undefined

/** Options that tell an engine where it is reached, and where it keeps its runs. In memory they end with the process. */
export function placeOf(name: string): { readonly baseUrl: string; readonly storage?: Storage } {
  const baseUrl = `${ADDRESS}/engine`
  return HAS_SQLITE ? { baseUrl, storage: sqliteStorage(fileOf(`${name}.db`)) } : { baseUrl }
}

/** The path of a file of an application. Delete the folder to begin anew. */
export function fileOf(name: string): string {
  mkdirSync('build/examples', { recursive: true })
  return `build/examples/${name}`
}

/** An application: its page, its engine at `/engine`, and the console at `/console`. */
export function createApp(engine: Engine, page: Page): Hono {
  const app = new Hono()
  const handler = createHandler(engine, { basePath: '/engine', answerPage: { brand: { name: page.title } } })
  app.all('/engine/*', (c) => handler(c.req.raw))
  // Only this machine reaches the server. Elsewhere your login says who may enter and who it is, for each request.
  const console = createConsole(engine, {
    basePath: '/console',
    authorize: () => true,
    user: () => page.user,
  })
  app.all('/console/*', (c) => console(c.req.raw))
  app.get('/', (c) => c.html(layout(page)))
  app.get('/live', async (c) => c.html(await page.live()))
  app.get('/changes', (c) =>
    streamSSE(c, async (stream) => {
      const tell = (): Promise<void> => stream.writeSSE({ data: 'look again' })
      const stopListening = engine.on('run', () => void tell())
      await tell()
      await new Promise<void>((resolve) => {
        stream.onAbort(resolve)
      })
      stopListening()
    }),
  )
  return app
}

/** What a form has sent, or the page that says what is wrong with it: browsers check forms, but anyone may send one. */
export async function readForm<Schema extends z.ZodType>(
  c: Context,
  schema: Schema,
): Promise<z.output<Schema> | Response> {
  const { success, data, error } = schema.safeParse(await c.req.parseBody())
  if (success) return data
  const problems = error.issues.map(
    ({ path, message }) => html`<li><b>${path.join('.')}</b>: ${message}</li>`,
  )
  return c.html(html`<h1>This cannot be used</h1><ul>${problems}</ul><a href="/">Back</a>`, 400)
}

/** Serves an application until Ctrl-C. */
export async function run(engine: Engine, app: Hono): Promise<void> {
  const server = serve({ fetch: app.fetch, port: PORT, hostname: '127.0.0.1' })
  try {
    await once(server, 'listening')
  } catch (error) {
    console.error(
      `Cannot listen on port ${PORT}: ${String(error)}\nAnother one: PORT=${PORT + 1} npm run example …`,
    )
    process.exit(1)
  }
  await engine.ready() // runs of an earlier start go on now
  console.log(`open ${ADDRESS} (Ctrl-C ends it)`)
  if (!HAS_SQLITE) console.log('runs are kept in memory, as this Node has no SQLite: a restart forgets them')

  const stop = async (): Promise<void> => {
    server.close()
    await engine.close()
    if ('closeAllConnections' in server) server.closeAllConnections()
  }
  process.once('SIGINT', () => void stop())
  process.once('SIGTERM', () => void stop())
}
