import superjson from 'superjson'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { type Codec, createEngine, once, task, tasks, wait } from 'waitpoint'
import { createHandler } from 'waitpoint/http'
import {
  runs as hostedRuns,
  task as hostedTask,
  tasks as hostedTasks,
  wait as hostedWait,
} from 'waitpoint/sdk'
import { createTestEngine, type TestEngine } from 'waitpoint/testing'
import { memoryStorage } from '../../src/storage/memory/memory.ts'
import { z } from 'zod'
import { ask, SECRET } from '../http/requests.ts'

const VALUES = {
  at: new Date('2024-05-01T12:00:00Z'),
  map: new Map([['a', 1]]),
  set: new Set([1, 2]),
  big: 12_345_678_901_234_567_890n,
  missing: undefined,
  text: 'x',
}
type Values = typeof VALUES
const LOOKALIKE = { $superjson: { json: '2024', meta: { values: ['Date'], v: 1 } } }
const PLAIN = superjson.serialize(VALUES).json

const received: unknown[] = []
const echo = task({
  id: 'echo',
  run: (payload: unknown) => {
    received.push(payload)
    return payload
  },
})
const parent = task({
  id: 'parent',
  run: async (payload: Values) => {
    const result = await tasks.triggerAndWait<typeof echo>('echo', payload)
    const { runs: all } = await tasks.batchTriggerAndWait<typeof echo>('echo', [{ payload }, { payload: 1 }])
    return [result.ok && result.output, ...all.map((one) => one.ok && one.output)]
  },
})
const asking = task({
  id: 'asking',
  run: async (token: string) => {
    const { ok } = await wait.forToken<Values>(token)
    return ok ? wait.forToken<Values>(token).unwrap() : undefined
  },
})
let effects = 0
const effect = task({
  id: 'effect',
  retry: { maxAttempts: 2, minTimeoutInMs: 1 },
  run: async (_: null, { ctx }) => {
    const result = await once('values', () => {
      effects += 1
      return VALUES
    })
    if (ctx.attempt.number === 1) throw new Error('once more')
    return result
  },
})
const dated = task({ id: 'dated', schema: z.object({ at: z.date() }), run: ({ at }) => at })
const hosted = hostedTask({ id: 'hosted', run: (payload: unknown) => Promise.resolve(payload) })
const hostedParent = hostedTask({
  id: 'hosted-parent',
  run: (payload: unknown) => hostedTasks.triggerAndWait('echo', payload).unwrap(),
})
const hostsParent = task({
  id: 'hosts-parent',
  run: (payload: unknown) => tasks.triggerAndWait('hosted', payload).unwrap(),
})
const all = [echo, parent, asking, effect, dated, hosted, hostedParent, hostsParent]

async function onEngine(body: (t: TestEngine) => Promise<void>): Promise<void> {
  await using t = await createTestEngine({ tasks: all, codec: superjson, secretKey: SECRET })
  await body(t)
}

/** Notes texts, and cannot read them again. */
const broken: Codec = {
  serialize: (value) => (value === 'x' ? { json: value, meta: 'text' } : { json: value }),
  deserialize: () => {
    throw new Error('no such notes')
  },
}

describe('an engine with a codec', () => {
  it('takes superjson as it is, also as an instance', () => {
    expectTypeOf(superjson).toExtend<Codec>()
    expectTypeOf(new superjson()).toExtend<Codec>()
  })

  it('gives payloads and outputs back as they were', () =>
    onEngine(async ({ engine }) => {
      const run = await engine.trigger(echo, VALUES)
      expect(await run.result()).toStrictEqual(VALUES)
      expect(await run.outcome()).toMatchObject({ ok: true, output: VALUES })
      expect(received.at(-1)).toStrictEqual(VALUES)
      for (const view of [await engine.runs.retrieve(run), await engine.runs.poll(run)])
        expect(view).toMatchObject({ payload: VALUES, output: VALUES })
      expect((await engine.runs.list()).data[0]).toMatchObject({ payload: VALUES, output: VALUES })
      for await (const { payload } of engine.runs.subscribeToRun(run)) expect(payload).toStrictEqual(VALUES)
      for await (const part of engine.runs.subscribeToRun(run).withStreams())
        expect(part.run).toMatchObject({ payload: VALUES })
      expect(await (await engine.runs.replay(run)).result()).toStrictEqual(VALUES)
    }))

  it('tells listeners of them', () =>
    onEngine(async ({ engine }) => {
      const told: unknown[] = []
      engine.on('run', ({ payload }) => told.push(payload))
      await (await engine.trigger(echo, VALUES)).result()
      expect(told.at(-1)).toStrictEqual(VALUES)
    }))

  it('gives them to children, and those of batches', () =>
    onEngine(async ({ engine }) => {
      const run = await engine.trigger(parent, VALUES)
      expect(await run.result()).toStrictEqual([VALUES, VALUES, 1])
      const batch = await engine.tasks.batchTrigger<typeof echo>('echo', [{ payload: VALUES }])
      expect(await batch.runs[0]?.result()).toStrictEqual(VALUES)
    }))

  it('gives the output of a token back as it was', () =>
    onEngine(async ({ engine }) => {
      const token = await engine.wait.createToken()
      const run = await engine.trigger(asking, token.id)
      await engine.wait.completeToken(token, VALUES)
      expect(await run.result()).toStrictEqual(VALUES)
      expect((await engine.wait.retrieveToken(token)).output).toStrictEqual(VALUES)
    }))

  it('gives the result of once to the next attempt as it was', () =>
    onEngine(async ({ engine }) => {
      effects = 0
      expect(await (await engine.trigger(effect, null)).result()).toStrictEqual(VALUES)
      expect(effects).toBe(1)
    }))

  it('gives the payload to onCancel as it was, between two attempts too', async () => {
    const seen: unknown[] = []
    const failing = task({
      id: 'failing',
      retry: { maxAttempts: 2, minTimeoutInMs: 3_600_000 },
      run: async (_: Values) => {
        throw new Error('try later')
      },
      onCancel: ({ payload }) => void seen.push(payload),
    })
    await using t = await createTestEngine({ tasks: [failing], codec: superjson })
    const run = await t.engine.trigger(failing, VALUES)
    await t.clock.advance(0)
    await t.engine.runs.cancel(run)
    await t.clock.settle()
    expect(seen).toStrictEqual([VALUES])
  })

  it('checks payloads by a schema as they are', () =>
    onEngine(async ({ engine }) => {
      expect(await (await engine.trigger(dated, { at: VALUES.at })).result()).toStrictEqual(VALUES.at)
      const text = { at: VALUES.at.toISOString() } as never
      await expect(engine.trigger(dated, text)).rejects.toMatchObject({ code: 'ERR_PAYLOAD_INVALID' })
    }))

  it('keeps a value apart that looks like one with notes', () =>
    onEngine(async ({ engine }) => {
      const run = await engine.trigger(echo, LOOKALIKE)
      expect(await run.result()).toStrictEqual(LOOKALIKE)
      expect(received.at(-1)).toStrictEqual(LOOKALIKE)
    }))

  it('stores a value as it is at the call', () =>
    onEngine(async ({ engine }) => {
      const payload = { at: new Date(0), list: new Set([1]) }
      const triggered = engine.trigger(echo, payload, { delay: '1s' })
      payload.at.setFullYear(2000)
      payload.list.add(2)
      expect(await (await triggered).result()).toStrictEqual({ at: new Date(0), list: new Set([1]) })
    }))

  it('refuses a value that the codec cannot write, before anything is stored', () =>
    onEngine(async ({ engine }) => {
      const cases: [unknown, string][] = [
        [{ constructor: 1 }, 'the codec cannot write it'],
        [{ f: () => 1 }, 'is not JSON: a function'],
      ]
      for (const [payload, message] of cases)
        await expect(engine.trigger(echo, payload)).rejects.toMatchObject({
          code: 'ERR_NOT_SERIALIZABLE',
          message: expect.stringContaining(message) as string,
        })
      expect((await engine.runs.list()).data).toHaveLength(0)
      const token = await engine.wait.createToken()
      await expect(engine.wait.completeToken(token, { constructor: 1 })).rejects.toThrow('the codec cannot')
      expect((await engine.wait.retrieveToken(token)).status).toBe('WAITING')
    }))

  it('fails a run whose output the codec cannot write, without a retry', async () => {
    const unfit = task({ id: 'unfit', retry: { maxAttempts: 3 }, run: () => ({ constructor: 1 }) })
    await using t = await createTestEngine({ tasks: [unfit], codec: superjson })
    const run = await t.engine.trigger(unfit, undefined)
    expect(await run.outcome()).toMatchObject({
      ok: false,
      error: { cause: { code: 'ERR_NOT_SERIALIZABLE' } },
    })
    expect((await t.engine.runs.retrieve(run)).attemptCount).toBe(1)
  })

  it.each([
    ['nothing', undefined],
    ['no json', {}],
    ['JSON alone', 'text'],
  ])('refuses a codec that answers %s', async (_what, answer) => {
    const codec: Codec = { serialize: () => answer as never, deserialize: () => undefined }
    await using t = await createTestEngine({ tasks: [echo], codec })
    await expect(t.engine.trigger(echo, 1)).rejects.toThrow('the codec answered no { json, meta }')
  })

  it.each([[{}], ['superjson'], [null], [{ serialize: () => ({ json: 1 }) }]])(
    'refuses %o as a codec',
    (codec) => {
      expect(() => createEngine({ codec: codec as never })).toThrow(/^Cannot use codec/)
    },
  )
})

describe('engines with another codec, or none, on one storage', () => {
  it('fails a run whose payload its codec cannot read, once', async () => {
    const storage = memoryStorage()
    await using t = await createTestEngine({ tasks: [echo], codec: broken, storage })
    const errors: unknown[] = []
    t.engine.on('error', ({ error }) => errors.push(error))
    t.engine.on('run', () => undefined)
    const run = await t.engine.trigger(echo, 'x')
    expect(await run.outcome()).toMatchObject({
      ok: false,
      error: {
        cause: { code: 'ERR_CANNOT_DECODE', message: expect.stringContaining('no such notes') as string },
      },
    })
    await expect(t.engine.runs.retrieve(run)).rejects.toMatchObject({ code: 'ERR_CANNOT_DECODE' })
    expect(errors[0]).toMatchObject({ code: 'ERR_CANNOT_DECODE' })
  })

  it('lists a run whose values its codec cannot read with their JSON, beside the others', async () => {
    await using t = await createTestEngine({ tasks: [echo], codec: broken })
    for (const payload of ['x', 'y']) await (await t.engine.trigger(echo, payload)).outcome()
    const { data } = await t.engine.runs.list()
    expect(data.map(({ payload, status }) => [payload, status])).toEqual([
      ['y', 'COMPLETED'],
      ['x', 'FAILED'],
    ])
  })

  it('rejects a wait for an output that its codec cannot read', async () => {
    await using t = await createTestEngine({ tasks: [asking], codec: broken })
    const token = await t.engine.wait.createToken()
    const run = await t.engine.trigger(asking, token.id)
    await t.engine.wait.completeToken(token, 'x')
    expect(await run.outcome()).toMatchObject({ ok: false, error: { cause: { code: 'ERR_CANNOT_DECODE' } } })
    await expect(t.engine.wait.retrieveToken(token)).rejects.toMatchObject({ code: 'ERR_CANNOT_DECODE' })
  })

  it('reads plain values of an engine without a codec, and leaves them the JSON of its own', async () => {
    const storage = memoryStorage()
    await using plain = await createTestEngine({ tasks: [echo], storage, execute: false })
    await using coded = await createTestEngine({
      tasks: [echo],
      storage,
      codec: superjson,
      clock: plain.clock,
    })
    const before = await plain.engine.trigger(echo, { at: VALUES.at })
    expect(await coded.engine.runs.poll(before)).toMatchObject({ output: { at: VALUES.at.toISOString() } })
    const after = await coded.engine.trigger(echo, VALUES)
    await after.result()
    expect((await plain.engine.runs.retrieve(after)).output).toMatchObject({ $superjson: { json: PLAIN } })
  })
})

describe('a codec and waitpoint/sdk', () => {
  it('leave the tasks of one another their values', () =>
    onEngine(async ({ engine }) => {
      using _default = { [Symbol.dispose]: engine.makeDefault() }
      for (const value of [VALUES, LOOKALIKE]) {
        // From waitpoint to a task of waitpoint/sdk, and the other way round.
        expect(await (await engine.tasks.trigger('hosted', value)).result()).toStrictEqual(value)
        const { id } = await hostedTasks.trigger('echo', value)
        expect((await hostedRuns.poll(id)).output).toStrictEqual(value)
        expect(received.at(-1)).toStrictEqual(value)
        for (const id of ['hosted-parent', 'hosts-parent'])
          expect(await (await engine.tasks.trigger(id, value)).result()).toStrictEqual(value)
        const token = await engine.wait.createToken()
        await hostedWait.completeToken(token.id, value)
        expect((await engine.wait.retrieveToken(token)).output).toStrictEqual(value)
        expect((await hostedWait.retrieveToken(token.id)).output).toStrictEqual(value)
      }
    }))
})

describe('runs.list of waitpoint/sdk', () => {
  it('shows the JSON of a value whose notes superjson does not know', async () => {
    await using t = await createTestEngine({ tasks: [echo, hosted] })
    using _default = { [Symbol.dispose]: t.engine.makeDefault() }
    const unknown = { $superjson: { json: { at: 1 }, meta: { values: { at: ['no such note'] } } } }
    const first = await t.engine.trigger(echo, unknown)
    await first.result()
    await hostedRuns.poll(await hosted.trigger(new Date(0)))
    const payloads = (await hostedRuns.list()).data.map(({ payload }) => payload as unknown)
    expect(payloads).toEqual([new Date(0), { at: 1 }])
    const iterated: unknown[] = []
    for await (const { output } of hostedRuns.list()) iterated.push(output)
    expect(iterated).toEqual(payloads)
    await expect(hostedRuns.retrieve(first.id)).rejects.toThrow('no such note')
  })
})

describe('a codec over HTTP', () => {
  it('answers JSON, and passes on the notes to readers that know them', () =>
    onEngine(async ({ engine }) => {
      const handler = createHandler(engine)
      const body = {
        payload: superjson.stringify(VALUES),
        options: { payloadType: 'application/super+json' },
      }
      const triggered = await ask(handler, 'POST /api/v1/tasks/echo/trigger', { body })
      const { id } = triggered.body as { readonly id: string }
      expect((await engine.runs.poll(id)).output).toStrictEqual(VALUES)
      expect((await ask(handler, `GET /api/v3/runs/${id}`)).body).toMatchObject({
        payload: PLAIN,
        output: PLAIN,
      })
      const { body: result } = await ask(handler, `GET /api/v1/runs/${id}/result`)
      const { output, outputType } = result as { readonly output: string; readonly outputType: string }
      expect([outputType, superjson.parse(output)]).toEqual(['application/super+json', VALUES])
      expect(String((await ask(handler, `GET /api/v1/runs/${id}/stream`)).body)).not.toContain('$superjson')
    }))

  it('takes JSON as it is, also if it looks like a value with notes', () =>
    onEngine(async ({ engine }) => {
      const handler = createHandler(engine)
      const { body } = await ask(handler, 'POST /api/v1/tasks/echo/trigger', { body: { payload: LOOKALIKE } })
      const { id } = body as { readonly id: string }
      expect((await engine.runs.poll(id)).output).toStrictEqual(LOOKALIKE)
    }))

  it('refuses notes that it cannot read', () =>
    onEngine(async ({ engine }) => {
      const noted = { json: { at: 1 }, meta: { values: { at: ['no such note'] } } }
      const body = { payload: JSON.stringify(noted), options: { payloadType: 'application/super+json' } }
      expect(await ask(createHandler(engine), 'POST /api/v1/tasks/echo/trigger', { body })).toMatchObject({
        status: 400,
        body: { error: expect.stringContaining('Cannot read the notes of the payload') as string },
      })
      expect((await engine.runs.list()).data).toHaveLength(0)
    }))
})
