import { describe, expect, it } from 'vitest'
import { task } from 'waitpoint'
import { createHandler, type Handler } from 'waitpoint/http'
import { runs, schemaTask, task as hostedTask, wait } from 'waitpoint/sdk'
import { createTestEngine, type TestEngine } from 'waitpoint/testing'
import { SuperJSON } from 'superjson'
import { z } from 'zod'
import { ask, SECRET } from './requests.ts'

const VALUES = {
  at: new Date('2024-05-01T12:00:00Z'),
  map: new Map([['a', 1]]),
  set: new Set([1, 2]),
  big: 12_345_678_901_234_567_890n,
  missing: undefined,
  text: 'x',
}
const SENT = { payload: SuperJSON.stringify(VALUES), options: { payloadType: 'application/super+json' } }
const PLAIN = SuperJSON.serialize(VALUES).json

const echoed: unknown[] = []
const hosted = hostedTask({
  id: 'hosted',
  run: async (payload: unknown) => {
    echoed.push(payload)
    return payload
  },
})
const dated = schemaTask({
  id: 'dated',
  schema: z.object({ at: z.date() }),
  run: async ({ at }) => at.getTime(),
})
const asking = hostedTask({
  id: 'asking',
  run: async (token: string) => (await wait.forToken<unknown>(token)).ok,
})
const plain = task({ id: 'plain', run: (payload: unknown) => payload })

async function onBench(body: (t: TestEngine, handler: Handler) => Promise<void>): Promise<void> {
  await using t = await createTestEngine({ tasks: [hosted, dated, plain, asking], secretKey: SECRET })
  using _default = { [Symbol.dispose]: t.engine.makeDefault() }
  await body(t, createHandler(t.engine))
}

async function triggered(handler: Handler, id: string, body: unknown): Promise<string> {
  const answer = await ask(handler, `POST /api/v1/tasks/${id}/trigger`, { body })
  expect(answer.status).toBe(200)
  return (answer.body as { readonly id: string }).id
}

describe('values that JSON cannot tell, over HTTP', () => {
  it('reach a task of waitpoint/sdk as they were sent, and come back so', () =>
    onBench(async (t, handler) => {
      const id = await triggered(handler, 'hosted', SENT)
      await t.engine.runs.poll(id)
      expect(echoed.at(-1)).toEqual(VALUES)
      expect((await runs.retrieve(id)).output).toEqual(VALUES)

      const { body } = await ask(handler, `GET /api/v1/runs/${id}/result`)
      const { output, outputType } = body as { readonly output: string; readonly outputType: string }
      expect(outputType).toBe('application/super+json')
      expect(SuperJSON.parse(output)).toEqual(VALUES)
    }))

  it('are JSON where a run is read as JSON', () =>
    onBench(async (t, handler) => {
      const id = await triggered(handler, 'hosted', SENT)
      await t.engine.runs.poll(id)
      const { body } = await ask(handler, `GET /api/v3/runs/${id}`)
      expect(body).toMatchObject({ payload: PLAIN, output: PLAIN })
      const events = await ask(handler, `GET /api/v1/runs/${id}/stream`)
      expect(String(events.body)).not.toContain('$superjson')
    }))

  it('have their notes in the rows of a subscription', () =>
    onBench(async (t, handler) => {
      const id = await triggered(handler, 'hosted', SENT)
      await t.engine.runs.poll(id)
      const { body } = await ask(handler, `GET /realtime/v1/runs/${id}?offset=-1`)
      const [{ value }] = body as readonly [{ readonly value: Readonly<Record<string, string>> }]
      for (const name of ['payload', 'output']) {
        expect(value[`${name}Type`]).toBe('application/super+json')
        expect(SuperJSON.parse(value[name] ?? '')).toEqual(VALUES)
      }
    }))

  it('are checked by a schema as they were sent', () =>
    onBench(async (t, handler) => {
      const body = { ...SENT, payload: SuperJSON.stringify({ at: VALUES.at }) }
      const { output } = await t.engine.runs.poll(await triggered(handler, 'dated', body))
      expect(output).toBe(VALUES.at.getTime())
    }))

  it('are JSON for another task', () =>
    onBench(async (t, handler) => {
      const { output } = await t.engine.runs.poll(await triggered(handler, 'plain', SENT))
      expect(output).toEqual(PLAIN)
    }))

  it('keep a value apart that looks like one with notes', () =>
    onBench(async (t, handler) => {
      const value = { $superjson: { json: 1 } }
      const body = { ...SENT, payload: SuperJSON.stringify(value) }
      const id = await triggered(handler, 'hosted', body)
      await t.engine.runs.poll(id)
      expect(echoed.at(-1)).toEqual(value)
      expect((await ask(handler, `GET /api/v3/runs/${id}`)).body).toMatchObject({
        payload: value,
        output: value,
      })
    }))

  it('are the output of a token as well', () =>
    onBench(async (t, handler) => {
      const token = await t.engine.wait.createToken()
      await wait.completeToken(token.id, VALUES)
      const { body } = await ask(handler, `GET /api/v1/waitpoints/tokens/${token.id}`)
      const { output, outputType } = body as { readonly output: string; readonly outputType: string }
      expect(outputType).toBe('application/super+json')
      expect(SuperJSON.parse(output)).toEqual(VALUES)
    }))

  it('are refused with notes that are none', () =>
    onBench(async (_t, handler) => {
      const body = { ...SENT, payload: '{"json":1,"meta":2}' }
      expect(await ask(handler, 'POST /api/v1/tasks/hosted/trigger', { body })).toMatchObject({
        status: 400,
        body: { error: expect.stringContaining('"meta"') as string },
      })
    }))

  it.each(['hosted', 'dated'])('are refused with notes that the task %s cannot read', (id) =>
    onBench(async (t, handler) => {
      const noted = { json: { at: 1 }, meta: { values: { at: ['no such note'] } } }
      for (const body of [{ ...SENT, payload: JSON.stringify(noted) }, { payload: { $superjson: noted } }])
        expect(await ask(handler, `POST /api/v1/tasks/${id}/trigger`, { body })).toMatchObject({
          status: 400,
          body: { error: expect.stringContaining('Cannot read the notes of the payload') as string },
        })
      expect((await t.engine.runs.list()).data).toHaveLength(0)
    }),
  )
})
