import { createServer } from 'node:http'
import { readFileSync } from 'node:fs'
import { streamText } from 'ai'
import { createEngine } from 'waitpoint'
import { chatTask, createChatHandler } from 'waitpoint/ai'
import { toNodeListener } from 'waitpoint/http'
import { sqliteStorage } from 'waitpoint/sqlite'
import { openUsual } from '../databases/drivers.ts'
import { finish, HeldModel, words } from './models.ts'

/** The server of an application, in a process that a test kills. Its model says what the test tells it. */
const [place = '', port = '', script = ''] = process.argv.slice(2)
const held = new HeldModel()
const chat = chatTask({
  id: 'chat',
  run: ({ messages, signal }) => streamText({ model: held.model, messages, abortSignal: signal }),
})
const engine = createEngine({ tasks: [chat], storage: sqliteStorage(openUsual(place)) })
await engine.ready()
const answer = toNodeListener(createChatHandler(engine, chat, { authorize: () => 'ann' }))

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
  if (pathname.startsWith('/api/chat')) return answer(request, response)
  if (pathname === '/main.js') {
    response.setHeader('content-type', 'text/javascript')
    return response.end(readFileSync(script))
  }
  if (pathname === '/say') {
    const call = held.calls.at(-1)
    const text = searchParams.get('text') ?? ''
    call?.push(
      ...words(text).slice(searchParams.has('more') ? 1 : 0, searchParams.has('end') ? undefined : -1),
    )
    if (searchParams.has('end')) {
      call?.push(finish())
      call?.end()
    }
  }
  if (pathname === '/cut') server.closeAllConnections()
  if (pathname === '/') response.setHeader('content-type', 'text/html')
  const page =
    '<!doctype html><meta charset="utf-8"><title>Chat</title><body><script type="module" src="main.js"></script>'
  return response.end(pathname === '/' ? page : String(held.calls.length))
})
server.listen(Number(port), '127.0.0.1', () => process.stdout.write('ready\n'))
