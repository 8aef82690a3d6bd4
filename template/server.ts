import { existsSync } from 'node:fs'
import { createEngine } from 'waitpoint'
import { serve } from 'waitpoint/http'
import { sqliteStorage } from 'waitpoint/sqlite'
import { approval, publish } from './tasks/publish.ts'

if (existsSync('.env')) process.loadEnvFile('.env')
const secretKey = process.env['SECRET_KEY']
if (!secretKey) {
  console.error(`There is no SECRET_KEY. Write one into .env, which is not in git:
  node -p "'SECRET_KEY=' + crypto.randomBytes(32).toString('hex')" >> .env`)
  process.exit(1)
}

const engine = createEngine({ tasks: [publish], storage: sqliteStorage('app.db'), secretKey })
engine.on('run', ({ id, status, output }) => console.log(id, status, output ?? ''))
engine.on('error', ({ error }) => console.error(error))

const port = Number(process.env['PORT'] || 3000)
const server = await serve(engine, { port, console: true }).catch((error: Error) => {
  console.error(`${error.message}\nAnother port: PORT=${port + 1} npm start`)
  process.exit(1)
})
console.log(`The console is at ${server.url}/console, and its key is SECRET_KEY in .env. Ctrl-C ends.`)
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => void server.close().then(() => engine.close()))

// What an earlier start has asked and still waits for. Its mail was sent then.
for await (const { id, question } of engine.wait.listTokens({ tags: approval.tag, status: 'WAITING' }))
  console.log(`Still waiting: ${question?.message} Answer at ${server.url}/console/tokens/${id}`)

// The key names this run: a second start finds it instead of beginning another one.
const options = { idempotencyKey: 'chapter 1', idempotencyKeyTTL: '30d' }
const run = await engine.trigger(publish, { doc: 'chapter 1' }, options)
if (run.isCached) console.log(`${run.id} was here before: the console shows it`)
