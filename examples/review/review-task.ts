import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { metadata, question, task } from 'waitpoint'
import type { DefinedQuestion, Task } from 'waitpoint'

export interface ReviewRequest {
  readonly file: string
  readonly bytes: number
  /** How long the draft takes at least: a file is read faster than a model writes. */
  readonly draftMs: number
}

export interface ReviewReport extends Draft {
  readonly decision: 'approve' | 'reject' | 'no answer'
  /** The way that the answer came. */
  readonly via?: string
}

interface Draft {
  readonly file: string
  readonly characters: number
  readonly words: number
}

/** Where a review can be answered: in its metadata, once it asks. */
export interface AskedAt {
  /** A page for a person. */
  readonly page: string
  /** An address for a program. */
  readonly url: string
}

/** The chunk types of the review's streams. */
export interface ReviewStreams {
  readonly draft: string
}

/** What the review asks. Its answer is one of two texts. */
const publish: DefinedQuestion<Draft, 'approve' | 'reject'> = question({
  id: 'publish',
  message: ({ file, words }: Draft) => `Publish the draft of ${file}, which has ${words} words?`,
  choices: ['approve', 'reject'],
  timeout: '10m',
  onTimeoutText: 'It is not published.',
})

/** Streams the text of a file, asks for approval, and returns a report. */
export const review: Task<ReviewRequest, ReviewReport> = task({
  id: 'review',
  run: async ({ file, bytes, draftMs }) => {
    const stream = await metadata.stream('draft', textOf(file, bytes, draftMs))
    let characters = 0
    let words = 0
    let endsInWord = false
    for await (const chunk of stream) {
      characters += chunk.length
      words += chunk.match(/\S+/g)?.length ?? 0
      // A word divided between two chunks was counted twice.
      if (endsInWord && /^\S/.test(chunk)) words -= 1
      endsInWord = /\S$/.test(chunk)
    }
    const draft = { file, characters, words }
    const answer = await publish.ask(draft, {
      notify: ({ token }) => {
        metadata.set('asked', { page: token.link, url: token.url })
      },
    })
    if (!answer.ok) return { ...draft, decision: 'no answer' }
    return { ...draft, decision: answer.output, ...(answer.by?.via !== undefined && { via: answer.by.via }) }
  },
})

/** The text of a file in pieces, some dozens for a small file. Bytes that are not UTF-8 become U+FFFD. */
async function* textOf(file: string, bytes: number, draftMs: number): AsyncGenerator<string> {
  const highWaterMark = Math.min(65_536, Math.max(256, Math.ceil(bytes / 64)))
  const pauseMs = draftMs / Math.max(1, Math.ceil(bytes / highWaterMark))
  const source = Readable.toWeb(createReadStream(file, { highWaterMark }))
  // Node's streams are web streams; only their type declarations differ.
  const text = (source as ReadableStream<Uint8Array<ArrayBuffer>>).pipeThrough(new TextDecoderStream())
  for await (const piece of text) {
    if (pauseMs > 0) await pause(pauseMs)
    yield piece
  }
}
