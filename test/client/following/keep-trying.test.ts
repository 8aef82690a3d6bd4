import { afterEach, describe, expect, it } from 'vitest'
import type { Client, FollowOptions } from 'waitpoint/client'
import { allChunks, latest } from '../../../src/react/sources.ts'
import { json, silence, StubService } from '../stub-service.ts'

const gone = (): never => {
  throw new TypeError('fetch failed')
}
const EVENTS = { 'content-type': 'text/event-stream' }
/** More failures than a first connection is allowed. */
const FAILURES = 9

type Follow = (client: Client, options: FollowOptions) => AsyncIterable<unknown>

const FOLLOWED: readonly (readonly [string, Follow])[] = [
  ['a run', (client, options) => client.runs.subscribeToRun('run_1', options)],
  ['a run with its streams', (client, options) => client.runs.subscribeToRun('run_1', options).withStreams()],
  ['a stream', (client, options) => client.streams.read('run_1', 'k', options)],
  ['a token', (client, options) => client.wait.subscribeToToken('waitpoint_1', options)],
  ['what waits', (client, options) => client.wait.subscribeToTokens(options)],
]

/** Answers that are alive, and silent. */
const live = (): Response => new Response(new ReadableStream(), { headers: EVENTS })

/** Follows something, and has what was told of its connection. */
function followed(follow: (options: FollowOptions) => AsyncIterable<unknown>) {
  const told: string[] = []
  const controller = new AbortController()
  const options = { signal: controller.signal, onConnection: (state: string) => void told.push(state) }
  const ended = latest(follow)({ ...options, show: () => undefined }).catch((error: unknown) => error)
  return { told, ended, controller }
}

afterEach(() => {
  Reflect.deleteProperty(globalThis, 'document')
})

describe.each(FOLLOWED)('%s of a hook', (_what, follow) => {
  it('is asked for until there is a first connection', async () => {
    const stub = new StubService([...Array.from({ length: FAILURES }, () => gone), live])
    const { told, ended, controller } = followed((options) => follow(stub.client, options))
    await stub.clock.advance('1h')
    expect(told.slice(0, FAILURES + 1)).toEqual([
      ...Array.from({ length: FAILURES }, () => 'reconnecting'),
      'live',
    ])
    controller.abort(new Error('left'))
    expect(await ended).toEqual(new Error('left'))
  })

  it('is asked for once a minute at least, and at once when the page is shown again', async () => {
    const page = Object.assign(new EventTarget(), { visibilityState: 'visible' })
    Object.assign(globalThis, { document: page })
    const stub = new StubService(Array.from({ length: 80 }, () => gone))
    const { ended, controller } = followed((options) => follow(stub.client, options))
    await stub.clock.advance('10m')
    const before = stub.asked.length
    await stub.clock.advance('1h')
    expect(stub.asked.length - before).toBeGreaterThanOrEqual(59)
    const asked = stub.asked.length
    page.dispatchEvent(new Event('visibilitychange'))
    await stub.clock.settle()
    expect(stub.asked).toHaveLength(asked + 1)
    controller.abort(new Error('left'))
    await ended
  })

  it('goes on when there is no access token yet, and when the service asks for a long pause', async () => {
    let asked = 0
    const accessToken = (): string => {
      asked += 1
      if (asked <= FAILURES) throw new TypeError('Failed to fetch')
      return 'token'
    }
    const busy = json({ error: 'Busy' }, { status: 503, headers: { 'retry-after': '600' } })
    const stub = new StubService([busy, live], { accessToken })
    const { told, ended, controller } = followed((options) => follow(stub.client, options))
    await stub.clock.advance('1h')
    expect(told).toContain('live')
    controller.abort(new Error('left'))
    await ended
  })

  it('ends when it is refused', async () => {
    const stub = new StubService([json({ error: 'No' }, { status: 403 })])
    const { ended } = followed((options) => follow(stub.client, options))
    expect(await ended).toMatchObject({ code: 'ERR_API_UNAUTHORIZED' })
  })

  it('gives up for a reader that does not ask for it', async () => {
    const stub = new StubService(Array.from({ length: 5 }, () => gone))
    const { ended } = followed(({ keepTrying: _, ...options }) => follow(stub.client, options))
    await stub.clock.advance('1h')
    expect(await ended).toMatchObject({ code: 'ERR_API_UNAVAILABLE' })
    expect(stub.asked).toHaveLength(5)
  })

  it('is refused with an option of another type', () => {
    const stub = new StubService([])
    expect(() => follow(stub.client, { keepTrying: 1 as never })).toThrow(TypeError)
  })
})

describe('a run of the hosted service, which is asked with long polls', () => {
  it('is asked for until there is a first answer', async () => {
    const missing = (): Response => json({ error: 'Not found' }, { status: 404 })
    const stub = new StubService([missing, ...Array.from({ length: FAILURES }, () => gone), silence])
    const { told, ended, controller } = followed((options) =>
      stub.client.runs.subscribeToRun('run_1', options),
    )
    await stub.clock.advance('1h')
    expect(new Set(told)).toEqual(new Set(['reconnecting']))
    expect(stub.asked.length).toBeGreaterThan(FAILURES)
    controller.abort(new Error('left'))
    expect(await ended).toEqual(new Error('left'))
  })
})

describe('all chunks of a stream, for a hook', () => {
  it('are asked for until there is a first connection', async () => {
    const stub = new StubService([...Array.from({ length: FAILURES }, () => gone), live])
    const told: string[] = []
    const controller = new AbortController()
    const ended = allChunks(stub.client, { run: 'run_1', key: 'k', attempts: 'last' })({
      signal: controller.signal,
      onConnection: (state) => told.push(state),
      show: () => undefined,
    }).catch((error: unknown) => error)
    await stub.clock.advance('1h')
    expect(told).toContain('live')
    controller.abort(new Error('left'))
    expect(await ended).toEqual(new Error('left'))
  })
})
