import { describe, expect, it } from 'vitest'
import {
  type AnyTask,
  type Engine,
  type EngineErrorEvent,
  type EngineOptions,
  type EngineRunsNamespace,
  type MetadataNamespace,
  once,
  type RunHandle,
  StorageAwayError,
  type StreamsNamespace,
  type TasksNamespace,
  type RunTools,
  wait,
  type EngineWaitNamespace,
} from 'waitpoint'
import { createTestEngine, type TestEngine } from 'waitpoint/testing'
import { projectStorage } from '../../support/abandon.ts'
import { type AwayStorage, awayStorage, type Outage } from '../../support/away-storage.ts'
import { bodyTask } from '../../support/body-task.ts'
import { madeId } from '../../../src/testing/conformance/named-storage.ts'
import { queuedRun } from '../../../src/testing/conformance/sample-records.ts'
import { wrapStorage } from '../../../src/testing/storages/wrapped.ts'
import { createDeferred } from '../../../src/primitives/deferred.ts'

interface Scene extends TestEngine {
  readonly server: AwayStorage
  readonly errors: EngineErrorEvent[]
}

/** An engine on a storage that can be switched off, and a clock that only moves when it is told to. */
async function sceneOf(tasks: EngineOptions['tasks'] & object, options: EngineOptions = {}): Promise<Scene> {
  const server = awayStorage(projectStorage())
  const t = await createTestEngine({ ...options, tasks, storage: server.storage, clock: { mode: 'manual' } })
  const errors: EngineErrorEvent[] = []
  t.engine.on('error', (event) => errors.push(event))
  await t.clock.settle()
  return { ...t, server, errors }
}

/** A call that a run makes of its engine, and what it answers. */
interface Step {
  readonly step: (tools: RunTools, t: Prepared) => Promise<unknown>
  readonly output: unknown
}

/** A scene with records from before the run that calls. */
interface Prepared extends Scene {
  readonly open: string
  readonly completed: string
  readonly finished: RunHandle<string>
  readonly delayed: string
  readonly pending: string
}

/** Answers without the storage. */
const LOCAL = 'local'

type Steps<Calls> = Readonly<Record<keyof Calls, Step | typeof LOCAL>>

type ChildTask = typeof child
const child = bodyTask(() => 'child', { id: 'child' })
const talker = bodyTask(
  async ({ streams }) => {
    await streams.append('s', 'one')
    return 'finished'
  },
  { id: 'talker' },
)

async function* two(): AsyncGenerator<string> {
  yield 'one'
  yield await Promise.resolve('two')
}

async function allOf(chunks: AsyncIterable<unknown>): Promise<unknown[]> {
  const all: unknown[] = []
  for await (const chunk of chunks) all.push(chunk)
  return all
}

const waits: Steps<EngineWaitNamespace> = {
  createToken: {
    step: async () => (await wait.createToken({ idempotencyKey: 'k' })).isCached,
    output: false,
  },
  forToken: { step: async (_, t) => (await wait.forToken(t.completed)).ok, output: true },
  signal: { step: async (_, t) => (await wait.signal(t.completed)).aborted, output: true },
  completeToken: {
    step: (_, t) => wait.completeToken(t.open, 'yes'),
    output: { success: true, status: 'COMPLETED' },
  },
  withdrawToken: {
    step: (_, t) => t.engine.wait.withdrawToken(t.open, { reason: 'late' }),
    output: { success: true, status: 'TIMED_OUT', by: { via: 'call', reason: 'late' } },
  },
  extendToken: {
    step: (_, t) => t.engine.wait.extendToken(t.open, '3d'),
    output: { success: true, status: 'WAITING' },
  },
  reassignToken: {
    step: (_, t) => t.engine.wait.reassignToken(t.open, ['ann']),
    output: { success: true, status: 'WAITING' },
  },
  retrieveToken: { step: async (_, t) => (await wait.retrieveToken(t.open)).status, output: 'WAITING' },
  listTokens: { step: async () => (await wait.listTokens({ status: 'COMPLETED' })).data.length, output: 1 },
  countTokens: {
    step: async (_, t) => (await t.engine.wait.countTokens()).COMPLETED.count,
    output: 1,
  },
  subscribeToToken: {
    step: async (_, t) => {
      for await (const { status } of t.engine.wait.subscribeToToken(t.open)) return status
      return 'over'
    },
    output: 'WAITING',
  },
  subscribeToTokens: {
    step: async (_, t) => {
      for await (const { length } of t.engine.wait.subscribeToTokens()) return length
      return -1
    },
    output: 1,
  },
  for: { step: () => wait.for({ seconds: 1 }), output: null },
  until: { step: async (_, t) => wait.until({ date: new Date(t.clock.now() + 1_000) }), output: null },
}

const runs: Steps<EngineRunsNamespace> = {
  retrieve: {
    step: async ({ runs: all }, t) => (await all.retrieve(t.finished)).output,
    output: 'finished',
  },
  list: { step: async ({ runs: all }) => (await all.list({ status: 'COMPLETED' })).data.length, output: 1 },
  poll: { step: async ({ runs: all }, t) => (await all.poll(t.finished)).status, output: 'COMPLETED' },
  cancel: {
    step: async ({ runs: all }, t) => {
      const { id } = await all.cancel(t.delayed)
      return (await all.retrieve(id)).status
    },
    output: 'CANCELED',
  },
  replay: {
    step: async ({ runs: all }, t) => (await all.replay(t.finished)).id === t.finished.id,
    output: false,
  },
  reschedule: {
    step: async ({ runs: all }, t) => (await all.reschedule(t.delayed, { delay: '2d' })).status,
    output: 'DELAYED',
  },
  resetIdempotencyKey: {
    step: async ({ runs: all, tasks }) => {
      const { id } = await tasks.trigger<ChildTask>('child', null, { idempotencyKey: 'reset' })
      return (await all.resetIdempotencyKey('child', 'reset')) === id
    },
    output: true,
  },
  addTags: {
    step: async ({ runs: all }, t) => (await all.addTags(t.delayed, 'late')).length,
    output: 1,
  },
  subscribeToRun: {
    step: async ({ runs: all }, t) => (await allOf(all.subscribeToRun(t.finished))).length,
    output: 1,
  },
  continueWith: {
    step: async (_, t) => (await t.engine.runs.continueWith(t.pending)).status !== 'PENDING_VERSION',
    output: true,
  },
  counts: { step: async (_, t) => (await t.engine.runs.counts()).COMPLETED.count, output: 1 },
  explain: { step: async (_, t) => (await t.engine.runs.explain(t.finished)).reason, output: 'ended' },
}

const subtasks: Steps<TasksNamespace> = {
  trigger: {
    step: async ({ tasks }) => (await tasks.trigger<ChildTask>('child', null)).isCached,
    output: false,
  },
  batchTrigger: {
    step: async ({ tasks }) =>
      (await tasks.batchTrigger<ChildTask>('child', [{ payload: null }])).runs.length,
    output: 1,
  },
  triggerAndWait: {
    step: ({ tasks }) => tasks.triggerAndWait<ChildTask>('child', null).unwrap(),
    output: 'child',
  },
  batchTriggerAndWait: {
    step: async ({ tasks }) => {
      const { runs: ended } = await tasks.batchTriggerAndWait<ChildTask>('child', [{ payload: null }])
      return ended.map(({ ok }) => ok)
    },
    output: [true],
  },
}

const metadataCalls: Steps<MetadataNamespace> = {
  current: LOCAL,
  get: LOCAL,
  set: LOCAL,
  del: LOCAL,
  increment: LOCAL,
  decrement: LOCAL,
  append: LOCAL,
  flush: {
    step: async ({ metadata }) => {
      metadata.set('a', 1)
      await metadata.flush()
      return metadata.get('a')
    },
    output: 1,
  },
  stream: {
    step: async ({ metadata }) => allOf(await metadata.stream('m', two())),
    output: ['one', 'two'],
  },
}

const streamCalls: Steps<StreamsNamespace> = {
  define: LOCAL,
  append: { step: ({ streams }) => streams.append('a', 'one'), output: null },
  pipe: {
    step: async ({ streams }) => {
      const piped = streams.pipe('p', two())
      const chunks = await allOf(piped.stream)
      await piped.waitUntilComplete()
      return chunks
    },
    output: ['one', 'two'],
  },
  read: { step: ({ streams }, t) => allOf(streams.read(t.finished, 's')), output: ['one'] },
}

const others: Steps<Pick<Engine, 'trigger' | 'createAccessToken'> & RunHandle<string> & { once: unknown }> = {
  trigger: { step: async (_, t) => (await t.engine.trigger(child, null)).isCached, output: false },
  createAccessToken: LOCAL,
  once: { step: () => once('mail', () => 'sent'), output: 'sent' },
  id: LOCAL,
  publicAccessToken: LOCAL,
  isCached: LOCAL,
  result: { step: (_, t) => t.finished.result(), output: 'finished' },
  outcome: { step: async (_, t) => (await t.finished.outcome()).ok, output: true },
}

const spaces = {
  wait: waits,
  runs,
  tasks: subtasks,
  metadata: metadataCalls,
  streams: streamCalls,
  others,
}

const steps = Object.entries(spaces).flatMap(([space, calls]) =>
  Object.entries(calls as Readonly<Record<string, Step | typeof LOCAL>>).flatMap(([name, step]) =>
    step === LOCAL ? [] : [[`${space}.${name}`, step] as const],
  ),
)

async function prepared(task: AnyTask): Promise<Prepared> {
  const t = await sceneOf([task, child, talker])
  const { engine, clock, server } = t
  const open = await engine.wait.createToken({ timeout: '1d' })
  const completed = await engine.wait.createToken({ timeout: '1d' })
  await engine.wait.completeToken(completed, 'yes')
  const finished = await engine.trigger(talker, null)
  const delayed = await engine.trigger(child, null, { delay: '1d' })
  const createdAt = clock.now()
  const pending = madeId('run', 'pending', createdAt)
  const record = {
    ...queuedRun(pending, { createdAt }),
    taskId: 'child',
    status: 'PENDING_VERSION',
  } as const
  await server.storage.runs.insert({ record, now: clock.now(), by: 'another engine' })
  await finished.result()
  return { ...t, open: open.id, completed: completed.id, finished, delayed: delayed.id, pending }
}

/** The first call of a step fails, or one of those that follow from its answer. */
const scenes = (['nothing is done', 'answers are lost'] as const).flatMap((outage: Outage) =>
  [0, 1, 2].map((calls) => [outage, calls] as const),
)

describe.each(scenes)('a storage that is away, so that %s, after %i calls:', (outage, calls) => {
  it.each(steps)('%s of a run waits for it', async (_name, { step, output }) => {
    const calling = bodyTask(async (tools) => {
      await t.clock.sleep('1s')
      t.server.goAway(outage, calls)
      return (await step(tools, t)) ?? null
    })
    const t: Prepared = await prepared(calling)
    const run = await t.engine.trigger(calling, null)
    await t.clock.advance('15s')
    if (calls === 0) expect(t.server.failed.length).toBeGreaterThan(1)
    t.server.comeBack()
    await t.clock.advance('30s')
    const record = await t.engine.runs.retrieve(run)
    expect(record).toMatchObject({ status: 'COMPLETED', output, attemptCount: 1 })
    await t.close()
  })
})

describe('a storage that is away', () => {
  it('is told once, with the reason, and once more when it is back', async () => {
    const asking = bodyTask(async () => {
      await t.clock.sleep('1s')
      await Promise.all([wait.createToken(), wait.createToken(), wait.createToken()])
    })
    const t: Scene = await sceneOf([asking])
    const runs = [await t.engine.trigger(asking, null), await t.engine.trigger(asking, null)]
    await t.clock.settle()
    t.server.goAway()
    const since = new Date(t.clock.now() + 1_000)
    await t.clock.advance('20s')
    expect(t.errors).toHaveLength(1)
    const [away] = t.errors.map(({ error }) => error as StorageAwayError)
    expect(away).toBeInstanceOf(StorageAwayError)
    expect(away).toMatchObject({ code: 'ERR_STORAGE_UNAVAILABLE', since, until: undefined })
    expect(away?.message).toContain('the server is being started anew')
    t.server.comeBack()
    await t.clock.advance('10s')
    expect(t.errors).toHaveLength(2)
    expect(t.errors[1]?.error).toMatchObject({
      code: 'ERR_STORAGE_UNAVAILABLE',
      since,
      until: expect.any(Date) as Date,
    })
    for (const run of runs) expect((await t.engine.runs.retrieve(run)).status).toBe('COMPLETED')
    await t.close()
  })

  it('for longer than storageWaitMs interrupts the attempt: no retry is used up, and its waits find their answers', async () => {
    const attempts: string[] = []
    const reasons: unknown[] = []
    const asked = createDeferred<string>()
    const ask = bodyTask(async ({ ctx, signal }) => {
      attempts.push(`${ctx.attempt.number} ${ctx.attempt.policyNumber}`)
      signal.addEventListener('abort', () => reasons.push(signal.reason))
      const token = await wait.createToken({ timeout: '1d' })
      asked.resolve(token.id)
      await t.clock.sleep('1s')
      return wait.forToken(token).unwrap()
    })
    const t: Scene = await sceneOf([ask], { storageWaitMs: 30_000 })
    const run = await t.engine.trigger(ask, null)
    const token = await asked.promise
    await t.clock.settle()
    t.server.goAway()
    await t.clock.advance('2m')
    expect(attempts).toEqual(['1 1'])
    expect(reasons).toMatchObject([{ code: 'ERR_STORAGE_UNAVAILABLE' }])
    t.server.comeBack()
    await t.clock.advance('10s')
    expect(attempts).toEqual(['1 1', '2 1'])
    await t.engine.wait.completeToken(token, 'approved')
    await t.clock.advance('1s')
    expect(await t.engine.runs.retrieve(run)).toMatchObject({ status: 'COMPLETED', output: 'approved' })
    expect(t.engine.stats()).toMatchObject({ attempts: 0, executing: 0 })
    await t.close()
  })

  it('while a run cancels another one leaves none of its children behind', async () => {
    const server = awayStorage(projectStorage())
    // It goes away right after it has taken the cancel of the parent.
    const storage = wrapStorage(server.storage, (name, operation) => (...args) => {
      const answer = operation(...args)
      const isCancel = name === 'runs.update' && JSON.stringify(args[0]).includes('"CANCELED"')
      if (isCancel && server.failed.length === 0) server.goAway()
      return answer
    })
    const patient = bodyTask(async () => wait.for({ days: 1 }), { id: 'patient' })
    const parent = bodyTask(
      async ({ tasks }) => {
        await tasks.triggerAndWait<typeof patient>('patient', null)
      },
      { id: 'parent' },
    )
    const canceling = bodyTask(async ({ runs: all }) => {
      await t.clock.sleep('1s')
      await all.cancel(asked.id)
      return 'canceled'
    })
    const tasks = [patient, parent, canceling]
    const t = await createTestEngine({ tasks, storage, clock: { mode: 'manual' } })
    t.engine.on('error', () => undefined)
    const asked = await t.engine.trigger(parent, null)
    await t.clock.settle()
    const run = await t.engine.trigger(canceling, null)
    await t.clock.advance('10s')
    expect(server.failed).not.toEqual([])
    server.comeBack()
    await t.clock.advance('10s')
    const { data } = await t.engine.runs.list({ taskIdentifier: ['patient', 'parent'] })
    expect(data.map(({ status }) => status)).toEqual(['CANCELED', 'CANCELED'])
    expect(await t.engine.runs.retrieve(run)).toMatchObject({ output: 'canceled', attemptCount: 1 })
    await t.close()
  })

  it('does not fail a run that makes calls of the storage by itself', async () => {
    const attempts: number[] = []
    const canceling = bodyTask(async ({ ctx }) => {
      attempts.push(ctx.attempt.number)
      await t.clock.sleep('1s')
      await t.server.storage.runs.get(ctx.run.id)
      return 'done'
    })
    const t: Scene = await sceneOf([canceling])
    const run = await t.engine.trigger(canceling, null)
    await t.clock.settle()
    t.server.goAway()
    await t.clock.advance('10s')
    t.server.comeBack()
    await t.clock.advance('10s')
    expect(attempts).toEqual([1, 2])
    expect(await t.engine.runs.retrieve(run)).toMatchObject({ status: 'COMPLETED', output: 'done' })
    await t.close()
  })

  it('does not count against maxDuration', async () => {
    const brief = bodyTask(
      async () => {
        await t.clock.sleep('1s')
        await wait.createToken()
        await t.clock.sleep('1s')
        return 'in time'
      },
      { maxDuration: '3s' },
    )
    const t: Scene = await sceneOf([brief])
    const run = await t.engine.trigger(brief, null)
    await t.clock.settle()
    t.server.goAway()
    await t.clock.advance('20s')
    t.server.comeBack()
    await t.clock.advance('20s')
    expect(await t.engine.runs.retrieve(run)).toMatchObject({ status: 'COMPLETED', output: 'in time' })
    await t.close()
  })

  it('is not waited for outside of runs, nor by an engine that closes', async () => {
    const failures: unknown[] = []
    const asking = bodyTask(async () => {
      await t.clock.sleep('1s')
      await wait.createToken().catch((error: unknown) => failures.push(error))
    })
    const t: Scene = await sceneOf([asking])
    await t.engine.trigger(asking, null)
    await t.clock.settle()
    t.server.goAway()
    await expect(t.engine.wait.createToken()).rejects.toMatchObject({ code: 'ERR_STORAGE_UNAVAILABLE' })
    await t.clock.advance('2s')
    t.server.comeBack()
    await t.close()
    expect(failures).toMatchObject([{ code: 'ERR_ENGINE_CLOSED' }])
  })

  it('leaves no timer behind when the engine closes: a run that has ended does not ask again', async () => {
    const noting = bodyTask(({ metadata }) => {
      metadata.set('step', 1)
      t.server.goAway()
    })
    const t: Scene = await sceneOf([noting])
    const run = await t.engine.trigger(noting, null)
    // The write of the metadata is to be made again at 0.7 s and 1.5 s, the end of the run at 1 s.
    await t.clock.advance('950ms')
    t.server.comeBack()
    await t.clock.advance('50ms')
    expect(await t.engine.runs.retrieve(run)).toMatchObject({ status: 'COMPLETED', metadata: { step: 1 } })
    await t.close()
  })
})
