import { convertArrayToReadableStream, MockLanguageModelV3 } from 'ai/test'

type Call = Parameters<MockLanguageModelV3['doStream']>[0]
type Chunks = Awaited<ReturnType<MockLanguageModelV3['doStream']>>['stream']
type Chunk = Chunks extends ReadableStream<infer Part> ? Part : never

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
}

export function finish(reason: 'stop' | 'tool-calls' = 'stop'): Chunk {
  return { type: 'finish', usage, finishReason: { unified: reason, raw: reason } }
}

/** The chunks of a text, word by word. */
export function words(text: string): readonly Chunk[] {
  const deltas = text.split(/(?<= )/).map((delta): Chunk => ({ type: 'text-delta', id: 't', delta }))
  return [{ type: 'text-start', id: 't' }, ...deltas, { type: 'text-end', id: 't' }]
}

export function call(toolCallId: string, toolName: string, input: unknown): Chunk {
  return { type: 'tool-call', toolCallId, toolName, input: JSON.stringify(input) }
}

/** What a model was told last: of a user, or of its tools. */
export function lastOf({ prompt }: Call): string {
  const last = prompt.at(-1)
  return typeof last?.content === 'string' ? last.content : JSON.stringify(last?.content)
}

/** A model that answers at once, with what a function says of its prompt. */
export function model(answer: (call: Call, count: number) => readonly Chunk[]): MockLanguageModelV3 {
  let count = 0
  return new MockLanguageModelV3({
    doStream: async (given) => ({ stream: convertArrayToReadableStream([...answer(given, count++)]) }),
  })
}

/** A model whose chunks are pushed by hand. */
export class HeldModel {
  readonly calls: {
    readonly given: Call
    readonly push: (...chunks: readonly Chunk[]) => void
    readonly end: () => void
  }[] = []
  readonly model: MockLanguageModelV3 = new MockLanguageModelV3({
    doStream: async (given) => {
      const stream = new ReadableStream<Chunk>({
        start: (controller) => {
          this.calls.push({
            given,
            push: (...chunks) => chunks.forEach((chunk) => controller.enqueue(chunk)),
            end: () => controller.close(),
          })
          given.abortSignal?.addEventListener('abort', () => controller.error(given.abortSignal?.reason))
        },
      })
      return { stream }
    },
  })
}
