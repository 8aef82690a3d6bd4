import { describe, expect, it } from 'vitest'
import { metadata, queue, type RunTools, runs, schedules, streams, task, tasks, wait } from 'waitpoint'
import { createTestEngine, type TestEngine } from 'waitpoint/testing'
import * as sdk from 'waitpoint/sdk'
import { projectStorage } from '../support/abandon.ts'
import { awayStorage } from '../support/away-storage.ts'
import { bodyTask } from '../support/body-task.ts'
import { turn } from '../support/turn.ts'

/** What a task may call and leave behind, unawaited. An unhandled rejection fails the file. */
interface Scene {
  readonly t: TestEngine
  readonly tools: RunTools
  /** A run that waits, a run that is delayed, and a token. */
  readonly id: string
  readonly delayed: string
  readonly token: string
}

const CALLS: Readonly<Record<string, (scene: Scene) => PromiseLike<unknown>>> = {
  'engine.runs.poll': ({ t, id }) => t.engine.runs.poll(id),
  'engine.runs.retrieve': ({ t, id }) => t.engine.runs.retrieve(id),
  'engine.runs.cancel': ({ t, id }) => t.engine.runs.cancel(id),
  'engine.runs.explain': ({ t, id }) => t.engine.runs.explain(id),
  'engine.runs.replay': ({ t, id }) => t.engine.runs.replay(id),
  'engine.runs.addTags': ({ t, id }) => t.engine.runs.addTags(id, 'tag'),
  'engine.runs.reschedule': ({ t, delayed }) => t.engine.runs.reschedule(delayed, { delay: '1d' }),
  'engine.runs.counts': ({ t }) => t.engine.runs.counts(),
  'engine.runs.list': ({ t }) => t.engine.runs.list(),
  'engine.trigger': ({ t }) => t.engine.trigger(patient, null),
  'engine.queues': ({ t }) => t.engine.queues(),
  'engine.wait.retrieveToken': ({ t, token }) => t.engine.wait.retrieveToken(token),
  'engine.wait.countTokens': ({ t }) => t.engine.wait.countTokens(),
  'engine.wait.completeToken': ({ t, token }) => t.engine.wait.completeToken(token, 1),
  'engine.schedules.list': ({ t }) => t.engine.schedules.list(),
  'runs.poll': ({ id }) => runs.poll(id),
  'runs.retrieve': ({ id }) => runs.retrieve(id),
  'tools.runs.poll': ({ tools, id }) => tools.runs.poll(id),
  'tasks.trigger': () => tasks.trigger<typeof patient>('patient', null),
  'tasks.batchTrigger': () => tasks.batchTrigger<typeof patient>('patient', [{ payload: null }]),
  'tasks.triggerAndWait': () => tasks.triggerAndWait<typeof patient>('patient', null),
  'wait.createToken': () => wait.createToken(),
  'wait.listTokens': () => wait.listTokens(),
  'wait.for': () => wait.for({ days: 1 }),
  'streams.append': () => streams.append('k', 1),
  'schedules.list': () => schedules.list(),
  'queue().retrieve': () => queue('a').retrieve(),
  'sdk.runs.poll': ({ id }) => sdk.runs.poll(id),
  'sdk.runs.retrieve': ({ id }) => sdk.runs.retrieve(id),
  'sdk.runs.cancel': ({ id }) => sdk.runs.cancel(id),
  'sdk.tasks.trigger': () => sdk.tasks.trigger('patient', null),
  'sdk.tasks.triggerAndWait': () => sdk.tasks.triggerAndWait('patient', null),
  'sdk.wait.createToken': () => sdk.wait.createToken({}),
  'sdk.wait.for': () => sdk.wait.for({ days: 1 }),
  'sdk.streams.append': () => sdk.streams.append('k', 'one'),
  'sdk.usage.measure': () => sdk.usage.measure(() => wait.for({ days: 1 })),
  'sdk.logger.trace': () => sdk.logger.trace('left', () => wait.for({ days: 1 })),
  'sdk.retry.onThrow': () =>
    sdk.retry.onThrow(() => Promise.reject(new Error('no')), { maxAttempts: 2, minTimeoutInMs: 86_400_000 }),
  'sdk.retry.fetch': () =>
    sdk.retry.fetch('http://127.0.0.1:1', { retry: { connectionError: { minTimeoutInMs: 86_400_000 } } }),
}

const patient = task({ id: 'patient', run: async (_payload: null) => wait.for({ days: 1 }) })

async function sceneOf(t: TestEngine): Promise<Omit<Scene, 'tools'>> {
  const { id } = await t.engine.trigger(patient, null)
  const delayed = await t.engine.trigger(patient, null, { delay: '10d' })
  const token = await t.engine.wait.createToken({ timeout: '10d' })
  return { t, id, delayed: delayed.id, token: token.id }
}

describe.each(Object.entries(CALLS))('%s that a task has left behind', (_name, call) => {
  it('ends no process when its attempt is canceled', async () => {
    const leaving = bodyTask(async (tools) => {
      void call({ tools, ...scene })
      await t.clock.sleep('1h')
    })
    await using t = await createTestEngine({
      tasks: [leaving, patient],
      storage: projectStorage(),
      clock: { mode: 'manual' },
    })
    const scene = await sceneOf(t)
    const run = await t.engine.trigger(leaving, null)
    await t.clock.advance('10s')
    await t.engine.runs.cancel(run)
    await t.clock.settle()
    await turn()
    expect((await t.engine.runs.retrieve(run)).status).toBe('CANCELED')
    await t.clock.advance('2d')
  })

  it('ends no process when its attempt is interrupted, because storage is away', async () => {
    const server = awayStorage(projectStorage())
    const leaving = bodyTask(async (tools) => {
      await t.clock.sleep('1s')
      if (tools.ctx.attempt.number > 1) return
      server.goAway()
      void call({ tools, ...scene })
      await wait.createToken()
    })
    await using t = await createTestEngine({
      tasks: [leaving, patient],
      storage: server.storage,
      storageWaitMs: 5_000,
      clock: { mode: 'manual' },
    })
    t.engine.on('error', () => undefined)
    const scene = await sceneOf(t)
    const run = await t.engine.trigger(leaving, null)
    await t.clock.advance('30s')
    await turn()
    server.comeBack()
    await t.clock.advance('2m')
    expect(await t.engine.runs.retrieve(run)).toMatchObject({ status: 'COMPLETED', attemptCount: 2 })
    await t.clock.advance('2d')
  })
})

type Reader = () => Promise<unknown>
type Source = AsyncIterable<string>
type Opened = Promise<AsyncIterable<unknown>> | AsyncIterable<unknown>

async function stepsOf(opened: Opened): Promise<Reader> {
  const steps = (await opened)[Symbol.asyncIterator]()
  return () => steps.next()
}

type Webbed = ReadableStream<unknown>

/** In which ways the code of a task reads the stream that a function of `waitpoint/sdk` answers. */
const BY_WEB: Readonly<Record<string, (stream: Webbed) => Reader>> = {
  'a reader': (stream) => readsOf(stream),
  'an iterator': (stream) => nextOf(stream),
  'values()': (stream) => nextOf({ [Symbol.asyncIterator]: () => stream.values() }),
  'a branch of tee()': (stream) => readsOf(stream.tee()[1]),
}

function readsOf(stream: Webbed): Reader {
  const reader = stream.getReader()
  return () => reader.read()
}

function nextOf(stream: AsyncIterable<unknown>): Reader {
  const steps = stream[Symbol.asyncIterator]()
  return () => steps.next()
}

/** What a task may read of a stream and leave: of its own source, or of another run. */
const OF_SOURCES: Readonly<Record<string, (source: AsyncIterable<string>) => Promise<Reader>>> = {
  'streams.pipe().stream': async (source) => stepsOf(streams.pipe('k', source).stream),
  'streams.pipe().waitUntilComplete': async (source) => {
    const piped = streams.pipe('k', source)
    return () => piped.waitUntilComplete()
  },
  'metadata.stream': async (source) => stepsOf(metadata.stream('k', source)),
  'sdk.streams.pipe().waitUntilComplete': async (source) => {
    const piped = sdk.streams.pipe('k', source)
    return () => piped.waitUntilComplete()
  },
  'sdk.metadata.stream': async (source) => stepsOf(sdk.metadata.stream('k', source)),
  ...Object.fromEntries(
    Object.entries(BY_WEB).map(([way, read]) => [
      `sdk.streams.pipe().stream, by ${way}`,
      async (source: Source) => read(sdk.streams.pipe('k', source).stream as Webbed),
    ]),
  ),
}
const OF_RUNS: Readonly<Record<string, (id: string) => Promise<Reader>>> = {
  ...Object.fromEntries(
    Object.entries(BY_WEB).map(([way, read]) => [
      `sdk.streams.read, by ${way}`,
      async (id: string) => read((await sdk.streams.read(id, 'k')) as Webbed),
    ]),
  ),
  'streams.read': async (id) => stepsOf(streams.read(id, 'k')),
  'runs.subscribeToRun': async (id) => stepsOf(runs.subscribeToRun(id)),
  withStreams: async (id) => stepsOf(runs.subscribeToRun(id).withStreams()),
}

/** Calls a reader twice and leaves both: the second is out when its run ends. */
function leave(read: Reader): void {
  void read()
  void read()
}

describe.each(Object.entries(OF_SOURCES))('%s that a task has left behind', (_name, open) => {
  it('ends no process when its source throws after the return', async () => {
    const leaving = bodyTask(async () => {
      const source = async function* (): AsyncGenerator<string> {
        yield 'one'
        await t.clock.sleep('1s')
        throw new Error('no')
      }
      leave(await open(source()))
    })
    await using t = await createTestEngine({ tasks: [leaving], clock: { mode: 'manual' } })
    t.engine.on('error', () => undefined)
    const run = await t.engine.trigger(leaving, null)
    await t.clock.advance('2s')
    await turn()
    expect((await t.engine.runs.retrieve(run)).status).toBe('COMPLETED')
  })

  it('ends no process when its engine closes', async () => {
    const leaving = bodyTask(async () => {
      const source = async function* (): AsyncGenerator<string> {
        yield 'one'
        await t.clock.sleep('1h')
      }
      leave(await open(source()))
      await t.clock.sleep('1h')
    })
    await using t = await createTestEngine({ tasks: [leaving], clock: { mode: 'manual' } })
    await t.engine.trigger(leaving, null)
    await t.clock.advance('1s')
    await t.engine.close()
    await turn()
    await t.clock.advance('2h')
  })
})

describe.each(Object.entries(OF_RUNS))('%s that a task has left behind', (_name, open) => {
  it('ends no process when its engine closes', async () => {
    const leaving = bodyTask(async () => {
      leave(await open(id))
      await t.clock.sleep('1h')
    })
    const writing = task({
      id: 'writing',
      run: async (_payload: null) => {
        await streams.append('k', 'one')
        await t.clock.sleep('1h')
      },
    })
    await using t = await createTestEngine({ tasks: [leaving, writing], clock: { mode: 'manual' } })
    const { id } = await t.engine.trigger(writing, null)
    await t.clock.advance('1s')
    await t.engine.trigger(leaving, null)
    await t.clock.advance('1s')
    await t.engine.close()
    await turn()
    await t.clock.advance('2h')
  })
})
