import type { UIMessage, UIMessageChunk } from 'ai'
import type { ChatHandler } from 'waitpoint/ai'

/** What a page asks and what it gets, without a browser: the bodies are those of `DefaultChatTransport`. */
export class ChatPage {
  readonly #handler: ChatHandler
  readonly #user: string
  readonly id: string

  constructor(handler: ChatHandler, { user = 'ann', id = 'c1' }: { user?: string; id?: string } = {}) {
    this.#handler = handler
    this.#user = user
    this.id = id
  }

  send(text: string, more: Readonly<Record<string, unknown>> = {}): Promise<Response> {
    return this.post({ messages: [userMessage(text)], trigger: 'submit-message', ...more })
  }

  post(body: Readonly<Record<string, unknown>>, path = ''): Promise<Response> {
    return this.request('POST', path, JSON.stringify({ id: this.id, ...body }))
  }

  follow(query = ''): Promise<Response> {
    return this.request('GET', `/${this.id}/stream${query}`)
  }

  async stop(streamId: string): Promise<unknown> {
    return (await this.post({ streamId }, `/${this.id}/stop`)).json()
  }

  async messages(): Promise<readonly UIMessage[]> {
    const { messages } = (await (await this.request('GET', `/${this.id}/messages`)).json()) as {
      messages: readonly UIMessage[]
    }
    return messages
  }

  request(
    method: string,
    path: string,
    body?: string,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    return this.#handler(
      new Request(`http://chat.test/chat${path}`, {
        method,
        headers: { 'content-type': 'application/json', cookie: this.#user, ...headers },
        ...(body !== undefined && { body }),
      }),
    )
  }
}

export function userMessage(text: string, id = `m-${text}`): UIMessage {
  return { id, role: 'user', parts: [{ type: 'text', text }] }
}

/** Who asks is in the cookie. */
export const authorize = (request: Request): string => request.headers.get('cookie') ?? ''

/** The chunks of an answer, as they come. */
export async function* chunksIn(response: Response): AsyncGenerator<UIMessageChunk> {
  if (response.body === null) return
  let text = ''
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    text += piece
    const events = text.split('\n\n')
    text = events.pop() ?? ''
    for (const event of events)
      if (event !== 'data: [DONE]') yield JSON.parse(event.slice('data: '.length)) as UIMessageChunk
  }
}

export async function allChunks(response: Response): Promise<readonly UIMessageChunk[]> {
  const chunks: UIMessageChunk[] = []
  for await (const chunk of chunksIn(response)) chunks.push(chunk)
  return chunks
}

/** The text of an answer. */
export async function textIn(response: Response): Promise<string> {
  return textOf(await allChunks(response))
}

export function textOf(chunks: readonly UIMessageChunk[]): string {
  return chunks.map((chunk) => (chunk.type === 'text-delta' ? chunk.delta : '')).join('')
}

export function textsOf(messages: readonly UIMessage[]): readonly string[] {
  return messages.map(({ role, parts }) => {
    const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
    return `${role}: ${text}`
  })
}
