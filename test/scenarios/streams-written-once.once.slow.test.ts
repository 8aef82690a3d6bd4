import { describe, expect, it } from 'vitest'
import {
  type Engine,
  metadata,
  once,
  type RunHandle,
  StreamInterruptedError,
  streams,
  type Task,
  task,
  wait,
} from 'waitpoint'
import { createClient } from 'waitpoint/client'
import { createHandler } from 'waitpoint/http'
import { type Body, type ExplorationTools, ProcessCrashedError } from 'waitpoint/testing'
import { exploreAll } from '../testing/exploration/bodies.ts'

const KEY = 'tr_dev_xxxxxxxx'

async function* twice(text: string): AsyncGenerator<string> {
  yield text
  yield `${text}!`
}

/** Says something to the end, and tells how often it was said. */
async function said(text: string): Promise<number> {
  let count = 0
  for await (const _ of await metadata.stream('text', twice(text))) count += 1
  return count
}

const retry = { maxAttempts: 2, minTimeoutInMs: 1_000, randomize: false }

const turns = task({
  id: 'turns',
  retry,
  run: async (_: null, { ctx }) => {
    await streams.append('text', 'hello', { once: 'greeting' })
    await once('first', () => streams.pipe('text', twice('a')).waitUntilComplete())
    await wait.for({ seconds: 5 })
    await once('second', () => said('b'))
    await streams.append('text', 'bye')
    if (ctx.attempt.policyNumber === 1) throw new Error('again')
    await once('third', () => said('c'))
  },
})
/** What is written outside of effects comes where the last attempt has written it. */
const TURNS = ['hello', 'a', 'a!', 'b', 'b!', 'c', 'c!']
function expectTurns(texts: readonly string[]): void {
  expect(texts.filter((text) => text === 'bye')).toHaveLength(1)
  expect(texts.filter((text) => text !== 'bye')).toEqual(TURNS)
}

const flows = task({
  id: 'flows',
  run: async (_: null) => {
    await Promise.all([
      once('a', () => said('a')),
      once('b', () => said('b')),
      ...['x', 'y', 'x'].map((name) => streams.append('text', name, { once: name })),
    ])
    await wait.for({ seconds: 1 })
    await once('c', () => said('c'))
  },
})
const FLOWS = ['a', 'a!', 'b', 'b!', 'x', 'y', 'c', 'c!'].sort()

/** Reads as a page does: from the start whenever what it has read is replaced. Counts how often that was. */
async function shown(read: () => AsyncIterable<string>): Promise<{ texts: string[]; restarts: number }> {
  for (let restarts = 0; ; restarts += 1) {
    const texts: string[] = []
    try {
      for await (const text of read()) texts.push(text)
      return { texts, restarts }
    } catch (error) {
      if (!(error instanceof StreamInterruptedError || error instanceof ProcessCrashedError)) throw error
    }
  }
}

const readIn = (engine: Engine, run: RunHandle<unknown>) => (): AsyncIterable<string> =>
  engine.streams.read<string>(run, 'text', { attempts: 'last' })

/** What every reader sees at the end, and what was ever written. */
async function check(
  t: ExplorationTools,
  run: RunHandle<unknown>,
  expected: (texts: string[]) => void,
): Promise<void> {
  expected((await shown(readIn(t.engine, run))).texts)
  const fetch = t.serve((engine) => createHandler(engine))
  const client = createClient({ baseUrl: 'http://localhost', accessToken: KEY, fetch })
  expected((await shown(() => client.streams.read<string>(run.id, 'text', { attempts: 'last' }))).texts)
  const all: string[] = []
  for await (const part of t.engine.runs.subscribeToRun(run.id).withStreams<{ text: string }>())
    if (part.type === 'text') all.push(part.chunk)
  for (const once of ['hello', 'x', 'y']) expect(all.filter((text) => text === once).length).toBeLessThan(2)
}

/** A run that is read while it is written, from two engines, and then again. */
function written(of: Task<null, unknown>, expected: (texts: string[]) => void): Body {
  return async (t) => {
    t.startEngine('other')
    const run = await t.engine.trigger(of, null)
    const live = [t.engine, t.elsewhere].map((engine) => shown(readIn(engine, run)))
    await run.result()
    await Promise.all(live)
    await check(t, run, expected)
  }
}

const laws: readonly (readonly [string, Body])[] = [
  ['one after the other', written(turns, expectTurns)],
  ['side by side', written(flows, (texts) => expect(texts.sort()).toEqual(FLOWS))],
]
const tasks = [turns, flows]

describe('effects that write to a stream', () => {
  it.each(laws)('%s are seen once in every schedule with a crash at any commit', async (_, body) => {
    const options = {
      tasks,
      secretKey: KEY,
      maxDeviations: 1,
      crashes: 'every-commit',
      faults: ['late'],
    } as const
    expect(await exploreAll(body, options)).toMatchObject({ complete: true })
  })

  it.each(laws)('%s are seen once in 300 random schedules with many crashes', async (_, body) => {
    const crashing = { maxInterruptions: 1_000, crashes: 'every-commit', faults: ['late'] } as const
    const options = { tasks, secretKey: KEY, decider: 'random', ...crashing, budget: { runs: 300 } } as const
    expect(await exploreAll(body, options)).toMatchObject({ runs: 300 })
  })
})
