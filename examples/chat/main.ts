import { type ChildProcess, spawn } from 'node:child_process'
import { createEngine } from 'waitpoint'
import { placeOf, run } from '../host.ts'
import { chatTask } from './chat.ts'
import { talk } from './model.ts'
import { chatPages } from './pages.ts'

async function serveChat(): Promise<void> {
  const chat = chatTask(talk)
  const engine = createEngine({ tasks: [chat], ...placeOf('chat') })
  const kill = (): void => void process.kill(process.pid, 'SIGKILL')
  await run(engine, chatPages(engine, { chat, kill }))
}

/** Begins this program once more as a server, and anew whenever that was killed, as a host does. Ctrl-C ends both. */
function keepServer(): void {
  let isOver = false
  let server: ChildProcess | undefined
  const begin = (): void => {
    const env = { ...process.env, IS_SERVER: 'yes' }
    server = spawn(process.execPath, process.argv.slice(1), { stdio: 'inherit', env })
    server.once('exit', (code, signal) => {
      if (signal === 'SIGKILL' && !isOver) begin()
      else process.exitCode = code ?? (isOver ? 0 : 1)
    })
  }
  const end = (): void => {
    isOver = true
    server?.kill('SIGTERM')
  }
  process.on('SIGINT', end)
  process.on('SIGTERM', end)
  begin()
}

if (process.env['IS_SERVER'] === undefined) keepServer()
else await serveChat()
