import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { createEngine } from 'waitpoint'
import type { Engine, Run } from 'waitpoint'
import { serve } from 'waitpoint/http'
import { sqliteStorage } from 'waitpoint/sqlite'
import { ArgumentError, readArguments } from './arguments.ts'
import type { Arguments } from './arguments.ts'
import type { ReviewStreams } from './review-task.ts'
import { review } from './review-task.ts'
import { Screen } from './screen.ts'

/** Reviews a file: streams it, asks another process for approval over HTTP, and prints the result. */
async function main({ file, bytes, ask, db }: Arguments): Promise<void> {
  const screen = new Screen(bytes)
  await using engine = createEngine({
    tasks: [review],
    ...(db !== undefined && { storage: sqliteStorage(db) }),
  })
  const unfinished = db === undefined ? undefined : await unfinishedReview(engine)
  // A printed URL is valid as long as its token, so the server returns to its earlier port.
  await using server = await serve(engine, { port: portOf(unfinished?.metadata['approveAt']) })
  engine.on('run', (run) => screen.run(run))
  engine.on('token', (token) => screen.token(token))
  stopOnSignals(async () => {
    await server.close()
    await engine.close()
  })

  if (unfinished !== undefined) screen.line(`continuing with ${unfinished.id}`)
  const run = unfinished ?? (await engine.trigger(review, { file, bytes }))
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
    askForApproval(url, { screen, ask, failed: () => engine.runs.cancel(run.id) })
  }
  screen.line(`output ${JSON.stringify((await engine.runs.poll(run.id)).output)}`)
  screen.timeline()
}

/** The unfinished run that an earlier start of this program left in the database. */
async function unfinishedReview(engine: Engine): Promise<Run | undefined> {
  const status = ['QUEUED', 'EXECUTING', 'WAITING'] as const
  const [run] = (await engine.runs.list({ taskIdentifier: review.id, status, limit: 1 })).data
  return run
}

/** The port of a printed URL; 0, for any port, if there is none. */
function portOf(url: unknown): number {
  return typeof url === 'string' ? Number(new URL(url).port) : 0
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
  /** The approving process failed. */
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

// A reader that has seen enough, such as `head`, closes the pipe.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))

try {
  await main(readArguments(process.argv.slice(2)))
} catch (error) {
  process.exitCode = 1
  process.stderr.write(`${error instanceof ArgumentError ? error.message : String(error)}\n`)
}
