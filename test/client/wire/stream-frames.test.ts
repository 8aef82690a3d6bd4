import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { StreamLaggedError } from 'waitpoint'
import { StreamFrames } from '../../../src/client/wire/stream-frames.ts'

/** A text in pieces of these lengths, over and over. */
function pieces(text: string, lengths: readonly number[]): string[] {
  const parts: string[] = []
  for (let from = 0, index = 0; from < text.length; index++) {
    const length = lengths[index % lengths.length] ?? text.length
    parts.push(text.slice(from, from + length))
    from += length
  }
  return parts
}

describe('StreamFrames', () => {
  it('takes the same chunks out of a stream, wherever it is cut into pieces', () =>
    fc.assert(
      fc.property(
        fc.array(fc.jsonValue()),
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }),
        (chunks, lengths) => {
          const text = chunks
            .map((chunk, id) => `id: ${id}\ndata: ${JSON.stringify(chunk)}\n\n`)
            .join(': ping\n\n')
          const frames = new StreamFrames('k', undefined)
          frames.begin(new Response())
          const taken = pieces(text, lengths).flatMap((piece) => {
            frames.write(piece)
            return frames.takeChunks()
          })
          expect(JSON.stringify(taken)).toBe(JSON.stringify(chunks))
          expect(frames.lastId).toBe(chunks.length === 0 ? undefined : String(chunks.length - 1))
        },
      ),
    ))

  it('has the error of the engine in the middle of a stream, and where to go on', () => {
    const frames = new StreamFrames('k', '3')
    frames.begin(new Response())
    const error = { code: 'ERR_STREAM_LAGGED', message: 'm', missed: 6, next: 10 }
    frames.write(`event: error\nid: 9\ndata: ${JSON.stringify({ error })}\n\n`)
    expect(frames.takeFailure()).toEqual(new StreamLaggedError('k', 6, 10))
    expect([frames.takeFailure(), frames.lastId]).toEqual([undefined, '9'])
  })
})
