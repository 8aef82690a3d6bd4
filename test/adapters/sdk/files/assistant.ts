import { logger, streams, task } from '@trigger.dev/sdk'

interface Part {
  type: 'text' | 'tool'
  text: string
}

async function* answer(question: string): AsyncGenerator<Part> {
  yield { type: 'tool', text: `search ${question}` }
  for (const text of ['It ', 'depends.']) yield { type: 'text', text }
}

const sources = streams.define<string>({ id: 'sources' })

export const assistant = task({
  id: 'assistant',
  maxDuration: 300,
  run: async ({ question }: { question: string }) => {
    const { stream } = streams.pipe(answer(question))
    const text: string[] = []
    for await (const part of stream) if (part.type === 'text') text.push(part.text)
    const { waitUntilComplete } = sources.writer({
      execute: ({ write, merge }) => {
        write('memory')
        merge(
          new ReadableStream<string>({
            start: (controller) => {
              controller.enqueue('web')
              controller.close()
            },
          }),
        )
      },
    })
    await waitUntilComplete()
    await streams.append('log', `answered ${question}`)
    await sources.append('afterwards')
    logger.info('Answered', { length: text.length })
    return text.join('')
  },
})

export async function partsOf(runId: string): Promise<string[]> {
  const parts: string[] = []
  for await (const part of await streams.read<Part>(runId)) parts.push(part.type)
  for await (const source of await sources.read(runId, { startIndex: 1 })) parts.push(source)
  return parts
}
