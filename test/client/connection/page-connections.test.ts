import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { type Client, type ClientOptions, createClient } from 'waitpoint/client'
import { createHandler } from 'waitpoint/http'
import { createTestEngine, testClock, type TestClock } from 'waitpoint/testing'
import { SECRET } from '../../http/requests.ts'
import { bodyTask } from '../../support/body-task.ts'
import { cases } from '../../support/cases.ts'
import { collect, numbers } from '../../support/streams.ts'
import { StubPage } from '../stub-page.ts'

/** Of the six connections that a browser has to a server. */
const MOST = 4
/** While followers wait, a connection changes hands so often. */
const PACE_MS = 500
/** A connection over which nothing comes is left after this time. */
const UNFINISHED_MS = 3_000

/** A request that follows a stream, from its begin to its end. */
interface Followed {
  readonly key: string
  readonly url: string
  readonly openedAt: number
  readonly closedAt: number | undefined
  readonly say: (text: string) => void
  readonly end: () => void
}

const message = (id: number): string => `id: ${id}\ndata: ${id}\n\n`

/** A service with a stream for every key, which holds the numbers from 0 on. */
class StreamService {
  readonly clock: TestClock = testClock({ mode: 'manual' })
  readonly all: Followed[] = []
  /** The most that were open at once. */
  most = 0
  readonly #counts = new Map<string, number>()

  client(options: Partial<ClientOptions> = {}): Client {
    const { clock } = this
    const base = { baseUrl: 'http://api.test', accessToken: 'key', clock }
    return createClient({ ...base, fetch: (request) => this.#answer(request), ...options })
  }

  get open(): readonly Followed[] {
    return this.all.filter(({ closedAt }) => closedAt === undefined)
  }

  get keys(): string {
    return this.open.map(({ key }) => key).join('')
  }

  of(key: string): readonly Followed[] {
    return this.all.filter((followed) => followed.key === key)
  }

  /** The next number of a stream. */
  push(key: string): void {
    const id = this.#counts.get(key) ?? 0
    this.#counts.set(key, id + 1)
    for (const { say } of this.open.filter((followed) => followed.key === key)) say(message(id))
  }

  async #answer({ url, headers, signal }: Request): Promise<Response> {
    const { clock } = this
    const encoder = new TextEncoder()
    const key = new URL(url).pathname.split('/').at(-1) ?? ''
    const next = Number(headers.get('last-event-id') ?? -1) + 1
    const said = numbers(this.#counts.get(key) ?? 0, next)
    let body: ReadableStreamDefaultController<Uint8Array> | undefined
    let closedAt: number | undefined
    const close = (): void => void (closedAt ??= clock.now())
    const say = (text: string): void => body?.enqueue(encoder.encode(text))
    const end = (): void => {
      body?.close()
      close()
    }
    const start = (controller: typeof body): void => void (body = controller)
    const answer = new Response(new ReadableStream({ start }), { headers: { 'x-ping-seconds': '600' } })
    for (const id of said) say(message(id))
    const followed = { key, url, openedAt: clock.now(), say, end }
    this.all.push(
      Object.defineProperty(followed, 'closedAt', { get: () => closedAt }) as typeof followed & Followed,
    )
    this.most = Math.max(this.most, this.open.length)
    signal.addEventListener('abort', close)
    return answer
  }
}

/** Follows one stream for each letter, and has what came of it. */
function following(client: Client, letters: string) {
  return Array.from(letters, (key) => {
    const controller = new AbortController()
    const got: unknown[] = []
    const told: string[] = []
    const { signal } = controller
    const onConnection = (state: string): void => void told.push(state)
    const ended = (async () => {
      for await (const chunk of client.streams.read('run_1', key, { signal, onConnection })) got.push(chunk)
      return 'ended'
    })().catch((error: unknown) => error)
    const leave = async (): Promise<unknown> => (controller.abort(new Error('left')), ended)
    return { key, got, told, ended, leave }
  })
}

afterEach(() => StubPage.close())

describe('the followers of a page', () => {
  it('are four without turns: a connection each, and no timer but that of its silence', async () => {
    StubPage.open()
    const service = new StreamService()
    const followers = following(service.client(), 'abcd')
    await service.clock.settle()
    const labels = service.clock.pending().map(({ label }) => label)
    expect(labels).toEqual(Array.from({ length: 4 }, () => 'the silence of a service'))
    await service.clock.advance('10m')
    expect(service.all).toHaveLength(4)
    await Promise.all(followers.map(({ leave }) => leave()))
    expect(service.clock.pending()).toEqual([])
  })

  it('have as many connections as there are of them elsewhere than on a page', async () => {
    const service = new StreamService()
    const followers = following(service.client(), 'abcdefgh')
    await service.clock.advance('10m')
    expect([service.all.length, service.keys]).toEqual([8, 'abcdefgh'])
    await Promise.all(followers.map(({ leave }) => leave()))
  })

  it.each([
    ['http://api.test/', 'h2', 8],
    ['http://api.test/bundle.js', 'h3', 8],
    ['http://api.test/', 'http/1.1', MOST],
    ['http://api.test/', '', MOST],
    ['http://api.test.other/', 'h2', MOST],
  ])('of which the page knows %s over %j have %d connections', async (name, nextHopProtocol, most) => {
    StubPage.open([{ name, nextHopProtocol }])
    const service = new StreamService()
    const followers = following(service.client(), 'abcdefgh')
    await service.clock.advance('10m')
    expect(service.most).toBe(most)
    await Promise.all(followers.map(({ leave }) => leave()))
    expect(service.clock.pending()).toEqual([])
  })

  it('take turns in four connections in their order, and none waits longer than one round', async () => {
    StubPage.open()
    const service = new StreamService()
    const letters = 'abcdefghi'
    const followers = following(service.client(), letters)
    const seen: string[] = []
    for (let pace = 0; pace < 60; pace += 1) {
      for (const key of letters) service.push(key)
      await service.clock.settle()
      seen.push(service.keys)
      await service.clock.advance(PACE_MS)
    }
    expect(seen.slice(0, 10).join()).toBe('abcd,bcde,cdef,defg,efgh,fghi,ghia,hiab,iabc,abcd')
    const longest = (letters.length - MOST) * PACE_MS
    for (const { key, got, told } of followers) {
      const turns = service.of(key)
      expect(turns.length).toBeGreaterThan(5)
      for (const [index, { openedAt }] of turns.entries())
        expect(openedAt - (turns[index - 1]?.closedAt ?? service.all[0]?.openedAt ?? 0)).toBeLessThanOrEqual(
          longest,
        )
      expect(got).toEqual(numbers(got.length))
      expect(got.length).toBeGreaterThanOrEqual(60 - longest / PACE_MS)
      expect(new Set(told)).toEqual(new Set(['live']))
    }
    expect(service.most).toBe(MOST)
    await Promise.all(followers.map(({ leave }) => leave()))
    expect([service.open, service.clock.pending()]).toEqual([[], []])
  })

  it('leave a connection over which nothing comes after a while, also before anything came', async () => {
    StubPage.open()
    const service = new StreamService()
    const followers = following(service.client(), 'abcde')
    await service.clock.settle()
    await service.clock.advance(UNFINISHED_MS - 1)
    expect([service.keys, service.all.length]).toEqual(['abcd', 4])
    await service.clock.advance(1)
    expect(service.keys).toBe('bcde')
    await Promise.all(followers.map(({ leave }) => leave()))
  })

  it('have a large message to its end, however long it takes', async () => {
    StubPage.open()
    const service = new StreamService()
    const followers = following(service.client(), 'abcde')
    await service.clock.settle()
    for (const { key, say } of service.open) say(key === 'a' ? 'id: 0\ndata: "large' : message(0))
    for (let second = 0; second < 20; second += 1) {
      await service.clock.advance('1s')
      service.of('a')[0]?.say(' and')
    }
    service.of('a')[0]?.say(' whole"\n\n')
    await service.clock.settle()
    expect(followers[0]?.got).toEqual([`large${' and'.repeat(20)} whole`])
    expect(service.of('a')).toHaveLength(1)
    expect(service.of('e').length).toBeGreaterThan(1)
    await service.clock.advance(PACE_MS * MOST)
    expect(service.of('a')[0]?.closedAt).toBeDefined()
    await Promise.all(followers.map(({ leave }) => leave()))
  })

  it('let the next one in at once when one ends, leaves or fails, and none when one leaves that waits', async () => {
    StubPage.open()
    const service = new StreamService()
    const followers = following(service.client(), 'abcdefgh')
    const [a, b, , , e, f] = followers
    await service.clock.settle()
    expect(await f?.leave()).toEqual(new Error('left'))
    expect(service.keys).toBe('abcd')
    service.of('a')[0]?.end()
    expect(await a?.ended).toBe('ended')
    await service.clock.settle()
    expect(service.keys).toBe('bcde')
    expect(await b?.leave()).toEqual(new Error('left'))
    await service.clock.settle()
    expect(service.keys).toBe('cdeg')
    service
      .of('c')[0]
      ?.say('event: error\ndata: {"error":{"code":"ERR_STREAM_LAGGED","missed":1,"next":1}}\n\n')
    await service.clock.settle()
    expect(service.keys).toBe('degh')
    expect(await followers[2]?.ended).toMatchObject({ code: 'ERR_STREAM_LAGGED' })
    expect(service.of('f')).toEqual([])
    // Four are left: there is no turn any more.
    await service.clock.advance('10m')
    expect([service.keys, service.all.length]).toEqual(['degh', 7])
    expect(e?.told).toEqual(['live'])
    await Promise.all(followers.map(({ leave }) => leave()))
    expect(service.clock.pending()).toEqual([])
  })

  it('are not in line while the page is hidden', async () => {
    const page = StubPage.open()
    const service = new StreamService()
    const followers = following(service.client(), 'abcdefgh')
    await service.clock.settle()
    page.turn('hidden')
    await service.clock.settle()
    expect([service.keys, service.clock.pending()]).toEqual(['', []])
    page.turn('visible')
    await service.clock.settle()
    expect(service.keys).toBe('abcd')
    page.turn('hidden')
    await Promise.all(followers.map(({ leave }) => leave()))
    expect(service.clock.pending()).toEqual([])
  })

  it('share the connections of a server, whichever client of it they are of', async () => {
    StubPage.open()
    const service = new StreamService()
    const followers = [
      ...following(service.client(), 'abc'),
      ...following(service.client({ baseUrl: 'http://API.test:80/engine' }), 'def'),
      ...following(service.client({ baseUrl: 'http://other.test' }), 'xyz'),
    ]
    await service.clock.settle()
    expect(service.keys).toBe('abcdxyz')
    await Promise.all(followers.map(({ leave }) => leave()))
  })

  it('have every part of their runs once and in order, whatever the page does', () =>
    fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 5, max: 11 }),
        fc.array(
          fc.constantFrom<'hidden' | 'visible' | 'online' | number>(
            'hidden',
            'visible',
            'online',
            100,
            700,
            4_000,
          ),
          {
            maxLength: 12,
          },
        ),
        async (count, steps) => {
          const page = StubPage.open()
          const body = bodyTask(async ({ streams, wait }) => {
            for (let chunk = 0; chunk < 8; chunk += 1) {
              await streams.append('k', chunk)
              await wait.for({ seconds: 1 })
            }
          })
          await using t = await createTestEngine({
            tasks: [body],
            secretKey: SECRET,
            clock: { mode: 'manual' },
          })
          const handler = createHandler(t.engine)
          const open = new Set<Request>()
          const fetch = (request: Request): Promise<Response> => {
            open.add(request)
            request.signal.addEventListener('abort', () => open.delete(request))
            expect(open.size).toBeLessThanOrEqual(MOST)
            return handler(request)
          }
          const client = createClient({
            baseUrl: 'http://engine.test',
            accessToken: SECRET,
            fetch,
            clock: t.clock,
          })
          const runs = await Promise.all(Array.from({ length: count }, () => t.engine.trigger(body, null)))
          const followed = runs.map((run) => collect(client.runs.subscribeToRun(run.id).withStreams()))
          for (const step of steps) {
            if (typeof step === 'number') await t.clock.advance(step)
            else if (step === 'online') page.window.dispatchEvent(new Event('online'))
            else page.turn(step)
            await t.clock.settle()
          }
          page.turn('visible')
          for (const parts of followed) {
            const all = await t.clock.until(parts, { within: '2m' })
            expect(all.flatMap(({ type, chunk }) => (type === 'k' ? [chunk] : []))).toEqual(numbers(8))
            expect(all.at(-1)).toMatchObject({ type: 'run', run: { status: 'COMPLETED' } })
          }
          expect(open.size).toBe(0)
        },
      ),
      { numRuns: cases(40) },
    ))
})
