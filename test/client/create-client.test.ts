import { describe, expect, it } from 'vitest'
import type { RunsNamespace, StreamsNamespace, TasksNamespace, WaitNamespace } from 'waitpoint'
import { task } from 'waitpoint'
import { SECRET } from '../http/requests.ts'
import {
  chunksOf,
  collect,
  CountSource,
  numbers,
  PushSource,
  type ShortPart,
  sourceOf,
} from '../support/streams.ts'
import { reachedEngine } from './reached-engine.ts'

/** What an engine and its client have in common. */
interface Namespaces {
  readonly wait: WaitNamespace
  readonly runs: RunsNamespace
  readonly tasks: TasksNamespace
  readonly streams: StreamsNamespace
}

async function follow({ runs }: Namespaces, id: string): Promise<ShortPart[]> {
  const parts: ShortPart[] = []
  for await (const part of runs.subscribeToRun(id).withStreams())
    parts.push('chunk' in part ? [part.type, part.chunk] : ['run', part.run.status])
  return parts
}

const greet = task({
  id: 'greet',
  run: async (
    { name, times = 1 }: { readonly name: string; readonly times?: number },
    { metadata, wait },
  ) => {
    await metadata.stream('words', sourceOf(...Array.from({ length: times }, () => `Hello ${name}`)))
    const token = await wait.createToken({ tags: ['greet'] })
    metadata.set('token', token.id)
    const answer = await wait.forToken<string>(token).unwrap()
    if (answer === 'fail') throw new Error(`no ${name}`)
    return `${answer} ${name}`
  },
})

describe('createClient', () => {
  it('triggers a run, follows it with its streams, completes its token, and gets its output', async () => {
    await using t = await reachedEngine({ tasks: [greet] })
    const { client } = t
    const run = await client.tasks.trigger<typeof greet>('greet', { name: 'Ada', times: 3 })
    const seen: ShortPart[] = []
    for await (const part of client.runs.subscribeToRun<typeof greet>(run).withStreams<{ words: string }>()) {
      if (part.type === 'words') seen.push(['words', part.chunk])
      else seen.push(['run', part.run.status])
      if (part.type === 'run' && part.run.isWaiting)
        await client.wait.completeToken(String(part.run.metadata['token']), 'Bye')
    }
    expect(chunksOf(seen, 'words')).toEqual(['Hello Ada', 'Hello Ada', 'Hello Ada'])
    expect(seen.at(-1)).toEqual(['run', 'COMPLETED'])
    const output: string = await run.result()
    expect(output).toBe('Bye Ada')
  })
})
