import { describe, expect, it } from 'vitest'
import { createEngine, type Engine, task, wait } from 'waitpoint'
import { createClient } from 'waitpoint/client'
import { serve } from 'waitpoint/http'
import { createDeferred, type Deferred } from '../../src/primitives/deferred.ts'
import { steadyStorage } from '../support/abandon.ts'
import { until } from '../support/turn.ts'

const SECRET = 'tr_secret'
const HEADERS = { authorization: `Bearer ${SECRET}` }

/** What a listener has heard, as words. The last one says how it ended. */
type Heard = string[]

interface Listened {
  readonly engine: Engine
  readonly runId: string
  readonly url: string
  readonly heard: Heard
  /** A slow listener goes on when this resolves. */
  readonly mayGoOn: Promise<void>
}

/** Notes words until there are no more, and waits after the first of them. */
async function note(
  items: AsyncIterable<unknown>,
  { heard, mayGoOn }: Listened,
  word: (item: never) => string,
): Promise<void> {
  for await (const item of items) {
    heard.push(word(item as never))
    await mayGoOn
  }
  heard.push('end')
}

const statusOf = ({ status }: { readonly status: string }): string => status
const partOf = (part: { type: string; run: { status: string }; chunk?: unknown }): string =>
  part.type === 'run' ? part.run.status : String(part.chunk)
const clientOf = ({ url }: Listened): ReturnType<typeof createClient> =>
  createClient({ baseUrl: url, accessToken: SECRET })

/** Server-sent events as the words that are in their data. */
async function noteEvents(listened: Listened, path: string, words: RegExp): Promise<void> {
  const response = await fetch(listened.url + path, { headers: HEADERS })
  const texts = response.body?.pipeThrough(new TextDecoderStream()) as unknown as AsyncIterable<string>
  for await (const text of texts) {
    for (const [word] of text.matchAll(words)) listened.heard.push(word)
    await listened.mayGoOn
  }
  listened.heard.push('end')
}

const IN_PROCESS: Record<string, (listened: Listened) => Promise<void>> = {
  subscribeToRun: (to) => note(to.engine.runs.subscribeToRun(to.runId), to, statusOf),
  'withStreams()': (to) => note(to.engine.runs.subscribeToRun(to.runId).withStreams(), to, partOf),
  'streams.read': (to) => note(to.engine.streams.read(to.runId, 'k'), to, String),
}

const OVER_HTTP: Record<string, (listened: Listened) => Promise<void>> = {
  'events of a run': (to) =>
    noteEvents(to, `/api/v1/runs/${to.runId}/stream?streams=none`, /EXECUTING|COMPLETED/g),
  'events of a run and its streams': (to) =>
    noteEvents(to, `/api/v1/runs/${to.runId}/stream`, /"(one|two)"|EXECUTING|COMPLETED/g),
  'events of a stream': (to) => noteEvents(to, `/realtime/v1/streams/${to.runId}/k`, /"(one|two)"/g),
}

const WITH_CLIENT: Record<string, (listened: Listened) => Promise<void>> = {
  'subscribeToRun of the client': (to) => note(clientOf(to).runs.subscribeToRun(to.runId), to, statusOf),
  'withStreams() of the client': (to) =>
    note(clientOf(to).runs.subscribeToRun(to.runId).withStreams(), to, partOf),
}

/** What each listener hears last of a run that completes. */
const LAST: Record<string, readonly string[]> = {
  subscribeToRun: ['COMPLETED', 'end'],
  'withStreams()': ['COMPLETED', 'end'],
  'streams.read': ['two', 'end'],
  'events of a run': ['COMPLETED', 'end'],
  'events of a run and its streams': ['COMPLETED', 'end'],
  'events of a stream': ['"two"', 'end'],
  'subscribeToRun of the client': ['COMPLETED', 'end'],
  'withStreams() of the client': ['COMPLETED', 'end'],
}

const WITH_STREAMS = ['withStreams()', 'events of a run and its streams', 'withStreams() of the client']

interface Listening {
  readonly heard: Heard
  readonly engine: Engine
  readonly runId: string
  /** Lets the run come to its end. */
  readonly end: () => void
  /** Lets a slow listener go on. */
  readonly goOn: () => void
  /** Closes the server, after the engine, and resolves when the listener has heard everything. */
  readonly finish: () => Promise<void>
}

/** A run with a stream that is half written, and a listener that has heard its first word. */
async function listening(listen: (listened: Listened) => Promise<void>, isSlow: boolean): Promise<Listening> {
  const gate: Deferred<void> = createDeferred()
  const pace: Deferred<void> = createDeferred()
  const work = task({
    id: 'work',
    run: async (_payload: null, { metadata, signal }) => {
      const source = async function* (): AsyncGenerator<string> {
        yield 'one'
        await gate.promise
        yield 'two'
      }
      await metadata.stream('k', source())
      await new Promise<void>((resolve, reject) => {
        gate.promise.then(resolve, reject)
        signal.addEventListener('abort', () => reject(signal.reason as Error))
      })
      return 'done'
    },
  })
  const engine = createEngine({ tasks: [work], storage: steadyStorage(), secretKey: SECRET })
  const server = await serve(engine)
  const { id: runId } = await engine.trigger(work, null)
  await until(() => engine.stats().executing === 1)
  while ((await engine.runs.retrieve(runId)).realtimeStreams.length === 0) await until(() => true)
  const heard: Heard = []
  if (!isSlow) pace.resolve()
  const { url } = server
  const mayGoOn = pace.promise
  const listened = listen({ engine, runId, url, heard, mayGoOn }).catch((error: unknown) => {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'cut'
    heard.push(code)
  })
  await until(() => heard.length > 0)
  return {
    heard,
    engine,
    runId,
    end: () => gate.resolve(),
    goOn: () => pace.resolve(),
    finish: async () => {
      await server.close()
      await listened
    },
  }
}

const ALL = { ...IN_PROCESS, ...OVER_HTTP, ...WITH_CLIENT }

describe('an engine that closes', () => {
  for (const [name, listen] of Object.entries(ALL)) {
    describe(name, () => {
      it('hears how a run ends within the drain', async () => {
        const { heard, engine, end, finish } = await listening(listen, false)
        const closed = engine.close({ drainMs: '1h' })
        end()
        await closed
        await finish()
        expect(heard.slice(-2)).toEqual(LAST[name])
        if (WITH_STREAMS.includes(name)) expect(heard.join(' ')).toMatch(/one.*two/)
      })

      it('hears it also when it is slow', async () => {
        const { heard, engine, end, goOn, finish } = await listening(listen, true)
        const closed = engine.close({ drainMs: '1h' })
        end()
        await closed
        const told = finish()
        goOn()
        await told
        expect(heard.slice(-2)).toEqual(LAST[name])
        if (WITH_STREAMS.includes(name)) expect(heard.join(' ')).toMatch(/one.*two/)
      })

      it('hears how a run has ended before an engine that is closed at once', async () => {
        const { heard, engine, runId, end, finish } = await listening(listen, false)
        const result = engine.runs.poll(runId)
        end()
        await result
        await engine.close()
        await finish()
        expect(heard.slice(-2)).toEqual(LAST[name])
      })
    })
  }

  for (const [name, listen] of Object.entries(IN_PROCESS)) {
    it(`cuts a listener of a run that does not end: ${name}`, async () => {
      const { heard, engine, finish } = await listening(listen, false)
      await engine.close()
      await finish()
      expect(heard.at(-1)).toBe('ERR_ENGINE_CLOSED')
    })
  }

  for (const [name, listen] of Object.entries(OVER_HTTP)) {
    it(`cuts a listener of a run that does not end: ${name}`, async () => {
      const { heard, engine, finish } = await listening(listen, false)
      await engine.close()
      await finish()
      expect(heard.at(-1)).toBe('cut')
    })
  }

  it('tells results, outcomes and events of a run that ends within the drain', async () => {
    const statuses: string[] = []
    const { engine, runId, end, finish } = await listening(async (to) => {
      to.engine.on('run', statusOfEvent)
      to.heard.push('listens')
    }, false)
    function statusOfEvent({ status }: { readonly status: string }): void {
      statuses.push(status)
    }
    const polled = engine.runs.poll(runId)
    const closed = engine.close({ drainMs: '1h' })
    end()
    await closed
    expect(await polled).toMatchObject({ status: 'COMPLETED', output: 'done' })
    expect(statuses).toEqual(['COMPLETED'])
    await finish()
  })

  it('tells a token that a run settles within the drain, and then that it is closed', async () => {
    const gate = createDeferred<void>()
    const completing = task({
      id: 'completing',
      run: async (tokenId: string) => {
        await gate.promise
        await wait.completeToken(tokenId, 'yes')
      },
    })
    const engine = createEngine({ tasks: [completing], storage: steadyStorage() })
    const token = await engine.wait.createToken({ tags: 't' })
    await engine.trigger(completing, token.id)
    const heard: string[] = []
    const told = (async () => {
      for await (const tokens of engine.wait.subscribeToTokens({ tags: 't' }))
        heard.push(tokens.length.toString())
    })().catch((error: unknown) => heard.push((error as { code: string }).code))
    await until(() => heard.length > 0 && engine.stats().executing === 1)
    const closed = engine.close({ drainMs: '1h' })
    gate.resolve()
    await closed
    await told
    expect(heard).toEqual(['1', '0', 'ERR_ENGINE_CLOSED'])
  })
})
