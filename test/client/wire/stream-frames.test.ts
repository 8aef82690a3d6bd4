import { describe, expect, it } from 'vitest'
import { StreamLaggedError } from 'waitpoint'
import { StreamFrames } from '../../../src/client/wire/stream-frames.ts'

describe('StreamFrames', () => {
  it('has the error of the engine in the middle of a stream, and where to go on', () => {
    const frames = new StreamFrames('k', '3')
    frames.begin(new Response())
    const error = { code: 'ERR_STREAM_LAGGED', message: 'm', missed: 6, next: 10 }
    const event = { event: 'error', id: '9', data: JSON.stringify({ error }) }
    expect(frames.take([event])).toEqual({ chunks: [], failure: new StreamLaggedError('k', 6, 10) })
    expect([frames.take([]), frames.lastId]).toEqual([{ chunks: [], failure: undefined }, '9'])
  })
})
