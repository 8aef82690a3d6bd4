import { describe, expect, it } from 'vitest'
import {
  createEngine,
  type Engine,
  type Run,
  type RunHandle,
  type RunOutcome,
  type Storage,
  task,
  type TasksNamespace,
  wait,
} from 'waitpoint'
import { createClient } from 'waitpoint/client'
import { serve } from 'waitpoint/http'
import { kernelOf } from '../../src/core/engine.ts'
import { createDeferred, type Deferred } from '../../src/primitives/deferred.ts'
import { wrapStorage } from '../../src/testing/storages/wrapped.ts'
import { steadyStorage } from '../support/abandon.ts'
import { until } from '../support/turn.ts'

const SECRET = 'tr_secret'
const HEADERS = { authorization: `Bearer ${SECRET}` }

/** What a listener has heard, as words. The last one says how it ended. */
type Heard = string[]

interface Listened {
  readonly engine: Engine
  readonly runId: string
  readonly batchId: string
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
const outputOf = (outcome: RunOutcome<unknown>): unknown => {
  if (outcome.ok) return outcome.output
  throw outcome.error
}
/** A handle of the run, by its key. */
const sameRun = ({ tasks }: { readonly tasks: TasksNamespace }): Promise<RunHandle<unknown>> =>
  tasks.trigger('work', null, { idempotencyKey: 'key' })
const clientOf = ({ url }: Listened): ReturnType<typeof createClient> =>
  createClient({ baseUrl: url, accessToken: SECRET })

/** Server-sent events as the words that are in their data. */
async function noteEvents(listened: Listened, path: string, words: RegExp): Promise<void> {
  const response = await fetch(listened.url + path, { headers: HEADERS })
  const texts = response.body?.pipeThrough(new TextDecoderStream()) as unknown as AsyncIterable<string>
  for await (const text of texts) {
    for (const [word] of text.matchAll(words)) listened.heard.push(word)
    // What comes first may be no event yet: the opening of the stream.
    if (listened.heard.length > 0) await listened.mayGoOn
  }
  listened.heard.push('end')
}

/** The statuses that the polls of the published client bring, until the run has ended. */
async function notePolls(listened: Listened, path: string): Promise<void> {
  const url = new URL(listened.url + path)
  let status = ''
  while (!status.startsWith('COMPLETED')) {
    const response = await fetch(url, { headers: HEADERS })
    if (!response.ok) throw new Error(`Cannot poll on: ${response.status}`)
    const messages = (await response.json()) as { readonly value?: { readonly status: string } }[]
    for (const { value } of messages) {
      if (value === undefined) continue
      status = value.status
      listened.heard.push(status)
    }
    url.searchParams.set('live', 'true')
    url.searchParams.set('offset', response.headers.get('electric-offset') ?? '')
    url.searchParams.set('handle', response.headers.get('electric-handle') ?? '')
    await listened.mayGoOn
  }
  listened.heard.push('end')
}

/** Notes that it listens, and then what the call answers. */
async function noteAnswer({ heard }: Listened, answer: Promise<unknown>): Promise<void> {
  heard.push('listens')
  heard.push(String(await answer), 'end')
}

const IN_PROCESS: Record<string, (listened: Listened) => Promise<void>> = {
  subscribeToRun: (to) => note(to.engine.runs.subscribeToRun(to.runId), to, statusOf),
  'withStreams()': (to) => note(to.engine.runs.subscribeToRun(to.runId).withStreams(), to, partOf),
  'streams.read': (to) => note(to.engine.streams.read(to.runId, 'k'), to, String),
  'runs.poll': (to) => noteAnswer(to, to.engine.runs.poll(to.runId).then(statusOf)),
  'result()': async (to) => noteAnswer(to, (await sameRun(to.engine)).result()),
  'outcome()': async (to) => noteAnswer(to, (await sameRun(to.engine)).outcome().then(outputOf)),
}

const OVER_HTTP: Record<string, (listened: Listened) => Promise<void>> = {
  'events of a run': (to) =>
    noteEvents(to, `/api/v1/runs/${to.runId}/stream?streams=none`, /EXECUTING|COMPLETED/g),
  'events of a run and its streams': (to) =>
    noteEvents(to, `/api/v1/runs/${to.runId}/stream`, /"(one|two)"|EXECUTING|COMPLETED/g),
  'events of a stream': (to) => noteEvents(to, `/realtime/v1/streams/${to.runId}/k`, /"(one|two)"/g),
  'events of a page of the console': (to) =>
    noteEvents(to, `/console/events?of=${to.runId}`, /retry|changed/g),
}

/** They are connected while nothing has changed; one that takes its time may come after the end. */
const POLLS: Record<string, (listened: Listened) => Promise<void>> = {
  'polls of a run': (to) => notePolls(to, `/realtime/v1/runs/${to.runId}`),
  'polls of runs with a tag': (to) => notePolls(to, '/realtime/v1/runs?tags=t'),
  'polls of a batch': (to) => notePolls(to, `/realtime/v1/batches/${to.batchId}`),
}

const WITH_CLIENT: Record<string, (listened: Listened) => Promise<void>> = {
  'subscribeToRun of the client': (to) => note(clientOf(to).runs.subscribeToRun(to.runId), to, statusOf),
  'withStreams() of the client': (to) =>
    note(clientOf(to).runs.subscribeToRun(to.runId).withStreams(), to, partOf),
  'result() of the client': async (to) => noteAnswer(to, (await sameRun(clientOf(to))).result()),
  'outcome() of the client': async (to) =>
    noteAnswer(to, (await sameRun(clientOf(to))).outcome().then(outputOf)),
}

/** What each listener hears last of a run that completes. */
function lastOf(name: string): readonly string[] {
  return [LAST[name] ?? 'COMPLETED', 'end']
}
const LAST: Record<string, string> = {
  'streams.read': 'two',
  'runs.poll': 'COMPLETED',
  'result()': 'done',
  'outcome()': 'done',
  'result() of the client': 'done',
  'outcome() of the client': 'done',
  'events of a stream': '"two"',
  'events of a page of the console': 'changed',
  'polls of a run': 'COMPLETED_SUCCESSFULLY',
  'polls of runs with a tag': 'COMPLETED_SUCCESSFULLY',
  'polls of a batch': 'COMPLETED_SUCCESSFULLY',
}

const WITH_STREAMS = ['withStreams()', 'events of a run and its streams', 'withStreams() of the client']

interface Listening {
  readonly heard: Heard
  readonly engine: Engine
  /** The engine that has the run if it is elsewhere. */
  readonly other: Engine
  readonly url: string
  readonly runId: string
  /** Lets the run come to its end. */
  readonly end: () => void
  /** Lets a slow listener go on. */
  readonly goOn: () => void
  /** Closes the server, after the engine, and resolves when the listener has heard everything. */
  readonly finish: () => Promise<void>
}

/** The one run of a batch, as a client triggers it. */
async function triggerBatch(url: string): Promise<string> {
  const ask = (path: string, body: string): Promise<Response> =>
    fetch(url + path, { method: 'POST', headers: HEADERS, body })
  const announced = await ask('/api/v3/batches', '{"runCount":1}')
  const { id } = (await announced.json()) as { readonly id: string }
  const item = { index: 0, task: 'work', payload: null, options: { tags: ['t'], idempotencyKey: 'key' } }
  await ask(`/api/v3/batches/${id}/items`, JSON.stringify(item))
  return id
}

/** A storage of which an engine hears nothing that another one does. */
function unheard(storage: Storage): Storage {
  return { ...wrapStorage(storage, (_name, operation) => operation), subscribe: () => () => undefined }
}

interface Circumstances {
  readonly isSlow?: boolean
  /** Another engine has the run, and the engine of the listener is told nothing of it. */
  readonly isElsewhere?: boolean
  readonly hasStream?: boolean
}

/** A run with a stream that is half written, and a listener that has heard its first word. */
async function listening(
  listen: (listened: Listened) => Promise<void>,
  { isSlow = false, isElsewhere = false, hasStream = true }: Circumstances = {},
): Promise<Listening> {
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
      if (hasStream) await metadata.stream('k', source())
      await new Promise<void>((resolve, reject) => {
        gate.promise.then(resolve, reject)
        signal.addEventListener('abort', () => reject(signal.reason as Error))
      })
      return 'done'
    },
  })
  const storage = steadyStorage()
  const other = createEngine({ tasks: [work], storage })
  const told = createEngine({ tasks: [work], storage: unheard(storage), execute: false, secretKey: SECRET })
  const engine = isElsewhere ? told : createEngine({ tasks: [work], storage, secretKey: SECRET })
  const server = await serve(engine, { console: { authorize: () => true } })
  if (isElsewhere) await other.ready()
  const { url } = server
  const batchId = await triggerBatch(url)
  const [run] = (await engine.runs.list()).data
  const runId = run?.id ?? ''
  const hasBegun = ({ isExecuting, realtimeStreams }: Run): boolean =>
    isExecuting && realtimeStreams.length === (hasStream ? 1 : 0)
  while (!hasBegun(await engine.runs.retrieve(runId))) await until(() => true)
  const heard: Heard = []
  if (!isSlow) pace.resolve()
  const mayGoOn = pace.promise
  const listened = listen({ engine, runId, batchId, url, heard, mayGoOn }).catch((error: unknown) => {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'cut'
    heard.push(code)
  })
  await until(() => heard.length > 0 && kernelOf(engine).watchers.size > 0)
  return {
    heard,
    engine,
    other,
    runId,
    url,
    end: () => gate.resolve(),
    goOn: () => pace.resolve(),
    finish: async () => {
      await server.close()
      await listened
      await other.close()
    },
  }
}

const ALL = { ...IN_PROCESS, ...OVER_HTTP, ...POLLS, ...WITH_CLIENT }

describe('an engine that closes', () => {
  for (const [name, listen] of Object.entries(ALL)) {
    // The end of its streams is a change before the end of a run, and a poll that is answered is not there for the next one.
    const hasStream = !(name in POLLS)
    describe(name, () => {
      it('hears how a run ends within the drain', async () => {
        const { heard, engine, end, finish } = await listening(listen, { hasStream })
        const closed = engine.close({ drainMs: '1h' })
        end()
        await closed
        await finish()
        expect(heard.slice(-2)).toEqual(lastOf(name))
        if (WITH_STREAMS.includes(name)) expect(heard.join(' ')).toMatch(/one.*two/)
      })

      it('hears how a run has ended before an engine that is closed at once', async () => {
        const { heard, engine, runId, end, finish } = await listening(listen, { hasStream })
        const result = engine.runs.poll(runId)
        end()
        await result
        await engine.close()
        await finish()
        expect(heard.slice(-2)).toEqual(lastOf(name))
      })

      it('hears how another engine has ended a run, of which its own was not told', async () => {
        const { heard, engine, other, runId, end, finish } = await listening(listen, {
          isElsewhere: true,
          hasStream,
        })
        end()
        await other.runs.poll(runId)
        await engine.close()
        await finish()
        expect(heard.slice(-2)).toEqual(lastOf(name))
      })
    })
  }

  for (const [name, listen] of Object.entries({ ...IN_PROCESS, ...OVER_HTTP, ...WITH_CLIENT })) {
    it(`hears it also when it is slow: ${name}`, async () => {
      const { heard, engine, end, goOn, finish } = await listening(listen, { isSlow: true })
      const closed = engine.close({ drainMs: '1h' })
      end()
      await closed
      const told = finish()
      goOn()
      await told
      expect(heard.slice(-2)).toEqual(lastOf(name))
      if (WITH_STREAMS.includes(name)) expect(heard.join(' ')).toMatch(/one.*two/)
    })
  }

  for (const [name, listen] of Object.entries(IN_PROCESS)) {
    it(`cuts a listener of a run that does not end: ${name}`, async () => {
      const { heard, engine, finish } = await listening(listen)
      await engine.close()
      await finish()
      expect(heard.at(-1)).toBe('ERR_ENGINE_CLOSED')
    })
  }

  for (const [name, listen] of Object.entries(OVER_HTTP)) {
    it(`cuts a listener of a run that does not end: ${name}`, async () => {
      const { heard, engine, finish } = await listening(listen)
      await engine.close()
      await finish()
      // A page of the console connects again however it ends.
      expect(heard.at(-1)).toBe(name.includes('console') ? 'end' : 'cut')
    })
  }

  it('answers what is asked while it drains', async () => {
    const { engine, runId, url, end, finish } = await listening((to) =>
      note(to.engine.runs.subscribeToRun(to.runId), to, statusOf),
    )
    const { id: tokenId } = await engine.wait.createToken()
    const closed = engine.close({ drainMs: '1h' })
    const paths = [
      `/api/v3/runs/${runId}`,
      '/api/v1/runs',
      `/api/v1/waitpoints/tokens/${tokenId}`,
      '/api/v1/waitpoints/tokens',
      `/realtime/v1/runs/${runId}`,
      ...[
        'runs',
        `runs/${runId}`,
        'tokens',
        `tokens/${tokenId}`,
        'queues',
        'schedules',
        'engines',
        'health',
      ].map((page) => `/console/${page}`),
    ]
    const answers = await Promise.all(
      paths.map(async (path) => [path, (await fetch(url + path, { headers: HEADERS })).status]),
    )
    expect(answers).toEqual(paths.map((path) => [path, 200]))
    await expect(engine.wait.createToken()).rejects.toMatchObject({ code: 'ERR_ENGINE_CLOSED' })
    end()
    await closed
    await finish()
  })

  it('tells results, outcomes and events of a run that ends within the drain', async () => {
    const statuses: string[] = []
    const { engine, runId, end, finish } = await listening(async (to) => {
      to.engine.on('run', statusOfEvent)
      await noteAnswer(to, to.engine.runs.poll(to.runId))
    })
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
