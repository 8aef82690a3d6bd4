import { describe, expect, it, vi } from 'vitest'
import { retry, runs, task, type AnyTask } from 'waitpoint/sdk'
import type { RetrievedRun } from 'waitpoint'
import { createTestEngine } from 'waitpoint/testing'
import { turn } from '../../support/turn.ts'

const URL = 'http://example.invalid/'
const HOUR_MS = 3_600_000
const hourly = { minTimeoutInMs: HOUR_MS, maxTimeoutInMs: HOUR_MS, randomize: false }
const busy = async (): Promise<Response> => new Response('busy', { status: 503 })
const byStatus = { 503: { strategy: 'backoff', ...hourly } } as const

/** The output of a run, or the message of its error, and how long it took. */
async function ended(run: AnyTask): Promise<{ readonly took: number; readonly end: unknown }> {
  await using t = await createTestEngine({ tasks: [run] })
  t.engine.makeDefault()
  const startedAt = t.clock.now()
  const { output, error } = (await runs.poll(await run.trigger(undefined))) as RetrievedRun
  return { took: t.clock.now() - startedAt, end: error?.message ?? output }
}

/** Answers nothing, and rejects as `fetch` does when its signal is aborted. */
function silent(init: RequestInit | undefined): Promise<Response> {
  return new Promise((_resolve, reject) => {
    const { signal } = init ?? {}
    signal?.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError')))
  })
}

describe('the waits of retry', () => {
  it('are told to the hooks', async () => {
    const told: unknown[] = []
    const trying = task({
      id: 'trying',
      onWait: ({ wait }) => void told.push(wait.type),
      onResume: ({ wait }) => void told.push(wait.type),
      run: async () =>
        retry.onThrow(
          async ({ attempt }) => {
            if (attempt === 1) throw new Error('not yet')
            return attempt
          },
          { maxAttempts: 2, ...hourly },
        ),
    })
    expect(await ended(trying)).toEqual({ took: HOUR_MS, end: 2 })
    expect(told).toEqual(['duration', 'duration'])
  })
})

describe('the signal of retry.fetch', () => {
  it('ends it while it waits to ask again', async () => {
    using fetch = vi.spyOn(globalThis, 'fetch').mockImplementation(busy)
    const stop = new AbortController()
    const asking = task({
      id: 'asking',
      onWait: () => stop.abort(new Error('enough')),
      run: async () => (await retry.fetch(URL, { signal: stop.signal, retry: { byStatus } })).status,
    })
    expect(await ended(asking)).toEqual({ took: 0, end: 'enough' })
    expect(fetch).toHaveBeenCalledOnce()
  })

  it('is that of the body that is read afterwards', async () => {
    using fetch = vi.spyOn(globalThis, 'fetch').mockImplementation(async () => new Response('long'))
    const stop = new AbortController()
    const reading = task({
      id: 'reading',
      run: async () => {
        await retry.fetch(URL, { signal: stop.signal })
        stop.abort()
        return fetch.mock.calls[0]?.[1]?.signal?.aborted
      },
    })
    expect((await ended(reading)).end).toBe(true)
  })

  it('may be that of a Request', async () => {
    const stop = new AbortController()
    using _fetch = vi.spyOn(globalThis, 'fetch').mockImplementation(async (_request, init) => {
      const answer = silent(init)
      stop.abort(new Error('enough'))
      return answer
    })
    const asking = task({
      id: 'asking',
      run: async () => (await retry.fetch(new Request(URL, { signal: stop.signal }))).status,
    })
    expect((await ended(asking)).end).toBe('enough')
  })
})

describe('timeoutInMs of retry.fetch', () => {
  it.each([0, Number.NaN, Infinity])('is none with %s', async (timeoutInMs) => {
    using _fetch = vi.spyOn(globalThis, 'fetch').mockImplementation(async (_url, init) => {
      for (let turns = 0; turns < 10; turns += 1) await turn()
      return new Response(String(init?.signal?.aborted))
    })
    const asking = task({
      id: 'asking',
      run: async () => (await retry.fetch(URL, { timeoutInMs })).text(),
    })
    expect((await ended(asking)).end).toBe('false')
  })

  it('is refused if it is no number', async () => {
    const asking = task({
      id: 'asking',
      // @ts-expect-error -- a number of milliseconds
      run: async () => (await retry.fetch(URL, { timeoutInMs: '5s' })).text(),
    })
    expect((await ended(asking)).end).toBe('Cannot use timeoutInMs "5s" of retry.fetch: it must be a number')
  })
})
