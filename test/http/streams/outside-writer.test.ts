import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createHandler, type Handler } from 'waitpoint/http'
import type { TestEngine } from 'waitpoint/testing'
import { testClock } from 'waitpoint/testing'
import { abandonable, projectStorage } from '../../support/abandon.ts'
import { bodyTask } from '../../support/body-task.ts'
import { cases } from '../../support/cases.ts'
import { steeredStorage } from '../../support/steered-storage.ts'
import { turn } from '../../support/turn.ts'
import { ask, stillEngine } from '../requests.ts'

const lines = (values: readonly unknown[]): string =>
  values.map((value) => `${JSON.stringify(value)}\n`).join('')

interface Written {
  readonly status: number
  readonly body: unknown
}

interface Restarts {
  /** Posts lines as a client whose first one has this number. */
  readonly write: (client: string, from: number, values: readonly unknown[]) => Promise<Written>
  readonly append: (part: string, text: string) => Promise<Written>
  readonly lastOf: (client: string) => Promise<string | null>
  /** The process dies; another one starts on its storage, and takes the run over. */
  readonly restart: () => Promise<void>
  /** Ends the run. Answers every chunk of the stream with the attempt that wrote it. */
  readonly chunks: () => Promise<readonly unknown[]>
  readonly steered: ReturnType<typeof steeredStorage>
}

/** Gives the test a run that waits until it is told to end, in one process after the other. */
async function overRestarts(body: (bench: Restarts) => Promise<void>): Promise<void> {
  const steered = steeredStorage(projectStorage())
  await using clock = testClock({ mode: 'manual' })
  let asked = ''
  const work = bodyTask(async ({ wait }) => {
    for (let goesOn = true; goesOn;) {
      const { id } = await wait.createToken({ timeout: '1d' })
      asked = id
      goesOn = await wait.forToken<boolean>(id).unwrap()
    }
  })
  let seed = 0
  const start = async (): Promise<{ t: TestEngine; handler: Handler; abandon: () => void }> => {
    const ports = abandonable(clock, steered.storage)
    const t = await stillEngine({
      tasks: [work],
      clock: ports.clock,
      storage: ports.storage,
      seed: (seed += 1),
    })
    return { t, handler: createHandler(t.engine), abandon: () => ports.abandon() }
  }
  let current = await start()
  const run = await current.t.engine.trigger(work, null)
  await clock.settle()
  const path = `/realtime/v1/streams/${run.id}/self/k`
  const bench: Restarts = {
    steered,
    write: (client, from, values) =>
      ask(current.handler, `POST ${path}`, {
        headers: { 'x-client-id': client, 'x-resume-from-chunk': `${from}` },
        body: lines(values),
      }),
    append: (part, text) =>
      ask(current.handler, `POST ${path}/append`, { headers: { 'x-part-id': part }, body: text }),
    lastOf: async (client) => {
      const { headers } = await ask(current.handler, `HEAD ${path}`, { headers: { 'x-client-id': client } })
      return headers.get('x-last-chunk-index')
    },
    restart: async () => {
      current.abandon()
      current = await start()
      // What was parked is taken over once it can go on.
      await current.t.engine.wait.completeToken(asked, true)
      await clock.advance('31s')
    },
    chunks: async () => {
      await current.t.engine.wait.completeToken(asked, false)
      await clock.settle()
      const seen: unknown[] = []
      for await (const part of current.t.engine.runs.subscribeToRun(run.id).withStreams()) {
        if ('chunk' in part) seen.push([part.chunk, part.attempt])
      }
      return seen
    },
  }
  try {
    await body(bench)
  } finally {
    await current.t.close()
  }
}

const OK = { status: 200, body: { ok: true } }

describe('chunks from outside, when the engine of their run is another one than before', () => {
  it('are stored once, though their client sends all of them again', () =>
    overRestarts(async ({ write, lastOf, restart, chunks }) => {
      expect(await write('c1', 0, ['a', 'b'])).toMatchObject(OK)
      await restart()
      expect(await lastOf('c1')).toBe('1')
      expect(await write('c1', 0, ['a', 'b', 'c'])).toMatchObject(OK)
      expect(await lastOf('c1')).toBe('2')
      await restart()
      await restart()
      expect(await lastOf('c1')).toBe('2')
      expect(await lastOf('c2')).toBe('-1')
      expect(await write('c1', 2, ['c', 'd'])).toMatchObject(OK)
      expect(await chunks()).toEqual([
        ['a', 1],
        ['b', 1],
        ['c', 2],
        ['d', 4],
      ])
    }))

  it('are complete, without an error for readers, when their client has nothing left to send', () =>
    overRestarts(async ({ write, restart, chunks }) => {
      await write('c1', 0, ['a'])
      await restart()
      expect(await write('c1', 1, [])).toMatchObject(OK)
      expect(await chunks()).toEqual([['a', 1]])
    }))

  it('are stored once for each name of a part, which is no name of a client', () =>
    overRestarts(async ({ write, append, restart, chunks }) => {
      await append('p', 'one')
      await restart()
      expect(await append('p', 'one')).toMatchObject(OK)
      expect(await append('p2', 'two')).toMatchObject(OK)
      expect(await write('p', 0, ['three'])).toMatchObject(OK)
      expect(await chunks()).toEqual([
        ['one', 1],
        ['two', 2],
        ['three', 2],
      ])
    }))

  it.each([
    ['holdCall', 2],
    ['holdAnswer', 1],
  ] as const)('are stored once when the process dies at %s of their storage', (hold, attempt) =>
    overRestarts(async ({ steered, write, restart, lastOf, chunks }) => {
      await write('c1', 0, ['a'])
      steered[hold]('chunks.append')
      // It is never answered.
      void write('c1', 1, ['b'])
      while (steered.calls.filter((name) => name === 'chunks.append').length < 2) await turn()
      await restart()
      const from = Number(await lastOf('c1')) + 1
      await write('c1', from, ['a', 'b', 'c'].slice(from))
      expect(await chunks()).toEqual([
        ['a', 1],
        ['b', attempt],
        ['c', 2],
      ])
    }),
  )

  it('are stored once each, for any number of clients that send anything again, in any number of processes', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.oneof(
            { weight: 1, arbitrary: fc.constant('restart' as const) },
            {
              weight: 4,
              arbitrary: fc.array(
                fc.record({
                  client: fc.constantFrom('c1', 'c2'),
                  back: fc.nat({ max: 3 }),
                  count: fc.nat({ max: 4 }),
                }),
                { minLength: 1, maxLength: 3 },
              ),
            },
          ),
          { maxLength: 8 },
        ),
        (steps) =>
          overRestarts(async ({ write, lastOf, restart, chunks }) => {
            const sent: Record<string, number> = { c1: 0, c2: 0 }
            for (const step of steps) {
              if (step === 'restart') {
                await restart()
                continue
              }
              const stored = { ...sent }
              // All at once: a connection that broke may still be read when its client comes again.
              await Promise.all(
                step.map(async ({ client, back, count }) => {
                  const from = Math.max(0, stored[client]! - back)
                  sent[client] = Math.max(sent[client]!, from + count)
                  const values = Array.from({ length: count }, (_, at) => `${client}:${from + at}`)
                  expect(await write(client, from, values)).toMatchObject(OK)
                }),
              )
              for (const [client, count] of Object.entries(sent))
                expect(await lastOf(client)).toBe(`${count - 1}`)
            }
            const written = (await chunks()) as readonly (readonly [string, number])[]
            for (const [client, count] of Object.entries(sent)) {
              const own = written.map(([chunk]) => chunk).filter((chunk) => chunk.startsWith(client))
              expect(own).toEqual(Array.from({ length: count }, (_, at) => `${client}:${at}`))
            }
          }),
      ),
      { numRuns: cases(15) },
    ))
})

describe('chunks from outside, while they are being stored', () => {
  it('do not count as written before they are stored', () =>
    overRestarts(async ({ steered, write, lastOf, chunks }) => {
      await write('c1', 0, ['a'])
      const store = steered.holdCall('chunks.append')
      const writing = write('c1', 1, ['b'])
      while (steered.calls.filter((name) => name === 'chunks.append').length < 2) await turn()
      expect(await lastOf('c1')).toBe('0')
      store()
      await writing
      expect(await lastOf('c1')).toBe('1')
      expect(await chunks()).toHaveLength(2)
    }))

  it('are not acknowledged to a client that sends them again', () =>
    overRestarts(async ({ steered, append, chunks }) => {
      await append('p', 'one')
      const store = steered.holdCall('chunks.append')
      const answers: number[] = []
      const both = [1, 2].map(async (number) => {
        await append('p2', 'two')
        answers.push(number)
      })
      while (steered.calls.filter((name) => name === 'chunks.append').length < 2) await turn()
      for (let turns = 0; turns < 5; turns += 1) await turn()
      expect(answers).toEqual([])
      store()
      await Promise.all(both)
      expect(await chunks()).toHaveLength(2)
    }))

  it('are not lost when their stream could not be opened', () =>
    overRestarts(async ({ steered, write, chunks }) => {
      steered.fail('chunks.open')
      expect((await write('c1', 0, ['a', 'b'])).status).toBe(500)
      expect(await write('c1', 0, ['a', 'b'])).toMatchObject(OK)
      expect(await chunks()).toEqual([
        ['a', 1],
        ['b', 1],
      ])
    }))
})
