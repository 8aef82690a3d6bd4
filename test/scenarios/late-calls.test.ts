import { AsyncResource } from 'node:async_hooks'
import { describe, expect, it } from 'vitest'
import {
  logger,
  metadata,
  type Namespaces,
  once,
  queue,
  queues,
  runs,
  type RunTools,
  schedules,
  streams,
  tasks,
  wait,
} from 'waitpoint'
import * as sdk from 'waitpoint/sdk'
import { createTestEngine, testClock, type TestEngine } from 'waitpoint/testing'
import { bodyTask, rejection } from '../support/body-task.ts'

type Test = Pick<TestEngine, 'clock' | 'engine'>

/** How an attempt ends, while a callback of it is left behind. */
const ENDS: Readonly<Record<string, (tools: RunTools, t: Test) => unknown>> = {
  return: () => 'done',
  throw: () => {
    throw new Error('no')
  },
  retry: ({ ctx }) => {
    if (ctx.attempt.number === 1) throw new Error('again')
  },
  cancel: ({ ctx }, { engine }) => engine.runs.cancel(ctx.run.id),
  maxDuration: (_tools, { clock }) => clock.sleep('5m'),
  'a close of its engine': (_tools, { engine }) => engine.close(),
}

type Spaces = Pick<Namespaces, 'metadata' | 'streams' | 'runs' | 'tasks' | 'wait'>

/** What cannot reject. */
const CHANGES: Readonly<Record<string, (spaces: Spaces) => unknown>> = {
  'metadata.set': (spaces) => spaces.metadata.set('key', 1),
  'metadata.del': (spaces) => spaces.metadata.del('key'),
  'metadata.increment': (spaces) => spaces.metadata.increment('count'),
  'metadata.decrement': (spaces) => spaces.metadata.decrement('count'),
  'metadata.append': (spaces) => spaces.metadata.append('list', 1),
  'metadata.get': (spaces) => spaces.metadata.get('key'),
  'metadata.current': (spaces) => spaces.metadata.current(),
  'streams.pipe': (spaces) => spaces.streams.pipe('stream', [1].values() as never),
}

/** Those of the SDK, with the functions of the engine that they call. */
const SDK_CHANGES: Readonly<Record<string, readonly [() => unknown, ...named: string[]]>> = {
  'metadata.set': [() => sdk.metadata.set('key', 1), 'metadata.set'],
  'metadata.set of a path': [() => sdk.metadata.set('$.key.below', 1), 'metadata.get'],
  'metadata.remove': [() => sdk.metadata.remove('list', 1), 'metadata.get', 'metadata.set'],
  'metadata.increment': [() => sdk.metadata.increment('count'), 'metadata.increment'],
  'metadata.replace': [() => sdk.metadata.replace({ key: 1 }), 'metadata.current', 'metadata.set'],
  'metadata.parent.set': [() => sdk.metadata.parent.set('key', 1), 'metadata.set'],
  'metadata.parent.update': [
    () => sdk.metadata.parent.update({ key: 1 }),
    'metadata.current',
    'metadata.set',
  ],
  'metadata.root.append': [() => sdk.metadata.root.append('list', 1), 'metadata.append'],
  'streams.pipe': [() => sdk.streams.pipe('stream', [1].values() as never), 'streams.pipe'],
  'streams.writer': [
    () => sdk.streams.writer('stream', { execute: ({ write }) => write(1) }),
    'streams.pipe',
  ],
}

/** What answers a promise. */
const ASKED: Readonly<Record<string, (spaces: Spaces) => Promise<unknown>>> = {
  'metadata.stream': (spaces) => spaces.metadata.stream('stream', [1].values() as never),
  'metadata.flush': (spaces) => spaces.metadata.flush(),
  'streams.append': (spaces) => spaces.streams.append('stream', 1),
  'wait.createToken': (spaces) => spaces.wait.createToken(),
  'wait.for': (spaces) => spaces.wait.for({ seconds: 1 }),
  'wait.forToken': (spaces) => spaces.wait.forToken('waitpoint_1'),
  'wait.forToken().unwrap': (spaces) => spaces.wait.forToken('waitpoint_1').unwrap(),
  'tasks.trigger': (spaces) => spaces.tasks.trigger('body', null),
  'tasks.triggerAndWait': (spaces) => spaces.tasks.triggerAndWait('body', null),
  'tasks.batchTrigger': (spaces) => spaces.tasks.batchTrigger('body', [{ payload: null }]),
  'runs.retrieve': (spaces) => spaces.runs.retrieve('run_1'),
  'runs.list': (spaces) => spaces.runs.list(),
  'a reader of streams.read': (spaces) => firstOf(spaces.streams.read('run_1', 'stream')),
  'a reader of runs.subscribeToRun': (spaces) => firstOf(spaces.runs.subscribeToRun('run_1')),
  'a reader of withStreams': (spaces) => firstOf(spaces.runs.subscribeToRun('run_1').withStreams()),
}

/** What answers a promise, and only the module has. */
const ASKED_OF_MODULE: Readonly<Record<string, () => Promise<unknown>>> = {
  once: () => once('late', () => 1),
  queues,
  'queue().retrieve': () => queue('mail').retrieve(),
  'queue().pause': () => queue('mail').pause(),
  'queue().setLimit': () => queue('mail').setLimit(1),
  'queue().setLimit of no limit': () => queue('mail').setLimit(-1),
  'queue().setRate': () => queue('mail').setRate({ limit: 1, per: '1s' }),
  'schedules.list': () => schedules.list(),
}

const local = sdk.locals.create<number>('local')
const other = sdk.task({ id: 'other', run: async () => 1 })

/** What the SDK answers a promise for. */
const ASKED_OF_SDK: Readonly<Record<string, () => Promise<unknown>>> = {
  'metadata.stream': () => sdk.metadata.stream('stream', [1].values() as never),
  'tags.add': () => sdk.tags.add('tag'),
  'streams.append': () => sdk.streams.append('stream', 1),
  'the append of a defined stream': () => sdk.streams.define<number>({ id: 'stream' }).append(1),
  'streams.pipe().waitUntilComplete': () =>
    sdk.streams.pipe('stream', [1].values() as never).waitUntilComplete(),
  'wait.createToken': () => sdk.wait.createToken(),
  'wait.completeToken': () => sdk.wait.completeToken('waitpoint_1', 1),
  'wait.retrieveToken': () => sdk.wait.retrieveToken('waitpoint_1'),
  'wait.forToken': () => sdk.wait.forToken('waitpoint_1'),
  'wait.for': () => sdk.wait.for({ seconds: 1 }),
  'wait.for that is told to hooks': () => sdk.wait.for({ hours: 1 }),
  'tasks.trigger': () => sdk.tasks.trigger('body', null),
  'tasks.triggerAndWait': () => sdk.tasks.triggerAndWait('body', null),
  'tasks.batchTrigger': () => sdk.tasks.batchTrigger('body', [{ payload: null }]),
  'task.trigger': () => other.trigger(),
  'task.batchTrigger': () => other.batchTrigger([{ payload: undefined }]),
  'batch.trigger': () => sdk.batch.trigger([{ id: 'body', payload: null }]),
  'runs.retrieve': () => sdk.runs.retrieve('run_1'),
  'runs.cancel': () => sdk.runs.cancel('run_1'),
  'runs.list': () => sdk.runs.list(),
  'queues.list': () => sdk.queues.list(),
  'queues.pause': () => sdk.queues.pause('queue_1'),
  'schedules.list': () => sdk.schedules.list(),
  'schedules.retrieve': () => sdk.schedules.retrieve('sched_1'),
  'retry.onThrow between two tries': () =>
    sdk.retry.onThrow(() => Promise.reject(new Error('no')), { maxAttempts: 2 }),
  // No request is made to this port.
  'retry.fetch between two requests': () => sdk.retry.fetch('http://127.0.0.1:1'),
}

function firstOf(parts: AsyncIterable<unknown>): Promise<unknown> {
  return parts[Symbol.asyncIterator]().next()
}

const SURFACES: Readonly<Record<string, (tools: RunTools, t: Test) => Spaces>> = {
  module: () => ({ metadata, streams, runs, tasks, wait }),
  tools: (tools) => tools,
  engine: (_tools, { engine }) => engine,
}

interface Behind {
  readonly errors: readonly unknown[]
  readonly lines: readonly string[]
}

/** Runs a task to its end, and then `late` where a callback of its first attempt would be: twice. */
async function leftBehind(end: string, late: (tools: RunTools, t: Test) => unknown): Promise<Behind> {
  const clock = testClock({ mode: 'manual' })
  const errors: unknown[] = []
  const lines: string[] = []
  let call: (() => unknown) | undefined
  const body = bodyTask(
    (tools) => {
      call ??= AsyncResource.bind(() => late(tools, t))
      return ENDS[end]?.(tools, t)
    },
    { maxDuration: '1m', retry: { maxAttempts: end === 'retry' ? 2 : 1 } },
  )
  const t = await createTestEngine({ tasks: [body], clock })
  await using _ = t
  t.engine.on('error', ({ error }) => errors.push(error))
  t.engine.on('log', ({ message }) => lines.push(message))
  const run = await t.engine.trigger(body, null)
  await clock.advance('2m')
  await run.outcome()
  await call?.()
  await call?.()
  await clock.settle()
  return { errors, lines }
}

/** An engine that is closed tells nothing any more. */
function isClosed(end: string): boolean {
  return end === 'a close of its engine'
}

describe.each(Object.keys(ENDS))('after an attempt that has ended by %s', (end) => {
  async function hasNoEffect(
    named: readonly string[],
    late: (tools: RunTools, t: Test) => unknown,
  ): Promise<void> {
    const { errors } = await leftBehind(end, (tools, t) => void late(tools, t))
    const events = named.map((name) => ({
      code: 'ERR_RUN_ENDED',
      message: expect.stringMatching(`^Cannot call ${name} in run `) as unknown,
    }))
    expect(errors).toMatchObject(isClosed(end) ? [] : events)
  }

  async function rejects(ask: (tools: RunTools, t: Test) => Promise<unknown>): Promise<void> {
    let asked: Promise<unknown> | undefined
    await leftBehind(end, (tools, t) => {
      void ask(tools, t)
      asked = ask(tools, t)
    })
    expect(await rejection(asked ?? Promise.resolve())).toMatchObject({
      code: expect.stringMatching(/^ERR_/) as unknown,
    })
  }

  describe.each(Object.keys(SURFACES))('with the namespaces of the %s', (surface) => {
    const spaces = (tools: RunTools, t: Test): Spaces => SURFACES[surface]?.(tools, t) ?? tools

    it.each(Object.keys(CHANGES))('%s has no effect, and is one error event', async (name) => {
      await hasNoEffect([name], (tools, t) => CHANGES[name]?.(spaces(tools, t)))
    })
  })

  describe.each(['module', 'tools'])('with the namespaces of the %s', (surface) => {
    it.each(Object.entries(ASKED))('%s rejects, and may be left', async (_name, ask) => {
      await rejects((tools, t) => ask(SURFACES[surface]?.(tools, t) ?? tools))
    })
  })

  it.each(Object.entries(SDK_CHANGES))(
    '%s of the SDK has no effect, and is an error event',
    async (_name, [change, ...named]) => {
      await hasNoEffect(named, change)
    },
  )

  it.each(Object.entries(ASKED_OF_MODULE))('%s rejects, and may be left', async (_name, ask) => {
    await rejects(ask)
  })

  it.each(Object.entries(ASKED_OF_SDK))('%s of the SDK rejects, and may be left', async (_name, ask) => {
    await rejects(ask)
  })

  it('locals of the SDK are still those of the attempt', async () => {
    const got: (number | undefined)[] = []
    const { errors } = await leftBehind(end, () => {
      got.push(sdk.locals.get(local))
      sdk.locals.set(local, got.length)
      got.push(sdk.locals.getOrThrow(local))
    })
    expect(got).toEqual([undefined, 1, 1, 3])
    expect(errors).toEqual([])
  })

  it('a logger still logs lines of its run', async () => {
    const { errors, lines } = await leftBehind(end, (tools) => {
      logger.info('module')
      tools.logger.info('tools')
      sdk.logger.info('SDK')
    })
    const told = ['module', 'tools', 'SDK']
    expect(lines).toEqual(isClosed(end) ? [] : [...told, ...told])
    expect(errors).toEqual([])
  })
})
