import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { createClient } from 'waitpoint/client'
import { createHandler } from 'waitpoint/http'
import { createTestEngine } from 'waitpoint/testing'
import { SECRET } from '../../http/requests.ts'
import { bodyTask } from '../../support/body-task.ts'
import { cases } from '../../support/cases.ts'
import { collect, numbers } from '../../support/streams.ts'
import { StubPage } from '../stub-page.ts'
import { StubService, silence } from '../stub-service.ts'

/** The requests that have not ended: of a browser, six reach one server. */
class OpenRequests {
  size = 0
  readonly #send: (request: Request) => Promise<Response>

  constructor(send: (request: Request) => Promise<Response>) {
    this.#send = send
  }

  readonly fetch = async (request: Request): Promise<Response> => {
    this.size += 1
    const ended = new Promise<void>((resolve) => request.signal.addEventListener('abort', () => resolve()))
    void ended.then(() => (this.size -= 1))
    return this.#send(request)
  }
}

afterEach(() => StubPage.close())

const body = bodyTask(async ({ streams, wait }) => {
  for (let chunk = 0; chunk < 8; chunk += 1) {
    await streams.append('k', chunk)
    await wait.for({ seconds: 1 })
  }
})

describe('a page that is hidden', () => {
  it('has no connection open, and has every part once when it is shown again', () =>
    fc.assert(
      fc.asyncProperty(
        fc.boolean(),
        fc.array(fc.constantFrom<'hidden' | 'visible' | number>('hidden', 'visible', 100, 1_500, 30_000), {
          maxLength: 12,
        }),
        async (isHosted, steps) => {
          const page = StubPage.open()
          await using t = await createTestEngine({
            tasks: [body],
            secretKey: SECRET,
            clock: { mode: 'manual' },
          })
          const handler = createHandler(t.engine)
          const open = new OpenRequests(async (request) =>
            // The hosted service has no such route: it is followed with long polls.
            isHosted && request.url.includes('/stream?')
              ? Response.json({ error: 'Not found' }, { status: 404 })
              : handler(request),
          )
          const client = createClient({
            baseUrl: 'http://engine.test',
            accessToken: SECRET,
            fetch: open.fetch,
            clock: t.clock,
          })
          const run = await t.engine.trigger(body, null)
          const parts = collect(client.runs.subscribeToRun(run.id).withStreams())
          for (const step of [...steps, 'hidden', 60_000] as const) {
            if (typeof step === 'number') await t.clock.advance(step)
            else page.turn(step)
            await t.clock.settle()
            if (page.visibilityState === 'hidden') expect(open.size).toBe(0)
          }
          page.turn('visible')
          const all = await t.clock.until(parts, { within: '1m' })
          expect(all.flatMap(({ type, chunk }) => (type === 'k' ? [chunk] : []))).toEqual(numbers(8))
          expect(all.at(-1)).toMatchObject({ type: 'run', run: { status: 'COMPLETED' } })
          expect(open.size).toBe(0)
        },
      ),
      { numRuns: cases(60) },
    ))

  it('asks for nothing before it is shown, and counts no attempt that it gave up', async () => {
    const page = StubPage.open()
    page.turn('hidden')
    const stub = new StubService([silence, silence, silence], { retry: { maxAttempts: 1 } })
    const controller = new AbortController()
    const states = collect(stub.client.runs.subscribeToRun('run_1', { signal: controller.signal }))
    const ended = states.catch((error: unknown) => error)
    for (const asked of [1, 2, 3]) {
      await stub.clock.advance('1h')
      expect(stub.asked).toHaveLength(asked - 1)
      page.turn('visible')
      await stub.clock.settle()
      expect(stub.asked).toHaveLength(asked)
      page.turn('hidden')
    }
    controller.abort(new Error('left'))
    expect(await ended).toEqual(new Error('left'))
  })

  it('goes on at once, and not after a pause, when it is shown or has a network again', async () => {
    const page = StubPage.open()
    const gone = (): never => {
      throw new TypeError('Load failed')
    }
    const stub = new StubService([gone, gone, gone, silence, silence], { retry: { minTimeoutInMs: 600_000 } })
    const controller = new AbortController()
    const told: string[] = []
    const states = collect(
      stub.client.runs.subscribeToRun('run_1', {
        signal: controller.signal,
        onConnection: (state) => told.push(state),
      }),
    )
    const ended = states.catch((error: unknown) => error)
    const turns: readonly (() => void)[] = [
      () => page.window.dispatchEvent(new Event('online')),
      () => page.turn('hidden'),
      () => page.turn('visible'),
      () => page.window.dispatchEvent(new Event('pageshow')),
      // A connection of before may be dead without a sign.
      () => page.window.dispatchEvent(new Event('online')),
    ]
    await stub.clock.settle()
    const asked = [stub.asked.length]
    for (const act of turns) {
      act()
      await stub.clock.settle()
      asked.push(stub.asked.length)
    }
    expect(asked).toEqual([1, 2, 2, 3, 4, 5])
    expect(new Set(told)).toEqual(new Set(['reconnecting']))
    controller.abort(new Error('left'))
    expect(await ended).toEqual(new Error('left'))
  })

  it('is told when its connection is lost, and when it has another one', async () => {
    const page = StubPage.open()
    await using t = await createTestEngine({ tasks: [body], secretKey: SECRET, clock: { mode: 'manual' } })
    const client = createClient({
      baseUrl: 'http://engine.test',
      accessToken: SECRET,
      fetch: createHandler(t.engine),
      clock: t.clock,
    })
    const told: string[] = []
    const run = await t.engine.trigger(body, null)
    const states = collect(client.runs.subscribeToRun(run, { onConnection: (state) => told.push(state) }))
    for (const visibility of ['hidden', 'visible'] as const) {
      await t.clock.advance('1s')
      page.turn(visibility)
    }
    await t.clock.until(states, { within: '1m' })
    expect(told).toEqual(['live', 'reconnecting', 'live'])
    expect(() => client.runs.subscribeToRun(run, { onConnection: 'live' as never })).toThrow(TypeError)
  })

  it('ends with its signal', async () => {
    StubPage.open().turn('hidden')
    const stub = new StubService([])
    const controller = new AbortController()
    const states = collect(stub.client.runs.subscribeToRun('run_1', { signal: controller.signal }))
    await stub.clock.settle()
    controller.abort(new Error('left'))
    await expect(states).rejects.toThrow('left')
  })
})
