import { createEngine, metadata, type Run, runs, streams, task } from 'waitpoint'
import { exactly } from './expect-type.ts'

interface STREAMS {
  readonly draft: string
  readonly parts: { readonly type: 'text-delta'; readonly textDelta: string } | { readonly type: 'finish' }
  readonly count: number
}

const review = task({ id: 'review', run: async (payload: { doc: string }) => payload.doc.length })
const engine = createEngine({ tasks: [review] })

function unreachable(_part: never): void {
  // Types only.
}

/** `part.type` decides what `part.chunk` is, key by key, and the keys are all there are. */
export async function following(id: string): Promise<void> {
  for await (const part of engine.runs.subscribeToRun<typeof review>(id).withStreams<STREAMS>()) {
    exactly<'run' | 'draft' | 'parts' | 'count'>()(part.type)
    switch (part.type) {
      case 'run':
        exactly<Run<{ doc: string }, number>>()(part.run)
        // @ts-expect-error The run comes without a chunk.
        part.chunk satisfies unknown
        // @ts-expect-error Its attempt is `run.attemptCount`.
        part.attempt satisfies unknown
        break
      case 'draft':
        exactly<string>()(part.chunk)
        exactly<number>()(part.attempt)
        exactly<number>()(part.sequence)
        break
      case 'parts':
        if (part.chunk.type === 'text-delta') exactly<string>()(part.chunk.textDelta)
        else exactly<'finish'>()(part.chunk.type)
        break
      case 'count':
        exactly<number>()(part.chunk)
        part.run.status satisfies string
        break
      default:
        unreachable(part)
    }
    // @ts-expect-error There is no such key.
    if (part.type === 'drafts') break
    // @ts-expect-error Which chunk it is depends on the key.
    part.chunk satisfies unknown
  }
}

export async function followingUnknown(id: string): Promise<void> {
  for await (const run of runs.subscribeToRun(id)) exactly<unknown>()(run.payload)
  for await (const part of runs.subscribeToRun(id).withStreams()) {
    exactly<number | undefined>()(part.attempt)
    if (part.type === 'run') continue
    exactly<string>()(part.type)
    exactly<unknown>()(part.chunk)
  }
  for await (const part of runs.subscribeToRun<typeof review>(id).withStreams<{ draft: string }>()) {
    if (part.type === 'run') part.run.payload.doc satisfies string
    else exactly<string>()(part.chunk)
  }
}

async function* numbers(): AsyncGenerator<number> {
  yield 1
}

export async function writing(bytes: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<void> {
  const stream = await metadata.stream('count', numbers())
  for await (const chunk of stream) exactly<number>()(chunk)
  for await (const text of await metadata.stream('draft', bytes.pipeThrough(new TextDecoderStream()))) {
    exactly<string>()(text)
  }
  const draft = streams.define<string>({ id: 'draft' })
  await draft.append('text')
  // @ts-expect-error A chunk is a string.
  await draft.append(5)
  // @ts-expect-error A chunk is a string.
  draft.pipe(numbers())
  for await (const chunk of draft.read('run_1')) exactly<string>()(chunk)
  for await (const chunk of streams.read('run_1', 'draft')) exactly<unknown>()(chunk)
  // @ts-expect-error A source can be iterated.
  await metadata.stream('draft', 'text')
}
