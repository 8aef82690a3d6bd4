import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cases } from '../../support/cases.ts'
import { collect } from '../../support/streams.ts'
import { json, silence, StubService, textBody } from '../stub-service.ts'

const AT = '2000-01-01T00:00:00.000Z'
const run = { id: 'run_1', taskIdentifier: 't', createdAt: AT, updatedAt: AT }
const event = (name: string, body: object): string => `event: ${name}\ndata: ${JSON.stringify(body)}\n\n`

/** An answer that begins with this text, and is silent from then on. */
function silentAfter(text: string, headers: Record<string, string>): Response {
  const start = (controller: ReadableStreamDefaultController<Uint8Array>): void =>
    controller.enqueue(new TextEncoder().encode(text))
  return new Response(new ReadableStream<Uint8Array>({ start }), { headers })
}

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

describe('readEvents', () => {
  it('takes the same chunks out of a stream, wherever it is cut into pieces, and goes on after the last one', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.jsonValue()),
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }),
        async (chunks, lengths) => {
          const frames = chunks.map((chunk, id) => `id: ${id}\ndata: ${JSON.stringify(chunk)}\n\n`)
          const cut = [...pieces(frames.join(': ping\n\n'), lengths), new Error('cut')]
          const stub = new StubService([textBody(cut), textBody([])])
          const taken = collect(stub.client.streams.read('run_1', 'k'))
          expect(JSON.stringify(await stub.clock.until(taken, { within: '1m' }))).toBe(JSON.stringify(chunks))
          const lastId = chunks.length === 0 ? null : String(chunks.length - 1)
          expect(stub.asked.map(({ headers }) => headers.get('last-event-id'))).toEqual([null, lastId])
        },
      ),
      { numRuns: cases(100) },
    ))

  it.each([
    ['within 15 s, when the service sends pings', { 'x-ping-seconds': '6' }, 15_000],
    ['after 90 s, when it does not say so', {}, 90_000],
  ])('notices a silent connection %s, and goes on over another one', async (_when, headers, silenceMs) => {
    const shown = event('run', { type: 'run', run: { ...run, status: 'EXECUTING' } })
    const chunk = event('chunk', { type: 'k', chunk: 'a', attempt: 1, sequence: 0 })
    const ended = event('run', { type: 'run', run: { ...run, status: 'COMPLETED', finishedAt: AT } })
    const again = event('chunk', { type: 'k', chunk: 'b', attempt: 2, sequence: 1 })
    const stub = new StubService([
      silentAfter(shown + chunk, headers),
      textBody([ended + again + ended + event('end', {})]),
    ])
    const parts = collect(stub.client.runs.subscribeToRun('run_1').withStreams())
    await stub.clock.settle()
    await stub.clock.advance(silenceMs - 1)
    expect(stub.asked).toHaveLength(1)
    // The silence, and the pause before the next attempt.
    await stub.clock.advance(501)
    expect(stub.asked.map(({ headers: sent }) => sent.get('last-event-id'))).toEqual([null, 'k=1'])
    expect((await parts).map(({ type, run: { status }, chunk: value }) => [type, status, value])).toEqual([
      ['run', 'EXECUTING', undefined],
      ['k', 'EXECUTING', 'a'],
      ['run', 'COMPLETED', undefined],
      ['k', 'COMPLETED', 'b'],
      ['run', 'COMPLETED', undefined],
    ])
  })

  it('notices the silence of a run that is followed without its streams, and leaves chunks out', async () => {
    const shown = event('run', { type: 'run', run: { ...run, status: 'EXECUTING' } })
    const chunk = event('chunk', { type: 'k', chunk: 'a', attempt: 1, sequence: 0 })
    const ended = event('run', { type: 'run', run: { ...run, status: 'COMPLETED', finishedAt: AT } })
    const stub = new StubService([
      silentAfter(shown + chunk, { 'x-ping-seconds': '6' }),
      textBody([shown + chunk + ended + event('end', {})]),
    ])
    const states = collect(stub.client.runs.subscribeToRun('run_1'))
    await stub.clock.settle()
    await stub.clock.advance(14_999)
    expect(stub.asked).toHaveLength(1)
    await stub.clock.advance(501)
    const path = 'GET /base/api/v1/runs/run_1/stream?ids=none&streams=none'
    expect(stub.paths).toEqual([path, path])
    expect(stub.asked.map(({ headers }) => headers.get('last-event-id'))).toEqual([null, null])
    expect((await states).map(({ status }) => status)).toEqual(['EXECUTING', 'COMPLETED'])
  })

  it('gives up another connection that gets no answer as soon as one that falls silent', async () => {
    const shown = event('run', { type: 'run', run: { ...run, status: 'EXECUTING' } })
    const ended = event('run', { type: 'run', run: { ...run, status: 'COMPLETED', finishedAt: AT } })
    const stub = new StubService([
      silentAfter(shown, { 'x-ping-seconds': '6' }),
      silence,
      silence,
      textBody([ended + event('end', {})]),
    ])
    const states = collect(stub.client.runs.subscribeToRun('run_1'))
    await stub.clock.settle()
    // The silence of each, and the pause after it, which doubles.
    for (const [asked, pauseMs] of [500, 1_000, 2_000].entries()) {
      await stub.clock.advance(15_000 + pauseMs - 1)
      expect(stub.asked).toHaveLength(asked + 1)
      await stub.clock.advance(1)
      expect(stub.asked).toHaveLength(asked + 2)
    }
    expect((await states).map(({ status }) => status)).toEqual(['EXECUTING', 'COMPLETED'])
  })

  it.each([
    ['silent', silence, { timeout: '10s' }, '57.5'],
    ['away', () => Promise.reject(new TypeError('fetch failed')), {}, '7.5'],
  ])('says how long it tried to reach a service that is %s', async (_what, answer, options, seconds) => {
    const stub = new StubService([answer, answer, answer, answer, answer], options)
    const states = collect(stub.client.runs.subscribeToRun('run_1'))
    const rejected = expect(states).rejects.toMatchObject({
      code: 'ERR_API_UNAVAILABLE',
      message: expect.stringMatching(`^Cannot .* \\(5 attempts in ${seconds} s\\)$`) as string,
    })
    await stub.clock.advance('1m')
    await rejected
  })

  it('goes on when an answer ends before the run does, and shows a run once that has not changed', async () => {
    const shown = event('run', { type: 'run', run: { ...run, status: 'EXECUTING' } })
    const ended = event('run', { type: 'run', run: { ...run, status: 'COMPLETED', finishedAt: AT } })
    const stub = new StubService([
      textBody([shown]),
      textBody([shown + ended]),
      textBody([ended + event('end', {})]),
    ])
    const parts = collect(stub.client.runs.subscribeToRun('run_1').withStreams())
    expect((await stub.clock.until(parts, { within: '1m' })).map((part) => part.run.status)).toEqual([
      'EXECUTING',
      'COMPLETED',
    ])
  })

  it('rejects when the run is gone that it followed', async () => {
    const shown = event('run', { type: 'run', run: { ...run, status: 'EXECUTING' } })
    const stub = new StubService([textBody([shown]), json({ error: 'Run not found' }, { status: 404 })])
    const parts = collect(stub.client.runs.subscribeToRun('run_1').withStreams())
    await expect(stub.clock.until(parts, { within: '1m' })).rejects.toMatchObject({
      code: 'ERR_RUN_NOT_FOUND',
    })
  })
})
