import { createEngine } from 'waitpoint'
import type { Engine, Run } from 'waitpoint'
import { serve } from 'waitpoint/http'
import { sqliteStorage } from 'waitpoint/sqlite'
import { ArgumentError, HELP, readArguments } from './arguments.ts'
import type { Arguments } from './arguments.ts'
import type { AskedAt, ReviewStreams } from './review-task.ts'
import { review } from './review-task.ts'
import { Screen } from './screen.ts'

/** How long the draft takes on a terminal: to be seen. */
const DRAFT_MS = 3_000

/** Reviews a file: streams it, says where a person can answer, answers by itself if none does, and prints the result. */
async function main({ file, bytes, waitMs, db }: Arguments): Promise<void> {
  const screen = new Screen()
  await using engine = createEngine({
    tasks: [review],
    ...(db !== undefined && { storage: sqliteStorage(db) }),
  })
  const unfinished = db === undefined ? undefined : await unfinishedReview(engine)
  // A printed address is valid as long as its token, so the server returns to its earlier port.
  const port = unfinished === undefined ? 0 : portOf(askedAt(unfinished))
  let address = ''
  // Only this machine can reach the server, and only by its own address: pages of other sites cannot.
  const authorize = (request: Request): boolean => request.url.startsWith(`${address}/`)
  await using server = await serve(engine, { port, console: { authorize } }).catch((error: unknown) => {
    if (!(error instanceof Error) || unfinished === undefined) throw error
    throw new ArgumentError(
      `${error.message}. The links of ${unfinished.id} lead there: end what listens there, or use another --db`,
    )
  })
  address = server.url
  stopOnSignals(async () => {
    await server.close()
    await engine.close()
  })

  const draftMs = screen.isTerminal ? DRAFT_MS : 0
  const run = unfinished ?? (await engine.trigger(review, { file, bytes, draftMs }))
  screen.step(
    unfinished === undefined ? `triggers ${run.id}, which reviews ${file}` : `goes on with ${run.id}`,
  )
  // A link that ends with the program is for those who can follow it in time.
  if (waitMs > 0) screen.detail(`see it in the console: ${address}/console/runs/${run.id}`)
  const answering = new Answering(screen, waitMs, () => engine.runs.cancel(run.id))
  const draft = { characters: 0, bytes: 0 }
  let status: Run['status'] | undefined
  for await (const part of engine.runs.subscribeToRun(run.id).withStreams<ReviewStreams>()) {
    if (part.type === 'draft') {
      draft.characters += part.chunk.length
      draft.bytes += Buffer.byteLength(part.chunk)
      screen.status(`the draft streams: ${progress(draft.bytes, bytes)}, ${draft.characters} characters`)
      continue
    }
    if (part.run.status !== status) {
      status = part.run.status
      if (status === 'WAITING' && draft.characters > 0)
        screen.step(`the draft is there: ${draft.characters} characters`)
      screen.step(`the run is ${status}`)
    }
    const asked = askedAt(part.run)
    if (asked !== undefined && status === 'WAITING') answering.begin(asked)
  }
  await answering.end()
  screen.step(`its output is ${JSON.stringify((await engine.runs.poll(run.id)).output)}`)
}

/** The unfinished run that an earlier start of this program left in the database. */
async function unfinishedReview(engine: Engine): Promise<Run | undefined> {
  const status = ['QUEUED', 'EXECUTING', 'WAITING'] as const
  const [run] = (await engine.runs.list({ taskIdentifier: review.id, status, limit: 1 })).data
  return run
}

function askedAt({ metadata }: Run): AskedAt | undefined {
  return metadata['asked'] as AskedAt | undefined
}

/** The port of a printed address; 0, for any port, if there is none. */
function portOf(asked: AskedAt | undefined): number {
  return asked === undefined ? 0 : Number(new URL(asked.url).port)
}

function progress(done: number, all: number): string {
  const share = all === 0 ? 1 : Math.min(1, done / all)
  return `${'█'.repeat(Math.round(share * 20)).padEnd(20, '░')} ${Math.round(share * 100)} %`
}

/** Says how to answer, and does it itself when no person has. */
class Answering {
  readonly #screen: Screen
  readonly #waitMs: number
  readonly #failed: () => Promise<unknown>
  #timers: NodeJS.Timeout[] = []
  #hasBegun = false
  #approving: Promise<void> | undefined

  /** @param failed Is called if the answer is refused. */
  constructor(screen: Screen, waitMs: number, failed: () => Promise<unknown>) {
    this.#screen = screen
    this.#waitMs = waitMs
    this.#failed = failed
  }

  begin({ page, url }: AskedAt): void {
    if (this.#hasBegun) return
    this.#hasBegun = true
    const screen = this.#screen
    if (this.#waitMs === 0) {
      screen.step(
        'approves it at once, by a POST as of any program; --wait 20 waits for you and prints a page',
      )
      this.#approving = this.#approve(url)
      return
    }
    screen.detail(`answer on its page: ${page}`)
    screen.detail(`or by curl: curl -X POST ${url} -H 'content-type: application/json' -d '"approve"'`)
    const endsAt = Date.now() + this.#waitMs
    const count = (): void =>
      screen.status(`approves it by itself in ${Math.ceil((endsAt - Date.now()) / 1000)} s; Ctrl-C ends`)
    count()
    const approve = (): void => {
      screen.step(`no answer within ${this.#waitMs / 1000} s: approves it as that curl does`)
      this.#approving = this.#approve(url)
    }
    this.#timers = [setInterval(count, 1000), setTimeout(approve, this.#waitMs)]
  }

  /** Does what the curl does. */
  async #approve(url: string): Promise<void> {
    this.#stopCounting()
    try {
      const headers = { 'content-type': 'application/json' }
      const response = await fetch(url, { method: 'POST', headers, body: '"approve"' })
      this.#screen.step(`that is answered ${response.status} ${await response.text()}`)
      if (response.ok) return
    } catch (error) {
      process.stderr.write(`Cannot approve it: ${String(error)}\n`)
    }
    await this.#failed()
  }

  async end(): Promise<void> {
    this.#stopCounting()
    await this.#approving
  }

  #stopCounting(): void {
    for (const timer of this.#timers) clearTimeout(timer)
  }
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
  const given = readArguments(process.argv.slice(2), process.stdout.isTTY)
  if (given === undefined) process.stdout.write(HELP)
  else await main(given)
} catch (error) {
  process.exitCode = 1
  process.stderr.write(`${error instanceof ArgumentError ? error.message : String(error)}\n`)
}
