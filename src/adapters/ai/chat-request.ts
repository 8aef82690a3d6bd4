import { safeValidateUIMessages, type UIMessage } from 'ai'
import { GatheredBytes } from '../../primitives/gathered-bytes.ts'
import { RefusedChat } from './refused-chat.ts'
import type { TurnRequest } from './turn.ts'

/** What a transport of the AI SDK sends to have a message answered, or to answer an approval. */
export interface ChatRequest extends TurnRequest {
  readonly chat: string
}

const MOST_ID = 200
const TRIGGERS: readonly string[] = ['submit-message', 'regenerate-message']

/** Reads the JSON of a request, as far as it may be long. */
export async function readChatJson(
  request: Request,
  mostBytes: number,
): Promise<Readonly<Record<string, unknown>>> {
  // A form of another site is no JSON: a browser asks before it sends that.
  if (!/^application\/json\b/i.test(request.headers.get('content-type') ?? ''))
    throw new RefusedChat(415, 'Cannot read the body: its content-type must be application/json')
  const text = await readText(request, mostBytes)
  try {
    const body: unknown = JSON.parse(text)
    if (typeof body === 'object' && body !== null && !Array.isArray(body))
      return body as Record<string, unknown>
  } catch {
    // No JSON, as no object is.
  }
  throw new RefusedChat(400, 'Cannot read the body: it must be a JSON object')
}

async function readText(request: Request, mostBytes: number): Promise<string> {
  const tooLarge = new RefusedChat(413, `Cannot read the body: it has more than ${mostBytes} bytes`)
  if (Number(request.headers.get('content-length')) > mostBytes) throw tooLarge
  const reader = (request.body as ReadableStream<Uint8Array> | null)?.getReader()
  const body = new GatheredBytes()
  for (let piece = await reader?.read(); piece?.done === false; piece = await reader?.read()) {
    if (body.size + piece.value.byteLength > mostBytes) {
      await reader?.cancel()
      throw tooLarge
    }
    body.add(piece.value)
  }
  return new TextDecoder().decode(body.take())
}

/** Checks what a transport has sent. Of the messages only the last one is looked at: the history is that of the server. */
export async function readChatRequest(body: Readonly<Record<string, unknown>>): Promise<ChatRequest> {
  const { id, trigger = 'submit-message', messageId, messages, message = lastOf(messages) } = body
  const chat = chatId(id, 'id')
  if (!TRIGGERS.includes(trigger as string))
    throw new RefusedChat(400, `Cannot answer: "trigger" must be one of ${TRIGGERS.join(', ')}`)
  const request = {
    chat,
    trigger: trigger as TurnRequest['trigger'],
    ...(messageId !== undefined && messageId !== null && { messageId: chatId(messageId, 'messageId') }),
  }
  if (trigger === 'regenerate-message') return request
  return { ...request, message: await readMessage(message) }
}

/** The id of a chat, a message or a stream. */
export function chatId(value: unknown, name: string): string {
  if (typeof value === 'string' && value !== '' && value.length <= MOST_ID) return value
  throw new RefusedChat(400, `Cannot answer: "${name}" must be a text of 1 to ${MOST_ID} characters`)
}

async function readMessage(message: unknown): Promise<UIMessage> {
  const read = await safeValidateUIMessages({ messages: [message] })
  const checked = read.success ? read.data[0] : undefined
  if (checked === undefined || checked.role === 'system')
    throw new RefusedChat(400, 'Cannot answer: "messages" must end with a message of the user')
  chatId(checked.id, 'id of the message')
  return checked
}

function lastOf(messages: unknown): unknown {
  return Array.isArray(messages) ? messages.at(-1) : undefined
}
