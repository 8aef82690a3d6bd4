import { describe, expect, it } from 'vitest'
import { memoryStorage, wait, type RunAttempt, type Task } from 'waitpoint'
import { createTestEngine, testClock, type TestEngine } from 'waitpoint/testing'
import { abandonable, projectStorage, steadyStorage } from '../../support/abandon.ts'
import { bodyTask } from '../../support/body-task.ts'

const retention = { maxAge: '30d' }
const MINUTE = { factor: 1, minTimeoutInMs: 60_000, randomize: false }

/** A task that throws so many times, each time after a second, and then returns. */
function failing(
  times: number,
  { maxAttempts = 3, thrown = (count: number): unknown => new Error(`no ${count}`) } = {},
): Task<null, string> {
  let count = 0
  return bodyTask(
    async () => {
      await wait.for({ seconds: 1 })
      count += 1
      if (count <= times) throw thrown(count)
      return 'done'
    },
    { retry: { ...MINUTE, maxAttempts } },
  )
}

async function ended(t: TestEngine, tried: Task<null, string>): Promise<string> {
  const { id } = await t.engine.trigger(tried, null)
  await t.clock.advance('3h')
  return id
}

/** The attempts of a run of its own engine, after its end. */
async function attemptsOf(tried: Task<null, string>): Promise<readonly RunAttempt[]> {
  await using t = await createTestEngine({ tasks: [tried], clock: { mode: 'manual' }, retention })
  return (await t.engine.runs.retrieve(await ended(t, tried))).attempts
}

const textOf = (attempts: readonly RunAttempt[]): string => JSON.stringify(attempts)

describe('the attempts of a run', () => {
  it('are those that have thrown, when they began and ended, and not the one that returns', async () => {
    const tried = failing(2)
    await using t = await createTestEngine({ tasks: [tried], clock: { mode: 'manual' }, retention })
    const start = t.clock.now()
    const run = await t.engine.runs.retrieve(await ended(t, tried))
    expect(run).toMatchObject({ status: 'COMPLETED', output: 'done', attemptCount: 3 })
    expect(run.error).toBeUndefined()
    const stack = expect.stringMatching(/^Error: no \d\n\s+at /) as string
    expect(run.attempts).toEqual([
      {
        number: 1,
        startedAt: new Date(start),
        endedAt: new Date(start + 1_000),
        executingMs: 0,
        waitingMs: 1_000,
        error: { name: 'Error', message: 'no 1', stack },
      },
      {
        number: 2,
        startedAt: new Date(start + 61_000),
        endedAt: new Date(start + 62_000),
        executingMs: 0,
        waitingMs: 1_000,
        error: { name: 'Error', message: 'no 2', stack },
      },
    ])
  })

  it('tell how long each had a slot, and how long it waited without one', async () => {
    await using clock = testClock({ mode: 'manual' })
    const work = (ms: number): Promise<void> => clock.sleep(ms)
    const tried = bodyTask(
      async () => {
        await work(200)
        await wait.for({ seconds: 3 })
        await work(50)
        await wait.for({ seconds: 4 })
        throw new Error('no')
      },
      { queue: { name: 'shared', concurrencyLimit: 1 } },
    )
    // Holds the only slot when the first sleep is over.
    const greedy = bodyTask(() => work(5_000), {
      id: 'greedy',
      queue: { name: 'shared', concurrencyLimit: 1 },
    })
    await using t = await createTestEngine({
      tasks: [tried, greedy],
      storage: steadyStorage(),
      clock,
      retention,
    })
    const { id } = await t.engine.trigger(tried, null)
    await t.clock.advance(1_000)
    await t.engine.trigger(greedy, null)
    await t.clock.advance('1h')
    const { attempts } = await t.engine.runs.retrieve(id)
    // It parked at 200, found no slot at 3,200, went on at 6,000, and threw at 10,050.
    expect(attempts).toMatchObject([{ executingMs: 250, waitingMs: 9_800 }])
  })

  it('are there while the run waits for the next one', async () => {
    const tried = failing(1)
    await using t = await createTestEngine({ tasks: [tried], clock: { mode: 'manual' }, retention })
    const { id } = await t.engine.trigger(tried, null)
    await t.clock.advance('2s')
    expect(await t.engine.runs.retrieve(id)).toMatchObject({ status: 'DELAYED', attempts: [{ number: 1 }] })
  })

  it('are none for a run that has not thrown', async () => {
    expect(await attemptsOf(failing(0))).toEqual([])
  })

  it('include the last one of a run that fails, with the error of the run', async () => {
    const tried = failing(9)
    await using t = await createTestEngine({ tasks: [tried], clock: { mode: 'manual' }, retention })
    const { status, error, attempts } = await t.engine.runs.retrieve(await ended(t, tried))
    expect([status, attempts.map(({ number }) => number)]).toEqual(['FAILED', [1, 2, 3]])
    expect(attempts.at(-1)?.error).toEqual(error)
  })

  it('have the error that catchError answers', async () => {
    const tried = bodyTask(() => Promise.reject(new Error('inner')), {
      retry: { maxAttempts: 1 },
      catchError: () => ({ error: new RangeError('outer') }),
    })
    expect(await attemptsOf(tried)).toMatchObject([{ error: { name: 'RangeError', message: 'outer' } }])
  })

  it('are the last 50', async () => {
    const attempts = await attemptsOf(failing(60, { maxAttempts: 60, thrown: String }))
    expect(attempts.map(({ number }) => number)).toEqual(Array.from({ length: 50 }, (_, at) => at + 11))
    expect(attempts.at(-1)?.error).toEqual({ name: 'Error', message: '60' })
  })

  it('keep the beginning of a long error', async () => {
    const thrown = (): Error => {
      const error = Object.assign(new Error('m'.repeat(100_000)), { code: 'c'.repeat(100_000) })
      error.name = 'n'.repeat(100_000)
      error.stack = 's'.repeat(100_000)
      return error
    }
    const [attempt] = await attemptsOf(failing(1, { thrown }))
    expect(attempt?.error).toEqual({
      name: 'n'.repeat(200),
      message: 'm'.repeat(1_000),
      stack: 's'.repeat(4_000),
      code: 'c'.repeat(200),
    })
  })

  it.each([
    ['plain', 's'],
    ['of several bytes', '€'],
    ['of characters that JSON escapes', '\u0001'],
  ])('are fewer when their texts are long and %s, but always the last one', async (_name, character) => {
    const thrown = (): Error => {
      const error = new Error(character.repeat(1_000))
      error.name = character.repeat(200)
      error.stack = character.repeat(4_000)
      return error
    }
    const attempts = await attemptsOf(failing(20, { maxAttempts: 20, thrown }))
    const bytes = Buffer.byteLength(textOf(attempts))
    expect(attempts.at(-1)).toMatchObject({ number: 20, error: { stack: character.repeat(4_000) } })
    // Dates are a few characters longer here than in the storage.
    expect(bytes).toBeLessThan(66_000)
    expect(bytes + Buffer.byteLength(textOf(attempts.slice(-1)))).toBeGreaterThan(65_536)
  })

  it.each([
    ['is a number', 7],
    ['is an object', { why: 1 }],
    ['is not there', undefined],
  ])('are told of an error whose name %s', async (_name, name) => {
    const thrown = (): Error => Object.assign(new Error('odd'), { name })
    expect(await attemptsOf(failing(1, { thrown }))).toMatchObject([
      { error: { name: expect.any(String) as string, message: 'odd' } },
    ])
  })

  it('are none of a replay', async () => {
    const tried = failing(1)
    await using t = await createTestEngine({ tasks: [tried], clock: { mode: 'manual' }, retention })
    const id = await ended(t, tried)
    const replay = await t.engine.runs.replay(id)
    await t.clock.advance('1h')
    expect(await t.engine.runs.retrieve(replay.id)).toMatchObject({ status: 'COMPLETED', attempts: [] })
    expect((await t.engine.runs.retrieve(id)).attempts).toHaveLength(1)
  })

  it('outlive the process, and one that was interrupted is not among them', async () => {
    await using clock = testClock({ mode: 'manual' })
    const storage = projectStorage()
    const tried = failing(2)
    const ports = abandonable(clock, storage)
    const first = await createTestEngine({
      tasks: [tried],
      clock: ports.clock,
      storage: ports.storage,
      retention,
    })
    const { id } = await first.engine.trigger(tried, null)
    await clock.advance('2s')
    // Its second attempt is under way.
    await clock.advance('59500ms')
    expect((await first.engine.runs.retrieve(id)).attemptCount).toBe(2)
    ports.abandon()
    await using second = await createTestEngine({ tasks: [tried], storage, clock, seed: 'second', retention })
    await clock.advance('3h')
    const run = await second.engine.runs.retrieve(id)
    expect(run).toMatchObject({ status: 'COMPLETED', attemptCount: 4 })
    expect(run.attempts).toMatchObject([
      { number: 1, error: { message: 'no 1' } },
      { number: 3, error: { message: 'no 2' } },
    ])
  })

  it('are stored by the updates that end them: one a retry, one the end', async () => {
    const memory = memoryStorage()
    const stored: unknown[] = []
    const storage = {
      ...memory,
      runs: {
        ...memory.runs,
        update: (request: Parameters<typeof memory.runs.update>[0]) => {
          const { status } = request.change
          stored.push([status, 'attemptsJson' in request.change])
          return memory.runs.update(request)
        },
      },
    }
    const tried = bodyTask<string>(
      ({ ctx }) => {
        if (ctx.attempt.number < 3) throw new Error('no')
        return 'done'
      },
      { retry: { ...MINUTE, maxAttempts: 3 } },
    )
    await using t = await createTestEngine({ tasks: [tried], storage, clock: { mode: 'manual' }, retention })
    await ended(t, tried)
    expect(stored).toEqual([
      ['DELAYED', true],
      ['DELAYED', true],
      ['COMPLETED', false],
    ])
  })
})
