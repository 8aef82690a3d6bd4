import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { createEngine } from 'waitpoint'
import { serve } from 'waitpoint/http'
import { ArgumentError, readArguments } from './arguments.ts'
import type { Arguments } from './arguments.ts'
import type { ReviewStreams } from './review-task.ts'
import { review } from './review-task.ts'
import { Screen } from './screen.ts'

/** Reviews a file: streams it, asks another process for approval over HTTP, prints what came of it. */
async function main({ file, bytes, ask }: Arguments): Promise<void> {
  const screen = new Screen(bytes)
  await using engine = createEngine({ tasks: [review] })
  await using server = await serve(engine, { port: 0 })
  engine.on('run', (run) => screen.run(run))
  engine.on('token', (token) => screen.token(token))
  stopOnSignals(async () => {
    await server.close()
    await engine.close()
  })

  const run = await engine.trigger(review, { file, bytes })
  let isAsked = false
  const parts = engine.runs.subscribeToRun(run.id).withStreams<ReviewStreams>()
  for await (const part of parts) {
    if (part.type === 'draft') {
      screen.text(part.chunk)
      continue
    }
    const url = part.run.metadata['approveAt']
    if (isAsked || typeof url !== 'string') continue
    isAsked = true
    screen.progress()
    askForApproval(url, { screen, ask, failed: () => engine.runs.cancel(run) })
  }
  screen.line(`output ${JSON.stringify(await run.result())}`)
  screen.timeline()
}

function askForApproval(url: string, { screen, ask, failed }: Asking): void {
  const body = '{"approved":true,"by":"me"}'
  screen.line(`approve with:\n  curl -X POST ${url} -H 'content-type: application/json' -d '${body}'`)
  if (ask) {
    screen.line('waiting 10 minutes for your curl …')
    return
  }
  const child = spawn(process.execPath, [fileURLToPath(new URL('./approve.js', import.meta.url)), url], {
    stdio: 'inherit',
  })
  child.on('error', (error) => process.stderr.write(`Cannot start the approving process: ${error.message}\n`))
  child.on('close', (code) => {
    if (code !== 0) failed().catch((error: unknown) => process.stderr.write(`${String(error)}\n`))
  })
}

interface Asking {
  readonly screen: Screen
  readonly ask: boolean
  /** The process that should have approved did not. */
  readonly failed: () => Promise<unknown>
}

function stopOnSignals(close: () => Promise<void>): void {
  for (const [signal, exitCode] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    process.once(signal, () => {
      process.stderr.write(`\nstopped by ${signal}\n`)
      const exit = (): never => process.exit(exitCode)
      close().then(exit, exit)
    })
  }
}

// A reader that has seen enough, such as head, closes the pipe.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))

try {
  await main(readArguments(process.argv.slice(2)))
} catch (error) {
  process.exitCode = 1
  process.stderr.write(`${error instanceof ArgumentError ? error.message : String(error)}\n`)
}
