import { CLIENT_VERSION, IDLE_SECONDS, STREAM_START } from '../../hosted/headers.ts'
import type { Context } from 'hono'
import { isFinal } from '../../contract/run-states.ts'
import type { Caller } from '../access/caller.ts'
import { eventResponse } from '../events/response.ts'
import { Refusal } from '../refusal.ts'
import type { RouteContext } from '../route-context.ts'
import { requireReadableRun } from '../runs/access.ts'
import type { Inside } from '../../core/inside.ts'
import { type LeftPages, pagesToRunEnd, type PagedPlace } from './pages-to-run-end.ts'
import { streamEvents } from './events.ts'

const MOST_IDLE_SECONDS = 600

interface StreamRequest {
  readonly caller: Caller
  readonly id: string
  readonly key: string
}

/**
 * Answers with a stream of a run.
 *
 * @throws Refusal 400, 403 or 404.
 */
export async function readStream(
  c: Context,
  context: RouteContext,
  { caller, id, key }: StreamRequest,
): Promise<Response> {
  const { inside } = context
  const idleMs = readIdleMs(c.req.header(IDLE_SECONDS))
  const lastId = readLastId(c.req.header('last-event-id'))
  const start = readStart(c.req.query('startIndex'))
  await requireReadableRun(context, caller, id)
  const isLatest = lastId === undefined && c.req.header(STREAM_START) === 'latest'
  const from = isLatest ? await tailOf(context, { id, key }) : lastId === undefined ? start : lastId + 1
  // A reader that begins at `startIndex` has not been cut off there.
  const isLast = readAttempts(c.req.query('attempts'))
  const place = { runId: id, key, from, isResumed: from !== start, isLast }
  const { pages, leave } = readUntil(c.req.query('until'))
    ? pagesToRunEnd(inside, place)
    : firstPages(inside, place)
  const takesAllForChunks = c.req.header(CLIENT_VERSION) !== undefined
  const texts = streamEvents({ key, pages, takesAllForChunks })
  return eventResponse(c, context, {
    texts,
    leave,
    idleMs,
    caller,
  })
}

/** The sequence of the next chunk to be written. */
async function tailOf(
  { inside }: RouteContext,
  { id, key }: { readonly id: string; readonly key: string },
): Promise<number> {
  const { host, streams } = inside
  const run = await inside.read(() => host.storage.runs.get(id))
  const isOver = run === undefined || isFinal(run.status)
  const read = await streams.read({ runId: id, key, from: 0, limit: 1 }, isOver)
  return read?.stream.next ?? 0
}

/** The sequence after which a reader continues. The published client sends -1 for the start. */
function readLastId(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined
  const id = Number(text)
  if (Number.isSafeInteger(id) && id >= -1) return id
  throw new Refusal(
    400,
    `Cannot read on after ${JSON.stringify(text.slice(0, 100))}: Last-Event-ID must be a whole number`,
  )
}

/** Whether chunks that a later attempt writes again are left out. */
function readAttempts(text: string = 'all'): boolean {
  if (text === 'all' || text === 'last') return text === 'last'
  throw new Refusal(400, `Cannot use attempts ${JSON.stringify(text.slice(0, 100))}: it must be all or last`)
}

/** Whether it goes on to the end of the run. */
function readUntil(text: string | undefined): boolean {
  if (text === undefined || text === 'run') return text === 'run'
  throw new Refusal(400, `Cannot read until ${JSON.stringify(text.slice(0, 100))}: it must be run`)
}

/** One stream to the first moment at which all of its sources have ended. */
function firstPages({ streams }: Inside, place: PagedPlace): LeftPages {
  const pages = streams.pages(place)
  return { pages, leave: () => pages.return() }
}

/** The sequence to begin at. */
function readStart(text: string | undefined): number {
  const start = Number(text ?? 0)
  if (text !== '' && Number.isSafeInteger(start) && start >= 0) return start
  throw new Refusal(
    400,
    `Cannot use startIndex ${JSON.stringify(text?.slice(0, 100))}: it must be a whole number from 0`,
  )
}

function readIdleMs(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const seconds = Number(text)
  if (Number.isInteger(seconds) && seconds >= 1 && seconds <= MOST_IDLE_SECONDS) return seconds * 1_000
  const range = `a whole number from 1 to ${MOST_IDLE_SECONDS}`
  throw new Refusal(
    400,
    `Cannot use Timeout-Seconds ${JSON.stringify(text.slice(0, 100))}: it must be ${range}`,
  )
}
