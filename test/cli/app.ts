import { createEngine, metadata, task, wait } from 'waitpoint'
import { serve } from 'waitpoint/http'
import { sqliteStorage } from 'waitpoint/sqlite'

/** An app as users have it, in a process of its own: `node app.js <file> <key>`. It says where it is reached. */
const [file = '', secretKey = ''] = process.argv.slice(2)

const greet = task({
  id: 'greet',
  queue: { name: 'greetings' },
  run: async ({ name }: { name: string }) => {
    await metadata.stream('words', words('Hello', name))
    return `Hello ${name}`
  },
})

async function* words(...all: readonly string[]): AsyncGenerator<string> {
  yield* all
}

const ask = task({
  id: 'ask',
  version: '1',
  run: async () => wait.forToken(await wait.createToken({ timeout: '1h', tags: ['question'] })).unwrap(),
})

const fail = task({
  id: 'fail',
  run: async () => {
    throw new RangeError('there is no way')
  },
})

/** It never ends by itself. */
const hold = task({ id: 'hold', run: async (_: unknown, { signal }) => held(signal) })

function held(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))))
}

const engine = createEngine({ tasks: [greet, ask, fail, hold], storage: sqliteStorage(file), secretKey })
await engine.ready()
const server = await serve(engine)
process.stdout.write(`${server.url}\n`)
process.on('SIGTERM', () => {
  void server.close().then(() => engine.close())
})
