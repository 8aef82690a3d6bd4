import { metadata, streams, task } from '@trigger.dev/sdk'

export const thoughts = streams.define<{ step: string; by: string }>({ id: 'thoughts' })

async function* tokens(text: string) {
  for (const word of text.split(' ')) yield word
}

/** Shows its work in the streams of the runs above it, which readers follow. */
export const writer = task({
  id: 'above-writer',
  run: async ({ topic, top }: { topic: string; top: string }, { ctx }) => {
    await thoughts.append({ step: 'begin', by: topic }, { target: 'parent' })
    const shown = await metadata.parent.stream(`draft-${topic}`, tokens(`on ${topic}`))
    let count = 0
    for await (const _word of shown) count += 1
    const piped = streams.pipe('all', tokens(`all ${topic}`), { target: 'root' })
    await piped.waitUntilComplete()
    const { waitUntilComplete } = streams.writer<string>('notes', {
      target: top,
      execute: ({ write }) => {
        write(`note ${topic}`)
      },
    })
    await waitUntilComplete()
    await streams.append('notes', `more ${topic}`, { target: top })
    await metadata.root.stream('last', tokens(topic))
    await streams.append('own', ctx.task.id, { target: 'self' })
    return count
  },
})

export const editor = task({
  id: 'above-editor',
  run: async ({ topics, top }: { topics: string[]; top: string }) => {
    let words = 0
    for (const topic of topics) words += await writer.triggerAndWait({ topic, top }).unwrap()
    return words
  },
})

export const paper = task({
  id: 'above-paper',
  run: async ({ topics }: { topics: string[] }, { ctx }) => {
    await streams.append('all', 'a run without a parent', { target: 'parent' })
    return editor.triggerAndWait({ topics, top: ctx.run.id }).unwrap()
  },
})

export async function readAll(runId: string, key: string) {
  const all: unknown[] = []
  for await (const chunk of await streams.read<unknown>(runId, key)) all.push(chunk)
  return all
}
