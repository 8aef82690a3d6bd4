import type { Run, RunsNamespace, StreamsNamespace, TasksNamespace, WaitNamespace } from 'waitpoint'
import { task } from 'waitpoint'
import type { Client } from 'waitpoint/client'
import { exactly } from './expect-type.ts'

declare const client: Client
const _review = task({ id: 'review', run: async (payload: { doc: string }) => payload.doc.length })
type Review = typeof _review

// What uses the namespaces of an engine can use those of a client.
export const shared: {
  readonly wait: WaitNamespace
  readonly runs: RunsNamespace
  readonly tasks: TasksNamespace
  readonly streams: StreamsNamespace
} = client

export const program = async (): Promise<void> => {
  const { signal } = new AbortController()
  const run = await client.tasks.trigger<Review>('review', { doc: 'd1' }, { tags: 'a', signal })
  exactly<number>()(await run.result({ signal }))
  // @ts-expect-error -- the payload is the task's
  await client.tasks.trigger<Review>('review', { nmae: 'd1' })
  // @ts-expect-error -- and so is the id's type
  await client.tasks.trigger<Review>(1, { doc: 'd1' })
  const retrieved = await client.runs.retrieve<Review>(run, { signal })
  exactly<{ doc: string }>()(retrieved.payload)
  for await (const part of client.runs
    .subscribeToRun<Review>(run, { signal })
    .withStreams<{ draft: string }>()) {
    if (part.type === 'draft') exactly<string>()(part.chunk)
    else exactly<Run<{ doc: string }, number>>()(part.run)
  }
  const { output: answer } = await client.wait.retrieveToken<boolean>('waitpoint_1', { signal })
  exactly<boolean | undefined>()(answer)
  // @ts-expect-error -- a misspelt option
  await client.wait.createToken({ timeuot: '1h' })
}
