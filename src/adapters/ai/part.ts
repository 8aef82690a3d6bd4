import { createUIMessageStream, type UIMessage, type UIMessageChunk } from 'ai'
import { metadata } from '../../core/ambient/ambient.ts'
import type { Approvals, AskedCall } from './approval.ts'
import { partKey } from './turn.ts'

/** What `run` of a chat answers: the result of `streamText`, or a stream of the chunks of a message. */
export type ChatAnswer =
  | { toUIMessageStream(options: { onError: (error: unknown) => string }): AsyncIterable<UIMessageChunk> }
  | AsyncIterable<UIMessageChunk>

/** A part of an answer: the message as far as it is written, and the calls that wait for an approval. */
export interface WrittenPart {
  readonly message: UIMessage
  readonly asked: readonly AskedCall[]
}

interface PartRequest {
  /** Its id is that of the message: a page names by it what it stops. */
  readonly runId: string
  readonly part: number
  /** The history; with the message as far as it is written at its end, if this is not its first part. */
  readonly messages: readonly UIMessage[]
  readonly approvals: Approvals
  readonly answer: () => ChatAnswer | Promise<ChatAnswer>
  /** Aborted when the rest of the answer is not wanted any more: what there is stays. */
  readonly stop: AbortSignal
  /** Aborted when the attempt is over. */
  readonly signal: AbortSignal
}

type Finish = UIMessageChunk & { readonly type: 'finish' }
type ApprovalRequest = UIMessageChunk & { readonly type: 'tool-approval-request' }
type AvailableInput = UIMessageChunk & { readonly type: 'tool-input-available' }

/** Writes one part of an answer into its stream, for pages, and results in it. */
export async function writePart(request: PartRequest): Promise<WrittenPart> {
  const asked: AskedCall[] = []
  let message: UIMessage | undefined
  let failure: { readonly error: unknown } | undefined
  const chunks = createUIMessageStream({
    originalMessages: [...request.messages],
    generateId: () => request.runId,
    execute: async ({ writer }) => {
      for await (const chunk of chunksOf(request, asked)) writer.write(chunk)
    },
    onError: (error) => {
      failure ??= { error }
      return ''
    },
    onFinish: ({ responseMessage }) => {
      message = responseMessage
    },
  })
  const source = async function* (): AsyncGenerator<UIMessageChunk> {
    for await (const chunk of chunks) {
      // The run fails with the error, and may be tried again: only the last attempt shows one.
      if (failure !== undefined) throw failure.error
      yield chunk
    }
  }
  for await (const _ of await metadata.stream(partKey(request.part), source()));
  if (message === undefined) throw new Error(`Cannot end part ${request.part}: it has no message`)
  return { message, asked }
}

/** The chunks of an answer. What asks for an approval, and the end, come when the tokens of the approvals are there. */
async function* chunksOf(
  { approvals, answer, stop, signal }: PartRequest,
  asked: AskedCall[],
): AsyncGenerator<UIMessageChunk> {
  yield { type: 'start' }
  const inputs = new Map<string, AvailableInput>()
  const requests: ApprovalRequest[] = []
  let finish: Finish = { type: 'finish' }
  for await (const chunk of failing(await answer(), stop)) {
    signal.throwIfAborted()
    if (chunk.type === 'start') {
      if (chunk.messageMetadata !== undefined)
        yield { type: 'message-metadata', messageMetadata: chunk.messageMetadata }
    } else if (chunk.type === 'finish') finish = chunk
    else if (asksPerson(chunk)) requests.push(chunk)
    else {
      if (chunk.type === 'tool-input-available') inputs.set(chunk.toolCallId, chunk)
      yield chunk
    }
  }
  signal.throwIfAborted()
  for (const chunk of stop.aborted ? [] : requests) {
    const call = inputs.get(chunk.toolCallId)
    if (call === undefined)
      throw new Error(`Cannot ask for approval of call "${chunk.toolCallId}": it was not made`)
    asked.push(await approvals.create(chunk.approvalId, call))
    yield chunk
  }
  yield finish
}

/** The chunks of an answer, the error of which is thrown. */
async function* failing(answer: ChatAnswer, stop: AbortSignal): AsyncGenerator<UIMessageChunk> {
  let cause: Error | undefined
  const onError = (error: unknown): string => {
    cause = error instanceof Error ? error : new Error(String(error))
    return 'An error occurred.'
  }
  const chunks = 'toUIMessageStream' in answer ? answer.toUIMessageStream({ onError }) : answer
  try {
    for await (const chunk of chunks) {
      if (chunk.type === 'error') throw cause ?? new Error(chunk.errorText)
      yield chunk
    }
  } catch (error) {
    if (!stop.aborted) throw error
  }
}

/** A call that waits for a person. AI SDK 7 answers some requests itself. */
export function asksPerson(chunk: UIMessageChunk): chunk is ApprovalRequest {
  return chunk.type === 'tool-approval-request' && !('isAutomatic' in chunk && chunk.isAutomatic === true)
}
