import { describe, expect, it } from 'vitest'
import { type Engine, type RunReference, streams, type Storage, task, wait } from 'waitpoint'
import { createTestEngine, testClock } from 'waitpoint/testing'
import type { ChunkStore } from '../../../src/contract/storage.ts'
import { seededRandom } from '../../../src/clock/seeded-random.ts'
import { createDeferred } from '../../../src/primitives/deferred.ts'
import { wrapStorage } from '../../../src/testing/storages/wrapped.ts'
import { abandonable, projectStorage } from '../../support/abandon.ts'
import { bodyTask, rejection } from '../../support/body-task.ts'
import {
  chunksOf,
  collect,
  collectUntilError,
  follow,
  numbers,
  PushSource,
  reportedErrors,
  sourceOf,
} from '../../support/streams.ts'
import { turn, until } from '../../support/turn.ts'

const LEASE_MS = 30_000

/** A child that does what the test says. */
function childTask(body: (payload: number) => Promise<unknown>) {
  return task({ id: 'child', run: (payload: number) => body(payload) })
}

/** A parent that waits for one child. */
function parentOf(child: ReturnType<typeof childTask>) {
  return bodyTask(() => child.triggerAndWait(1).unwrap(), { id: 'parent' })
}

async function statusOf(engine: Engine, run: RunReference): Promise<string> {
  return (await engine.runs.retrieve(run)).status
}

/** The chunks of one key, as they are stored; the attempt and the end of each segment. */
async function stored(storage: Storage, runId: string, key = 'k') {
  const read = await storage.chunks.read({ runId, key, from: 0, limit: 10_000 })
  return {
    chunks: read?.chunks.map(({ value }) => value),
    segments: read?.stream.segments.map(({ attempt, first, end }) => [attempt, first, end?.reason]),
  }
}

/** A storage that takes some turns for chunks, another number for each call, before it stores them and after it. */
function slow(storage: Storage): Storage {
  const random = seededRandom('slow')
  const turns = async (): Promise<void> => {
    for (let left = Math.floor(random.fraction() * 4); left > 0; left -= 1) await turn()
  }
  return wrapStorage(storage, (name, operation) =>
    name !== 'chunks.append' && name !== 'chunks.add'
      ? operation
      : async (...args) => {
          await turns()
          const answer = await operation(...args)
          await turns()
          return answer
        },
  )
}

/** A storage whose streams are for their own runs. */
function withoutAdd(storage: Storage): Storage {
  const wrapped = wrapStorage(storage, (_name, operation) => operation)
  const chunks = Object.fromEntries(Object.entries(wrapped.chunks).filter(([name]) => name !== 'add'))
  // All but one that is optional.
  return { ...wrapped, chunks: chunks as unknown as ChunkStore }
}

describe('a stream of another run', () => {
  it('has the chunks of a child at once, while the parent waits for it', async () => {
    const source = new PushSource<string>()
    const child = childTask(async () => {
      await streams.append('log', 'begun', { target: 'parent' })
      await streams.pipe('k', source, { target: 'parent' }).waitUntilComplete()
    })
    const parent = parentOf(child)
    await using t = await createTestEngine({ tasks: [parent, child] })
    const { engine } = t
    const run = await engine.trigger(parent, null)
    const parts = follow(engine, run)
    const read = engine.streams.read(run, 'k')[Symbol.asyncIterator]()
    source.push('a')
    expect(await read.next()).toEqual({ done: false, value: 'a' })
    for await (const { status } of engine.runs.subscribeToRun(run)) if (status === 'WAITING') break
    source.push('b')
    expect(await read.next()).toEqual({ done: false, value: 'b' })
    source.end()
    expect(await read.next()).toMatchObject({ done: true })
    await run.result()
    expect(chunksOf(await parts, 'k')).toEqual(['a', 'b'])
    expect(chunksOf(await parts, 'log')).toEqual(['begun'])
    expect((await parts).filter(([type]) => type === 'run').at(-1)).toEqual(['run', 'COMPLETED'])
  })

  it('is named by parent, root, self or the id of its run', async () => {
    const leaf = task({
      id: 'leaf',
      run: async (top: string) => {
        const line = streams.define<string>({ id: 'k' })
        await line.append('to the parent', { target: 'parent' })
        await line.append('to the root', { target: 'root' })
        await line.append('by id', { target: top })
        await line.append('to itself', { target: 'self' })
        await line.pipe(sourceOf('piped'), { target: 'root' }).waitUntilComplete()
      },
    })
    const middle = task({ id: 'middle', run: (top: string) => leaf.triggerAndWait(top).unwrap() })
    const top = task({
      id: 'top',
      run: async (_: null, { ctx }) => {
        await streams.append('k', 'a run without a parent', { target: 'parent' })
        await streams.append('k', 'is its own root', { target: 'root' })
        await middle.triggerAndWait(ctx.run.id).unwrap()
      },
    })
    await using t = await createTestEngine({ tasks: [top, middle, leaf] })
    const run = await t.engine.trigger(top, null)
    await run.result()
    const { data } = await t.engine.runs.list()
    const read = (id: string): Promise<unknown[]> => collect(t.engine.streams.read(id, 'k'))
    expect(await read(run.id)).toEqual([
      'a run without a parent',
      'is its own root',
      'to the root',
      'by id',
      'piped',
    ])
    expect(await read(data.find(({ taskIdentifier }) => taskIdentifier === 'middle')!.id)).toEqual([
      'to the parent',
    ])
    expect(await read(data.find(({ taskIdentifier }) => taskIdentifier === 'leaf')!.id)).toEqual([
      'to itself',
    ])
  })

  it('gives the child that pipes its own chunks, and no others', async () => {
    const child = childTask(async (first) => {
      const { stream } = streams.pipe('k', sourceOf(...numbers(first + 5, first)), { target: 'parent' })
      return collect(stream)
    })
    const parent = bodyTask(
      async () => {
        const { runs } = await child.batchTriggerAndWait([{ payload: 10 }, { payload: 20 }])
        return runs.map((run) => run.ok && run.output)
      },
      { id: 'parent' },
    )
    await using t = await createTestEngine({ tasks: [parent, child] })
    const run = await t.engine.trigger(parent, null)
    expect(await run.result()).toEqual([numbers(15, 10), numbers(25, 20)])
    const chunks = (await collect(t.engine.streams.read<number>(run, 'k'))).sort((one, other) => one - other)
    expect(chunks).toEqual([...numbers(15, 10), ...numbers(25, 20)])
  })

  it.each([
    ['at once', (storage: Storage) => storage],
    ['late, in any order', slow],
  ])('keeps the order of each writer, beside all others, on a storage that answers %s', async (_, at) => {
    const child = childTask(async (first) => {
      const piped = streams.pipe('k', sourceOf(...numbers(first + 40, first)), { target: 'parent' })
      for (let index = 0; index < 10; index += 1)
        await streams.append('k', first + 50 + index, { target: 'parent' })
      await piped.waitUntilComplete()
    })
    const parent = bodyTask(
      async () => {
        const { stream } = streams.pipe('k', sourceOf(...numbers(60)))
        const children = child.batchTriggerAndWait([{ payload: 100 }, { payload: 200 }])
        for (let index = 60; index < 70; index += 1) await streams.append('k', index)
        const own = await collect(stream)
        await children
        return own
      },
      { id: 'parent' },
    )
    await using t = await createTestEngine({ tasks: [parent, child], storage: at(projectStorage()) })
    const run = await t.engine.trigger(parent, null)
    const parts = follow(t.engine, run)
    expect(await run.result()).toEqual(numbers(60))
    const chunks = chunksOf(await parts, 'k') as number[]
    expect(await collect(t.engine.streams.read(run, 'k'))).toEqual(chunks)
    const of = (from: number, to: number): number[] => chunks.filter((chunk) => chunk >= from && chunk < to)
    expect(of(0, 60)).toEqual(numbers(60))
    expect(of(60, 100)).toEqual(numbers(70, 60))
    expect(of(100, 140)).toEqual(numbers(140, 100))
    expect(of(150, 160)).toEqual(numbers(160, 150))
    expect(of(200, 240)).toEqual(numbers(240, 200))
    expect(of(250, 260)).toEqual(numbers(260, 250))
    expect(chunks).toHaveLength(170)
  })

  it('gives the run that has it no chunk of a child in place of one that is still being stored', async () => {
    const source = new PushSource<string>()
    let gate: Promise<void> | undefined
    const storage = wrapStorage(projectStorage(), (name, operation) =>
      name !== 'chunks.append'
        ? operation
        : async (...args) => {
            await gate
            return operation(...args)
          },
    )
    const child = childTask(async () => {
      await streams.append('k', 'x', { target: 'parent' })
    })
    const open = createDeferred<void>()
    const parent = bodyTask(
      async () => {
        const { stream } = streams.pipe('k', source)
        source.push('a')
        await until(() => source.pulls === 2)
        await streams.append('k', 'b')
        gate = open.promise
        source.push('c')
        await until(() => source.pulls === 3)
        await child.triggerAndWait(1).unwrap()
        const own: string[] = []
        for await (const chunk of stream) {
          own.push(chunk)
          if (own.length === 2) break
          open.resolve()
          source.push('d')
        }
        source.end()
        return own
      },
      { id: 'parent' },
    )
    // In memory the chunks for the task are kept apart from those of the stream.
    const durable = { ...storage, boundedHistory: false }
    await using t = await createTestEngine({ tasks: [parent, child], storage: durable })
    const run = await t.engine.trigger(parent, null)
    expect(await run.result()).toEqual(['a', 'c'])
    expect(await collect(t.engine.streams.read(run, 'k'))).toEqual(['a', 'b', 'x', 'c', 'd'])
  })

  it('ends for readers when all runs that write it have ended it, and fails with the source of any', async () => {
    const sources = [new PushSource<string>(), new PushSource<string>()] as const
    const child = childTask((at) =>
      streams
        .pipe('k', sources[at as 0 | 1], { target: 'parent' })
        .waitUntilComplete()
        .catch(() => undefined),
    )
    const gate = createDeferred<void>()
    const parent = bodyTask(
      async () => {
        await child.batchTriggerAndWait([{ payload: 0 }, { payload: 1 }])
        await gate.promise
      },
      { id: 'parent' },
    )
    await using t = await createTestEngine({ tasks: [parent, child] })
    const errors = reportedErrors(t.engine)
    const run = await t.engine.trigger(parent, null)
    const read = collectUntilError(t.engine.streams.read(run, 'k'))
    sources[0].push('a')
    sources[1].push('b')
    await until(() => sources[0].pulls === 2 && sources[1].pulls === 2)
    sources[0].fail(new RangeError('model overloaded'))
    await until(() => errors.length === 1)
    sources[1].push('c')
    sources[1].end()
    const { items, error } = await read
    expect([...items].sort()).toEqual(['a', 'b', 'c'])
    expect(error).toMatchObject({ code: 'ERR_STREAM_FAILED', cause: { message: 'model overloaded' } })
    gate.resolve()
    await run.result()
  })

  it('refuses chunks once its run has ended: the source is told, and the child goes on', async () => {
    const source = new PushSource<string>()
    const ended = createDeferred<void>()
    const seen: unknown[] = []
    const child = childTask(async () => {
      const piped = streams.pipe('k', source, { target: 'parent' })
      const whole = rejection(piped.waitUntilComplete())
      const read = collectUntilError(piped.stream)
      await ended.promise
      source.push('late')
      seen.push(await whole, await rejection(streams.append('k', 'x', { target: 'parent' })))
      seen.push((await read).items)
      return 'went on'
    })
    const parent = bodyTask(async () => (await child.trigger(1)).id, { id: 'parent' })
    await using t = await createTestEngine({ tasks: [parent, child] })
    const errors = reportedErrors(t.engine)
    const run = await t.engine.trigger(parent, null)
    const id = await run.result()
    await until(() => source.pulls === 1)
    ended.resolve()
    expect(await t.engine.runs.poll(id)).toMatchObject({ output: 'went on' })
    const refused = {
      code: 'ERR_CANNOT_WRITE_STREAM',
      message: expect.stringContaining('it has ended') as string,
    }
    expect(seen).toMatchObject([refused, refused, []])
    expect(source.isReturned).toBe(true)
    expect(errors).toMatchObject([refused])
  })

  it('tells the engine once of chunks that are refused, also those of calls that are left behind', async () => {
    const ended = createDeferred<void>()
    const child = childTask(async () => {
      await ended.promise
      for (const chunk of [1, 2, 3]) void streams.append('k', chunk, { target: 'parent' })
      await rejection(streams.append('k', 4, { target: 'parent' }))
      void streams.append('k', 5, { target: 'parent' })
    })
    const parent = bodyTask(async () => (await child.trigger(1)).id, { id: 'parent' })
    await using t = await createTestEngine({ tasks: [parent, child] })
    const errors = reportedErrors(t.engine)
    const id = await (await t.engine.trigger(parent, null)).result()
    ended.resolve()
    expect(await t.engine.runs.poll(id)).toMatchObject({ status: 'COMPLETED' })
    expect(errors).toMatchObject([{ code: 'ERR_CANNOT_WRITE_STREAM' }])
  })

  it('refuses the last chunks of a source, if its run has ended by then', async () => {
    const gate = createDeferred<void>()
    const child = childTask(async () => {
      await gate.promise
      return rejection(streams.pipe('k', sourceOf('a'), { target: 'parent' }).waitUntilComplete()).then(
        String,
      )
    })
    const parent = bodyTask(async () => (await child.trigger(1)).id, { id: 'parent' })
    await using t = await createTestEngine({ tasks: [parent, child] })
    const errors = reportedErrors(t.engine)
    const id = await (await t.engine.trigger(parent, null)).result()
    gate.resolve()
    const { output } = await t.engine.runs.poll(id)
    expect(output).toContain('Cannot write to stream "k"')
    expect(errors).toMatchObject([{ code: 'ERR_CANNOT_WRITE_STREAM' }])
  })

  it('needs a run that there is and that has begun, a storage that can, and a target', async () => {
    const later = task({ id: 'later', run: () => undefined })
    const body = bodyTask(async () => {
      const delayed = await later.trigger(undefined, { delay: '1h' })
      const errors: unknown[] = []
      for (const target of ['run_unknown', delayed.id])
        errors.push(await rejection(streams.append('k', 1, { target })))
      for (const target of ['', 1 as never]) errors.push(await rejection(streams.append('k', 1, { target })))
      errors.push(await rejection(streams.append('k', 1, { to: 'parent' } as never)))
      return errors.map((error) => String(error))
    })
    await using t = await createTestEngine({ tasks: [body, later] })
    expect(await (await t.engine.trigger(body, null)).result()).toEqual([
      expect.stringContaining('Cannot find run "run_unknown"'),
      expect.stringMatching(
        /^WaitpointError: Cannot write to stream "k" of run "run_.*": it has not begun, and is DELAYED$/,
      ),
      expect.stringContaining('target'),
      expect.stringContaining('target'),
      expect.stringContaining('there is no option "to"'),
    ])

    const storage = withoutAdd(projectStorage())
    await using without = await createTestEngine({ tasks: [body, later], storage })
    const errors = (await (await without.engine.trigger(body, null)).result()) as readonly string[]
    expect(errors[0]).toContain('the storage of this engine has streams for their own runs only')
  })

  it('takes chunks once its run has begun, also those of an attempt that wrote too early', async () => {
    const child = childTask(() => wait.for({ hours: 2 }))
    const parent = bodyTask(
      async () => {
        const { id } = await child.trigger(1, { delay: '1h' })
        const early = await rejection(streams.append('k', 'early', { target: id }))
        await wait.for({ hours: 2 })
        await streams.append('k', 'in time', { target: id })
        return { id, early: String(early) }
      },
      { id: 'parent' },
    )
    const storage = projectStorage()
    await using t = await createTestEngine({ tasks: [parent, child], storage })
    const run = await t.engine.trigger(parent, null)
    const { id, early } = (await run.result()) as { readonly id: string; readonly early: string }
    expect(early).toContain('it has not begun')
    expect(await stored(storage, id)).toMatchObject({ chunks: ['in time'] })
  })

  it('takes chunks also if its run begins between the refusal and the look at it', async () => {
    let isEarly = true
    const storage = wrapStorage(projectStorage(), (name, operation) => {
      if (name !== 'chunks.add') return operation
      return (...args) => {
        if (!isEarly) return operation(...args)
        isEarly = false
        return 'closed' as never
      }
    })
    const child = childTask(() => streams.append('k', 'a', { target: 'parent' }))
    const parent = parentOf(child)
    await using t = await createTestEngine({ tasks: [parent, child], storage })
    const run = await t.engine.trigger(parent, null)
    const parts = follow(t.engine, run)
    await run.result()
    expect(chunksOf(await parts, 'k')).toEqual(['a'])
  })

  it('is interrupted at the end of its run, if a child was canceled while it wrote', async () => {
    const source = new PushSource<string>()
    const child = childTask(async () => {
      await streams.pipe('k', source, { target: 'parent' }).waitUntilComplete()
    })
    const parent = bodyTask(async () => (await child.triggerAndWait(1)).ok, { id: 'parent' })
    await using t = await createTestEngine({ tasks: [parent, child] })
    const run = await t.engine.trigger(parent, null)
    source.push('a')
    const read = t.engine.streams.read(run, 'k')[Symbol.asyncIterator]()
    expect(await read.next()).toMatchObject({ value: 'a' })
    const [canceled] = (await t.engine.runs.list({ taskIdentifier: 'child' })).data
    await t.engine.runs.cancel(canceled!.id)
    expect(await run.result()).toBe(false)
    expect(source.isReturned).toBe(true)
    expect(await rejection(read.next())).toMatchObject({ code: 'ERR_STREAM_INTERRUPTED', next: 1 })
  })

  it('has the chunks of the hooks of a child, after those of its function', async () => {
    const child = task({
      id: 'child',
      retry: { maxAttempts: 2, minTimeoutInMs: 1_000, randomize: false },
      run: async (_: number, { ctx }) => {
        await streams.append('k', `begun ${ctx.attempt.number}`, { target: 'parent' })
        throw new Error('the model is busy')
      },
      catchError: async () => {
        await streams.append('k', 'caught', { target: 'parent' })
      },
      onFailure: async () => {
        await streams.append('k', 'failed', { target: 'parent' })
      },
    })
    const parent = bodyTask(async () => (await child.triggerAndWait(1)).ok, { id: 'parent' })
    const storage = projectStorage()
    await using t = await createTestEngine({ tasks: [parent, child], storage })
    const run = await t.engine.trigger(parent, null)
    expect(await run.result()).toBe(false)
    const { chunks } = await stored(storage, run.id)
    expect(chunks).toEqual(['begun 1', 'caught', 'begun 2', 'caught', 'failed'])
  })

  it('has what every attempt of a child wrote, in order, and is whole if the last one was', async () => {
    const child = task({
      id: 'child',
      retry: { maxAttempts: 2, minTimeoutInMs: 1_000 },
      run: async (_: number, { ctx }) => {
        await streams.append('k', `attempt ${ctx.attempt.number}`, { target: 'parent' })
        if (ctx.attempt.number === 1) throw new Error('the model is busy')
      },
    })
    const parent = bodyTask(() => child.triggerAndWait(1).unwrap(), { id: 'parent' })
    const storage = projectStorage()
    await using t = await createTestEngine({ tasks: [parent, child], storage })
    const run = await t.engine.trigger(parent, null)
    const parts = follow(t.engine, run)
    await run.result()
    expect(chunksOf(await parts, 'k')).toEqual(['attempt 1', 'attempt 2'])
    expect(await stored(storage, run.id)).toEqual({
      chunks: ['attempt 1', 'attempt 2'],
      segments: [[1, 0, 'done']],
    })
  })
})

describe('a stream of a run of another engine', () => {
  it('has the chunks at once, for readers of both, beside those of the run itself', async () => {
    const parentSource = new PushSource<string>()
    const childSource = new PushSource<string>()
    const parent = bodyTask(
      async () => {
        const { stream } = streams.pipe('k', parentSource)
        const own = collect(stream)
        await wait.forToken(await wait.createToken())
        return own
      },
      { id: 'parent' },
    )
    const storage = projectStorage()
    await using clock = testClock({ mode: 'manual' })
    await using a = await createTestEngine({ tasks: [parent], storage, clock, seed: 'a' })
    const run = await a.engine.trigger(parent, null)
    await until(() => parentSource.pulls === 1)
    const orphan = task({
      id: 'orphan',
      run: async () => {
        await streams.pipe('k', childSource, { target: run.id }).waitUntilComplete()
      },
    })
    await using b = await createTestEngine({ tasks: [orphan], storage, clock, seed: 'b' })
    await b.engine.trigger(orphan, undefined)
    await until(() => childSource.pulls === 1)
    const readers = [a, b].map(({ engine }) => engine.streams.read<string>(run, 'k')[Symbol.asyncIterator]())
    const next = (): Promise<unknown[]> =>
      Promise.all(readers.map(async (read) => (await read.next()).value as unknown))
    parentSource.push('p1')
    expect(await next()).toEqual(['p1', 'p1'])
    childSource.push('c1')
    expect(await next()).toEqual(['c1', 'c1'])
    parentSource.push('p2')
    expect(await next()).toEqual(['p2', 'p2'])
    childSource.push('c2')
    expect(await next()).toEqual(['c2', 'c2'])
    parentSource.push('p3')
    parentSource.end()
    expect(await next()).toEqual(['p3', 'p3'])
    childSource.end()
    for (const read of readers) expect(await read.next()).toMatchObject({ done: true })
    const [token] = (await a.engine.wait.listTokens()).data
    await a.engine.wait.completeToken(token!, null)
    await clock.settle()
    expect(await run.result()).toEqual(['p1', 'p2', 'p3'])
  })

  it('has them also when the hint of them was lost: the next look of its engine finds them', async () => {
    const shared = projectStorage()
    let isDeaf = false
    const deaf: Storage = {
      ...wrapStorage(shared, (_name, operation) => operation),
      subscribe: (owner, listener) =>
        shared.subscribe(owner, (hint) => (isDeaf ? undefined : listener(hint))),
    }
    const parent = bodyTask(
      async () => {
        await streams.append('k', 'p1')
        await wait.forToken(await wait.createToken())
      },
      { id: 'parent' },
    )
    await using clock = testClock({ mode: 'manual' })
    await using a = await createTestEngine({ tasks: [parent], storage: deaf, clock, seed: 'a' })
    const run = await a.engine.trigger(parent, null)
    const read = a.engine.streams.read(run, 'k')[Symbol.asyncIterator]()
    expect(await read.next()).toMatchObject({ value: 'p1' })
    const orphan = task({
      id: 'orphan',
      run: () => streams.append('k', 'c1', { target: run.id }),
    })
    await using b = await createTestEngine({ tasks: [orphan], storage: shared, clock, seed: 'b' })
    const waiting = read.next()
    await clock.settle()
    isDeaf = true
    const other = await b.engine.trigger(orphan, undefined)
    await clock.settle()
    expect(await statusOf(b.engine, other)).toBe('COMPLETED')
    await clock.advance('2m')
    expect(await waiting).toMatchObject({ value: 'c1' })
    const [token] = (await b.engine.wait.listTokens()).data
    isDeaf = false
    await b.engine.wait.completeToken(token!, null)
    await clock.settle()
    expect(await read.next()).toMatchObject({ done: true })
    await run.result()
  })

  it('has them while its process is dead, and the run stays parked', async () => {
    const storage = projectStorage()
    await using clock = testClock({ mode: 'manual' })
    const attempts: number[] = []
    const parent = bodyTask(
      async ({ ctx }) => {
        attempts.push(ctx.attempt.number)
        await streams.append('k', 'begun')
        await wait.forToken(await wait.createToken({ timeout: '1d' }))
      },
      { id: 'parent' },
    )
    const ports = abandonable(clock, storage)
    const dying = await createTestEngine({
      tasks: [parent],
      clock: ports.clock,
      storage: ports.storage,
      seed: 'dying',
    })
    const { id } = await dying.engine.trigger(parent, null)
    await clock.settle()
    ports.abandon()
    const orphan = task({
      id: 'orphan',
      run: async () => {
        for (const word of ['a', 'b']) {
          await streams.append('k', word, { target: id })
          await clock.sleep('1m')
        }
      },
    })
    await using t = await createTestEngine({ tasks: [parent, orphan], storage, clock, seed: 'second' })
    await clock.advance(LEASE_MS + 1)
    await t.engine.trigger(orphan, undefined)
    const read = t.engine.streams.read(id, 'k')[Symbol.asyncIterator]()
    for (const word of ['begun', 'a']) expect(await read.next()).toMatchObject({ value: word })
    const next = read.next()
    await clock.advance('1m')
    expect(await next).toMatchObject({ value: 'b' })
    await read.return?.()
    expect(await statusOf(t.engine, id)).toBe('WAITING')
    expect(attempts).toEqual([1])

    const [token] = (await t.engine.wait.listTokens()).data
    await t.engine.wait.completeToken(token!, null)
    await clock.settle()
    expect(attempts).toEqual([1, 2])
    await clock.advance('2m')
    expect(await statusOf(t.engine, id)).toBe('COMPLETED')
    expect((await stored(storage, id)).chunks).toEqual(['begun', 'a', 'b', 'begun'])
  })

  it('has what a child wrote before its process died, and then all of its next attempt', async () => {
    const storage = projectStorage()
    await using clock = testClock({ mode: 'manual' })
    const child = childTask(async () => {
      for (const word of ['once', 'upon', 'a'])
        await streams.append('k', word, { target: 'parent' }).then(() => clock.sleep('1s'))
    })
    const parent = parentOf(child)
    const ports = abandonable(clock, storage)
    const dying = await createTestEngine({
      tasks: [parent, child],
      clock: ports.clock,
      storage: ports.storage,
      seed: 'dying',
    })
    const { id } = await dying.engine.trigger(parent, null)
    await clock.advance('1500ms')
    expect((await stored(storage, id)).chunks).toEqual(['once', 'upon'])
    ports.abandon()
    await using t = await createTestEngine({ tasks: [parent, child], storage, clock, seed: 'second' })
    await clock.advance(2 * LEASE_MS)
    expect(await statusOf(t.engine, id)).toBe('COMPLETED')
    const words = ['once', 'upon', 'once', 'upon', 'a']
    expect(await stored(storage, id)).toEqual({ chunks: words, segments: [[1, 0, 'done']] })
    expect(await collect(t.engine.streams.read(id, 'k'))).toEqual(words)
  })
})
