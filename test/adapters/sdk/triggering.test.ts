import { describe, expect, it } from 'vitest'
import { createTestEngine, type TestEngine } from 'waitpoint/testing'
import { type AnyTask, batch, runs, streams, task, type TaskWait, tasks, wait } from 'waitpoint/sdk'

async function engineOf(...all: AnyTask[]): Promise<TestEngine> {
  const t = await createTestEngine({ tasks: all })
  t.engine.makeDefault()
  return t
}

async function* streamed<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  yield* items
}

/** The items of a list in JSON, which comes in one piece. */
function parsed(): TransformStream<Uint8Array, object> {
  return new TransformStream({
    transform: (bytes, controller) => {
      for (const item of JSON.parse(Buffer.from(bytes).toString()) as object[]) controller.enqueue(item)
    },
  })
}

describe('a batch', () => {
  const told = task({ id: 'told', run: async (_payload: unknown, { ctx }) => ctx.batch ?? 'none' })
  const other = task({ id: 'other', run: async (_payload: unknown, { ctx }) => ctx.batch ?? 'none' })

  it('is told to its runs, whichever way it was triggered', async () => {
    await using _t = await engineOf(told, other)
    const items = [{ payload: 1 }, { payload: 2 }]
    const handles = [
      await told.batchTrigger(items),
      await tasks.batchTrigger<typeof told>('told', items, { idempotencyKey: 'k' }),
      await batch.trigger<typeof told | typeof other>([
        { id: 'told', payload: 1 },
        { id: 'other', payload: 2 },
      ]),
      await batch.triggerByTask([{ task: other, payload: 1 }]),
    ]
    expect(new Set(handles.map(({ batchId }) => batchId)).size).toBe(handles.length)
    for (const { batchId, runCount } of handles) {
      expect(batchId).toMatch(/^batch_\w+$/)
      const retrieved = await batch.retrieve(batchId)
      expect(retrieved.runs).toHaveLength(runCount)
      for (const id of retrieved.runs)
        expect(await runs.poll(id)).toMatchObject({ batchId, output: { id: batchId } })
    }
  })

  it('is told to the runs of a run that waits for them, also when that is executed again', async () => {
    const slow = task({
      id: 'slow',
      run: async (_payload: unknown, { ctx }) => {
        await wait.for({ hours: 1 })
        return ctx.batch?.id
      },
    })
    const parent = task({
      id: 'parent',
      run: async () => {
        const own = await slow.batchTriggerAndWait([{ payload: 1 }, { payload: 2 }])
        const both = await batch.triggerByTaskAndWait([
          { task: slow, payload: 1 },
          { task: told, payload: 1 },
        ])
        return [own, both].map(({ id, runs: all }) => ({ id, told: all.map((one) => one.ok && one.output) }))
      },
    })
    await using t = await createTestEngine({ tasks: [parent, slow, told], alwaysResume: true })
    t.engine.makeDefault()
    const { id } = await parent.trigger()
    const { output } = await runs.poll<typeof parent>(id)
    const [own, both] = output as { id: string; told: unknown[] }[]
    expect(own?.told).toEqual([own?.id, own?.id])
    expect(both?.told).toEqual([both?.id, { id: both?.id }])
    expect(own?.id).not.toBe(both?.id)
  })

  it.each([
    ['an async iterable', (items: readonly object[]) => streamed(items)],
    [
      'a web stream',
      (items: readonly object[]) => new Response(JSON.stringify(items)).body!.pipeThrough(parsed()),
    ],
  ])('takes its items from %s, whichever way it is triggered', async (_what, make) => {
    const parent = task({
      id: 'parent',
      run: async () => {
        const results = [
          await told.batchTriggerAndWait(make([{ payload: 1 }]) as never),
          await tasks.batchTriggerAndWait<typeof told>('told', make([{ payload: 1 }]) as never),
          await batch.triggerAndWait<typeof told>(make([{ id: 'told', payload: 1 }]) as never),
          await batch.triggerByTaskAndWait(make([{ task: { id: 'told' }, payload: 1 }]) as never),
        ]
        return results.map(({ runs: all }) => (all as readonly { ok: boolean }[]).map(({ ok }) => ok))
      },
    })
    await using _t = await engineOf(parent, told)
    expect(await runs.poll(await parent.trigger())).toMatchObject({
      output: [[true], [true], [true], [true]],
    })
    const handles = [
      await told.batchTrigger(make([{ payload: 1 }]) as never),
      await tasks.batchTrigger<typeof told>('told', make([{ payload: 1 }]) as never),
      await batch.trigger<typeof told>(make([{ id: 'told', payload: 1 }]) as never),
      await batch.triggerByTask(make([{ task: { id: 'told' }, payload: 1 }]) as never),
    ]
    for (const { batchId, runCount } of handles) {
      const { runs: ids } = await batch.retrieve(batchId)
      expect([runCount, ids.length]).toEqual([1, 1])
      for (const id of ids) expect(await runs.poll(id)).toMatchObject({ output: { id: batchId } })
    }
  })

  it('is none of a run that was triggered alone, or again', async () => {
    await using _t = await engineOf(told)
    expect((await runs.poll(await told.trigger(1))).output).toBe('none')
    const { batchId } = await told.batchTrigger([{ payload: 1 }])
    const [first = ''] = (await batch.retrieve(batchId)).runs
    const again = await runs.poll((await runs.replay(first)).id)
    expect(again).toMatchObject({ output: 'none' })
    expect(again).not.toHaveProperty('batchId')
  })

  it('is retrieved with the instants of its runs, and its key as it is stored', async () => {
    await using t = await engineOf(told)
    const { batchId } = await told.batchTrigger([{ payload: 1 }, { payload: 2 }], { idempotencyKey: 'key' })
    const createdAt = new Date(t.clock.now())
    const retrieved = await batch.retrieve(batchId)
    expect(retrieved).toMatchObject({
      createdAt,
      runCount: 2,
      processing: { completedAt: createdAt, errors: [] },
    })
    expect(retrieved.idempotencyKey).toMatch(/^[0-9a-f]{64}$/)
    for (const id of retrieved.runs) await runs.poll(id)
    expect(await batch.retrieve(batchId)).toMatchObject({
      status: 'COMPLETED',
      updatedAt: new Date(t.clock.now()),
    })
  })
})

describe('the hooks of a wait', () => {
  it('are told of the run, the batch, the token and the instant that it waits for', async () => {
    const child = task({ id: 'child', run: async (payload: number) => payload })
    const told: [hook: string, wait: TaskWait][] = []
    const parent = task({
      id: 'parent',
      onWait: ({ wait: what }) => void told.push(['onWait', what]),
      onResume: ({ wait: what }) => void told.push(['onResume', what]),
      run: async () => {
        const { id } = await child.triggerAndWait(1)
        const { id: byId } = await tasks.triggerAndWait<typeof child>('child', 1)
        const { id: batchId } = await child.batchTriggerAndWait([{ payload: 1 }, { payload: 2 }])
        const token = await wait.createToken({ timeout: '1h' })
        await wait.forToken(token)
        await wait.for({ seconds: 6 })
        return [id, byId, batchId, token.id]
      },
    })
    await using t = await engineOf(parent, child)
    const { id } = await parent.trigger()
    const { output = [] } = await runs.poll<typeof parent>(id)
    const [runId = '', byId = '', batchId = '', token = ''] = output
    const waits: TaskWait[] = [
      { type: 'task', runId },
      { type: 'task', runId: byId },
      { type: 'batch', batchId, runCount: 2 },
      { type: 'token', token },
      { type: 'duration', date: new Date(t.clock.now()) },
    ]
    expect(told).toEqual(
      waits.flatMap((what) => [
        ['onWait', what],
        ['onResume', what],
      ]),
    )
  })

  it('are not told of a sleep of five seconds or less, nor of an empty batch', async () => {
    const told: TaskWait[] = []
    const child = task({ id: 'child', run: async (payload: number) => payload })
    const parent = task({
      id: 'parent',
      onWait: ({ wait: what }) => void told.push(what),
      run: async (_payload: undefined, { ctx }) => {
        await wait.for({ seconds: 5 })
        await wait.for({ seconds: -1 })
        await wait.until({ date: new Date(ctx.run.startedAt.getTime() + 9_000) })
        await wait.until({ date: new Date(0) })
        await child.batchTriggerAndWait([])
      },
    })
    await using _t = await engineOf(parent, child)
    expect(await runs.poll(await parent.trigger(undefined))).toMatchObject({ status: 'COMPLETED' })
    expect(told).toEqual([])
  })

  it('may throw, which changes nothing, as in the hosted service', async () => {
    const told: string[] = []
    const throwing = (hook: string) => () => {
      told.push(hook)
      throw new Error(hook)
    }
    const patient = task({
      id: 'patient',
      onWait: throwing('onWait'),
      onResume: throwing('onResume'),
      run: async () => wait.for({ hours: 1 }),
    })
    await using _t = await engineOf(patient)
    expect(await runs.poll(await patient.trigger())).toMatchObject({ status: 'COMPLETED' })
    expect(told).toEqual(['onWait', 'onResume'])
  })

  it('are not told of a child that cannot be triggered', async () => {
    const told: TaskWait[] = []
    const parent = task({
      id: 'parent',
      onWait: ({ wait: what }) => void told.push(what),
      run: async () => tasks.triggerAndWait('unknown', 1),
    })
    await using _t = await engineOf(parent)
    const { error } = await runs.poll(await parent.trigger())
    expect(error?.message).toContain('Cannot trigger task "unknown"')
    expect(told).toEqual([])
  })
})

describe('options of a trigger that the types refuse, and empty ones', () => {
  const told = task({ id: 'told', run: async (payload: unknown) => payload })

  it('are taken as in the hosted service: a number is a text, and an empty name is none', async () => {
    await using t = await engineOf(told)
    const options = [{ concurrencyKey: 5 as never }, { concurrencyKey: '', queue: '' }]
    const handles = await Promise.all(options.map((given) => told.trigger(1, given)))
    const stored = await Promise.all(handles.map(({ id }) => t.engine.runs.retrieve(id)))
    expect(stored.map(({ queue, concurrencyKey }) => [queue, concurrencyKey])).toEqual([
      ['task/told', '5'],
      ['task/told', undefined],
    ])
    await expect(told.trigger(1, { concurrencyKey: {} as never })).rejects.toThrow(
      'Cannot use concurrencyKey',
    )
  })

  it('are idempotency keys: a number is not dropped, and an empty one of an item gives way to that of the batch', async () => {
    await using _t = await engineOf(told)
    const idempotencyKey = 5 as never
    const first = await told.trigger(1, { idempotencyKey })
    expect(await told.trigger(2, { idempotencyKey })).toMatchObject({ id: first.id, isCached: true })
    expect(await told.trigger(2, { idempotencyKey: ['5'] })).toMatchObject({ id: first.id })
    const items = [{ payload: 1, options: { idempotencyKey: '' } }]
    const one = await told.batchTrigger(items, { idempotencyKey: 'nightly' })
    const other = await told.batchTrigger(items, { idempotencyKey: 'nightly' })
    expect((await batch.retrieve(one.batchId)).runs).toEqual((await batch.retrieve(other.batchId)).runs)
  })

  it.each([null, false, 'text'])('are no items of a batch: %j', async (item) => {
    await using _t = await engineOf(told)
    const refused = {
      name: 'TypeError',
      message: expect.stringContaining('Cannot use an item of a batch') as string,
    }
    await expect(async () => told.batchTrigger([item as never])).rejects.toMatchObject(refused)
    await expect(tasks.batchTrigger('told', streamed([item as never]))).rejects.toMatchObject(refused)
  })
})

describe('a run that is retrieved', () => {
  it('has the runs above it, and how many they are', async () => {
    const leaf = task({ id: 'leaf', run: async (_payload: undefined, { ctx }) => [ctx.run.id] })
    const middle = task({
      id: 'middle',
      run: async (_payload: undefined, { ctx }): Promise<string[]> => [
        ctx.run.id,
        ...(await leaf.triggerAndWait(undefined).unwrap()),
      ],
    })
    const top = task({ id: 'top', run: async () => middle.triggerAndWait(undefined).unwrap() })
    await using _t = await engineOf(top, middle, leaf)
    const root = await runs.poll<typeof top>((await top.trigger()).id)
    expect(root).toMatchObject({ depth: 0, relatedRuns: {} })
    const [middleId = '', leafId = ''] = root.output ?? []
    const { relatedRuns, depth } = await runs.retrieve(middleId)
    expect([depth, relatedRuns.parent?.id, relatedRuns.root?.id]).toEqual([1, root.id, root.id])
    expect(relatedRuns.root?.depth).toBe(0)
    const lowest = await runs.poll(leafId)
    expect([lowest.depth, lowest.relatedRuns.parent?.depth, lowest.relatedRuns.root?.depth]).toEqual([
      2, 1, 0,
    ])
    expect([lowest.relatedRuns.parent?.id, lowest.relatedRuns.root?.id]).toEqual([middleId, root.id])
    expect((await runs.list()).data.map(({ env }) => env)).toContainEqual({ id: 'local', name: 'dev' })
  })
})

describe('the error of a run', () => {
  it('has its stack under the name that it has there', async () => {
    const failing = task({ id: 'failing', run: () => Promise.reject(new TypeError('no')) })
    await using _t = await engineOf(failing)
    const { id, error } = await runs.poll(await failing.trigger())
    expect(error?.stackTrace).toMatch(/^TypeError: no\n/)
    const [listed] = (await runs.list()).getPaginatedItems()
    expect([listed?.id, listed?.error?.stackTrace]).toEqual([id, error?.stackTrace])
  })
})

describe('pages of runs and of tokens', () => {
  it('are walked page by page, and item by item', async () => {
    const idle = task({ id: 'idle', run: async () => wait.createToken({ tags: ['of idle'] }) })
    await using _t = await engineOf(idle)
    for (let count = 0; count < 5; count += 1) await runs.poll(await idle.trigger())
    const sizes: number[] = []
    for await (const { data } of (await runs.list({ limit: 2 })).iterPages()) sizes.push(data.length)
    for await (const { data } of (await wait.listTokens({ limit: 3 })).iterPages()) sizes.push(data.length)
    expect(sizes).toEqual([2, 2, 1, 3, 2])
    const tokens: string[] = []
    for await (const token of await wait.listTokens({ limit: 2 })) tokens.push(token.id)
    for await (const token of wait.listTokens({ limit: 2 })) tokens.push(token.id)
    expect([tokens.length, new Set(tokens).size]).toEqual([10, 5])
  })

  it("have tags that are the caller's own", async () => {
    const idle = task({ id: 'idle', run: async () => 1 })
    await using _t = await engineOf(idle)
    const { id } = await wait.createToken({ tags: ['a'] })
    ;(await wait.retrieveToken(id)).tags.push('b')
    ;(await wait.listTokens()).data[0]?.tags.push('c')
    expect(await wait.retrieveToken(id)).toMatchObject({ tags: ['a'] })
  })
})

describe('a subscription', () => {
  const sleeping = task({ id: 'sleeping', run: async () => wait.for({ hours: 1 }) })

  it('that was ended before it is iterated has no run', async () => {
    await using _t = await engineOf(sleeping)
    const { id } = await sleeping.trigger()
    const controller = new AbortController()
    const [ended, aborted] = [runs.subscribeToRun(id), runs.subscribeToRun(id, { signal: controller.signal })]
    ended.unsubscribe()
    controller.abort()
    for (const subscription of [ended, ended.withStreams(), aborted])
      for await (const told of subscription) expect(told).toBe('nothing')
  })

  it('with streams is a web stream, too', async () => {
    const writing = task({ id: 'writing', run: async () => streams.append('s', 'a') })
    await using _t = await engineOf(writing)
    const { id } = await runs.poll(await writing.trigger())
    const reader = runs.subscribeToRun(id).withStreams<{ s: string }>().getReader()
    const told: unknown[] = []
    for (let next = await reader.read(); !next.done; next = await reader.read())
      told.push(next.value.type === 's' ? next.value.chunk : next.value.run.status)
    expect(new Set(told)).toEqual(new Set(['COMPLETED', 'a']))
  })
})

describe('runs.fetchStream', () => {
  it('rejects for a run that there is not, and answers a web stream of the others', async () => {
    const writing = task({ id: 'writing', run: async () => streams.append('s', 'a') })
    await using _t = await engineOf(writing)
    await expect(runs.fetchStream('run_unknown', 's')).rejects.toMatchObject({ code: 'ERR_RUN_NOT_FOUND' })
    const { id } = await runs.poll(await writing.trigger())
    const stream = await runs.fetchStream<string>(id, 's')
    const reader = stream.getReader()
    expect(await reader.read()).toEqual({ done: false, value: 'a' })
    expect(await reader.read()).toMatchObject({ done: true })
  })
})
