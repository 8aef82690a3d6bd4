import { AsyncResource } from 'node:async_hooks'
import { describe, expect, it } from 'vitest'
import { logger, metadata, type Namespaces, once, runs, type RunTools, streams, tasks, wait } from 'waitpoint'
import { metadata as hostedMetadata } from 'waitpoint/sdk'
import { createTestEngine, testClock, type TestEngine } from 'waitpoint/testing'
import { bodyTask, rejection } from '../support/body-task.ts'

/** How an attempt ends, while a callback of it is left behind. */
const ENDS: Readonly<Record<string, (tools: RunTools, t: Pick<TestEngine, 'clock' | 'engine'>) => unknown>> =
  {
    return: () => 'done',
    throw: () => {
      throw new Error('no')
    },
    cancel: ({ ctx }, { engine }) => engine.runs.cancel(ctx.run.id),
    maxDuration: (_tools, { clock }) => clock.sleep('5m'),
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

/** What answers a promise. */
const ASKED: Readonly<Record<string, (spaces: Spaces) => Promise<unknown>>> = {
  'metadata.stream': (spaces) => spaces.metadata.stream('stream', [1].values() as never),
  'metadata.flush': (spaces) => spaces.metadata.flush(),
  'streams.append': (spaces) => spaces.streams.append('stream', 1),
  'wait.createToken': (spaces) => spaces.wait.createToken(),
  'wait.for': (spaces) => spaces.wait.for({ seconds: 1 }),
  'wait.forToken': (spaces) => spaces.wait.forToken('waitpoint_1'),
  'tasks.trigger': (spaces) => spaces.tasks.trigger('body', null),
  'runs.retrieve': (spaces) => spaces.runs.retrieve('run_1'),
}

/** What never throws, and returns nothing. */
const QUIET: Readonly<Record<string, (spaces: Spaces) => unknown>> = {
  'logger.info': () => logger.info('late'),
  'metadata.set of the SDK': () => hostedMetadata.set('key', 1),
  'streams.read': (spaces) => spaces.streams.read('run_1', 'stream'),
  'runs.subscribeToRun': (spaces) => spaces.runs.subscribeToRun('run_1'),
}

const SURFACES: Readonly<Record<string, (tools: RunTools) => Spaces>> = {
  module: () => ({ metadata, streams, runs, tasks, wait }),
  tools: (tools) => tools,
}

/** Runs a task to its end, and then `late` where a callback of its attempt would be. */
async function leftBehind(end: string, late: (tools: RunTools) => unknown): Promise<readonly unknown[]> {
  const clock = testClock({ mode: 'manual' })
  const errors: unknown[] = []
  let call: (() => unknown) | undefined
  const body = bodyTask(
    (tools) => {
      call = AsyncResource.bind(() => late(tools))
      return ENDS[end]?.(tools, t)
    },
    { maxDuration: '1m' },
  )
  const t = await createTestEngine({ tasks: [body], clock })
  await using _ = t
  t.engine.on('error', ({ error }) => errors.push(error))
  t.engine.on('log', () => undefined)
  const run = await t.engine.trigger(body, null)
  await clock.advance('2m')
  await run.outcome()
  await call?.()
  await call?.()
  await clock.settle()
  return errors
}

describe.each(Object.keys(ENDS))('after an attempt that has ended by %s', (end) => {
  describe.each(Object.keys(SURFACES))('with the namespaces of the %s', (surface) => {
    const spaces = (tools: RunTools): Spaces => SURFACES[surface]?.(tools) ?? tools

    it.each(Object.keys(CHANGES))('%s has no effect, and is one error event', async (name) => {
      const errors = await leftBehind(end, (tools) => void CHANGES[name]?.(spaces(tools)))
      expect(errors).toMatchObject([{ code: 'ERR_RUN_ENDED' }])
      expect(String(errors[0])).toContain(name)
    })

    it.each(Object.keys(ASKED))('%s rejects, and may be left', async (name) => {
      let asked: Promise<unknown> | undefined
      const errors = await leftBehind(end, (tools) => {
        void ASKED[name]?.(spaces(tools))
        asked = ASKED[name]?.(spaces(tools))
      })
      expect(errors).toEqual([])
      expect(await rejection(asked ?? Promise.resolve())).toMatchObject({
        code: expect.stringMatching(/^ERR_/) as unknown,
      })
    })

    it.each(Object.keys(QUIET))('%s throws nothing', async (name) => {
      await leftBehind(end, (tools) => void QUIET[name]?.(spaces(tools)))
    })
  })

  it('once rejects, and may be left', async () => {
    let asked: Promise<unknown> | undefined
    await leftBehind(end, () => {
      void once('late', () => 1)
      asked = once('late', () => 1)
    })
    expect(await rejection(asked ?? Promise.resolve())).toBeInstanceOf(Error)
  })
})
