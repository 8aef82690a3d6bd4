import type { UIMessageChunk } from 'ai'
import type { Run } from '../../api/run.ts'
import { StreamLaggedError, WaitpointError } from '../../api/errors.ts'
import type { Engine } from '../../core/engine.ts'
import { asksPerson } from './part.ts'
import { approvalTag, partKey } from './turn.ts'

const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
  'x-vercel-ai-ui-message-stream': 'v1',
}

interface Reading {
  readonly engine: Engine
  readonly signal: AbortSignal
}

/**
 * The chunks of a turn, from one of its parts on: to its end, or to where it waits for approvals. Where an attempt was lost, this
 * throws: what it wrote is written anew, and a page that reads again begins with the first chunk.
 */
async function* chunksOfTurn(
  { engine, signal }: Reading,
  runId: string,
  first: number,
): AsyncGenerator<UIMessageChunk> {
  // A page knows the message before the run begins: it may stop it.
  yield { type: 'start', messageId: runId }
  for (let part = first; ; part += 1) {
    const asked = { tags: approvalTag(runId), status: 'WAITING', limit: 1 } as const
    if (part > 0 && (await engine.wait.listTokens(asked)).data.length > 0) return
    const end = yield* chunksOfPart({ engine, signal }, runId, part)
    if (end === 'ended') return
  }
}

/** The chunks of one part, and whether it asks for approvals: then another part follows their answers. */
async function* chunksOfPart(
  { engine, signal }: Reading,
  runId: string,
  part: number,
): AsyncGenerator<UIMessageChunk, 'asked' | 'ended'> {
  let end: 'asked' | 'ended' = 'ended'
  try {
    const chunks = engine.streams.read<UIMessageChunk>(runId, partKey(part), { attempts: 'last', signal })
    for await (const chunk of chunks) {
      if (chunk.type !== 'start') yield chunk
      if (asksPerson(chunk)) end = 'asked'
      if (chunk.type !== 'finish') continue
      // What was said is kept when the page hears of the end.
      if (end === 'ended') await engine.runs.poll(runId)
      return end
    }
  } catch (error) {
    if (error instanceof StreamLaggedError) {
      yield { type: 'error', errorText: 'The beginning of this answer is no longer kept.' }
      return 'ended'
    }
    if (signal.aborted || !(await hasFailed(engine, runId, error))) throw error
  }
  const { isCanceled } = await engine.runs.poll(runId)
  yield isCanceled ? { type: 'abort' } : { type: 'error', errorText: 'An error occurred.' }
  return 'ended'
}

/** Whether the run of an answer that was cut has failed with it. Otherwise another attempt writes the answer anew. */
async function hasFailed(engine: Engine, runId: string, error: unknown): Promise<boolean> {
  let attempt: number | undefined
  for await (const { isExecuting, isCompleted, isSuccess, attemptCount } of engine.runs.subscribeToRun(
    runId,
  )) {
    attempt ??= attemptCount
    // Its source has thrown: the run is about to fail.
    const isFailing = error instanceof WaitpointError && error.code === 'ERR_STREAM_FAILED'
    if (!isFailing || !isExecuting || attemptCount !== attempt) return isCompleted && !isSuccess
  }
  return false
}

/** Answers with turns, one after the other, as they are written. The reader sets the pace; it may go away at any time. */
export function streamTurns(
  engine: Engine,
  turns: readonly Run[],
  { part = 0, skip = 0 }: { readonly part?: number; readonly skip?: number } = {},
): Response {
  const left = new AbortController()
  const chunks = async function* (): AsyncGenerator<UIMessageChunk> {
    let position = 0
    for (const { id } of turns)
      for await (const chunk of chunksOfTurn({ engine, signal: left.signal }, id, part)) {
        if (position >= skip) yield chunk
        position += 1
      }
  }
  const body = eventsOf(chunks(), () => left.abort(new DOMException('The reader has left', 'AbortError')))
  return new Response(body, { headers: HEADERS })
}

function eventsOf(chunks: AsyncGenerator<UIMessageChunk>, leave: () => void): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream({
    pull: async (controller) => {
      const next = await chunks.next()
      const data = next.done === true ? '[DONE]' : JSON.stringify(next.value)
      controller.enqueue(encoder.encode(`data: ${data}\n\n`))
      if (next.done === true) controller.close()
    },
    cancel: leave,
  })
}
