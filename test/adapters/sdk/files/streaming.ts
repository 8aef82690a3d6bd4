import { metadata, runs, streams, task, type InferStreamType } from '@trigger.dev/sdk'

export const words = streams.define<string>({ id: 'words' })
export type Word = InferStreamType<typeof words>

async function* model(prompt: string) {
  for (const word of prompt.split(' ')) yield word
}

export const tell = task({
  id: 'tell',
  run: async (payload: { prompt: string }) => {
    const { stream, waitUntilComplete } = words.pipe(model(payload.prompt))
    let text = ''
    for await (const word of stream) text += `<${word}>`
    await waitUntilComplete()
    return text
  },
})

export const legacy = task({
  id: 'legacy',
  run: async (payload: { prompt: string }) => {
    const stream = await metadata.stream('draft', model(payload.prompt))
    let count = 0
    for await (const _word of stream) count += 1
    return count
  },
})

export const writing = task({
  id: 'writing',
  run: async () => {
    const { waitUntilComplete } = streams.writer<string>('notes', {
      execute: async ({ write }) => {
        write('one')
        write('two')
      },
    })
    await waitUntilComplete()
    await streams.append('more', 'three')
    return 'written'
  },
})

export async function readAll(runId: string) {
  const all: string[] = []
  for await (const word of await words.read(runId)) all.push(word)
  return all
}

export async function follow(runId: string) {
  const seen: string[] = []
  for await (const run of runs.subscribeToRun<typeof tell>(runId)) seen.push(run.status)
  return seen
}
