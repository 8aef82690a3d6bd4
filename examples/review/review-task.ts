import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { metadata, task, wait } from 'waitpoint'
import type { Task } from 'waitpoint'

export interface ReviewRequest {
  readonly file: string
  readonly bytes: number
}

export interface ReviewReport extends Approval {
  readonly file: string
  readonly characters: number
  readonly words: number
}

/** The answer of the person or program that approves. */
export interface Approval {
  readonly approved: boolean
  readonly by: string
}

/** The chunk types of the review's streams. */
export interface ReviewStreams {
  readonly draft: string
}

/** Streams the text of a file, asks for approval, and returns a report. */
export const review: Task<ReviewRequest, ReviewReport> = task({
  id: 'review',
  run: async ({ file, bytes }) => {
    const draft = await metadata.stream('draft', textOf(file, bytes))
    let characters = 0
    let words = 0
    let endsInWord = false
    for await (const chunk of draft) {
      characters += chunk.length
      words += chunk.match(/\S+/g)?.length ?? 0
      // A word divided between two chunks was counted twice.
      if (endsInWord && /^\S/.test(chunk)) words -= 1
      endsInWord = /\S$/.test(chunk)
    }
    const token = await wait.createToken({ timeout: '10m', tags: ['review'] })
    metadata.set('approveAt', token.url)
    const { approved, by } = await wait.forToken<Approval>(token).unwrap()
    return { file, characters, words, approved, by }
  },
})

/** The text of a file in pieces, some dozens for a small file. Bytes that are not UTF-8 become U+FFFD. */
async function* textOf(file: string, bytes: number): AsyncGenerator<string> {
  const highWaterMark = Math.min(65_536, Math.max(256, Math.ceil(bytes / 64)))
  const source = Readable.toWeb(createReadStream(file, { highWaterMark }))
  // Node's streams are web streams; only their type declarations differ.
  const text = (source as ReadableStream<Uint8Array<ArrayBuffer>>).pipeThrough(new TextDecoderStream())
  for await (const piece of text) yield piece
}
