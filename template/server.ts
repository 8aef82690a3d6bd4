import { createEngine } from 'waitpoint'
import { serve } from 'waitpoint/http'
import { sqliteStorage } from 'waitpoint/sqlite'
import { publish } from './tasks/publish.ts'

const engine = createEngine({
  tasks: [publish],
  storage: sqliteStorage('app.db'),
  secretKey: process.env['SECRET_KEY'] ?? '',
})
engine.on('run', ({ id, status, output }) => console.log(id, status, output ?? ''))
engine.on('error', ({ error }) => console.error(error))

const server = await serve(engine, { port: Number(process.env['PORT'] ?? 3000), console: true })
console.log(`The console is at ${server.url}/console, and its key is SECRET_KEY in .env. Ctrl-C ends.`)
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => void server.close().then(() => engine.close()))

// The key names this run: a second start finds it instead of beginning another one.
const options = { idempotencyKey: 'chapter 1', idempotencyKeyTTL: '30d' }
const run = await engine.trigger(publish, { doc: 'chapter 1' }, options)
if (run.isCached) console.log(`${run.id} was here before: the console shows it`)
