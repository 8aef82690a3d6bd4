import { describe, expect, it } from 'vitest'
import { streams, wait } from 'waitpoint'
import { createHandler } from 'waitpoint/http'
import { bodyTask } from '../../support/body-task.ts'
import { createTestEngine } from 'waitpoint/testing'

const KEY = 'tr_dev_xxxxxxxx'
const inbox = streams.input({ id: 'messages' })

describe('POST /realtime/v1/streams/:runId/input/:stream', () => {
  it('sends a message for a token with the scope, and says of others why not', async () => {
    await using t = await createTestEngine({
      tasks: [
        bodyTask(async () => {
          await wait.for({ seconds: 1 })
          return inbox.take()
        }),
      ],
      secretKey: KEY,
      streams: { unreadInputs: 2 },
      clock: { mode: 'manual' },
    })
    const handler = createHandler(t.engine)
    const run = await t.engine.tasks.trigger('body', null)
    const answer = (body: string, key = KEY, id = run.id): Promise<Response> =>
      handler(
        new Request(`https://app.example/realtime/v1/streams/${id}/input/messages`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body,
        }),
      )
    const send = async (...sent: Parameters<typeof answer>): Promise<number> => (await answer(...sent)).status
    expect(await send('{"data":{"text":"a"}}')).toBe(200)
    const other = await t.engine.tasks.trigger('body', null)
    expect(await send('{"data":{"text":"b"}}', other.publicAccessToken)).toBe(403)
    const reader = await t.engine.createAccessToken({ read: { runs: run.id } })
    expect(await send('{"data":{"text":"b"}}', reader)).toBe(403)
    expect(await send(`{"data":"${'x'.repeat(1_048_577)}"}`)).toBe(413)
    expect(await send('{"data":null}', run.publicAccessToken)).toBe(200)
    expect(await send('{"data":3}')).toBe(429)
    expect(await send('3')).toBe(400)
    expect(await send('{"data":1}', KEY, 'run_unknown')).toBe(404)
    await t.clock.advance('1s')
    expect(await run.result()).toEqual([{ text: 'a' }, null])
    // The published client would send again after another 409.
    const late = await answer('{"data":1}')
    expect([late.status, late.headers.get('x-should-retry')]).toEqual([409, 'false'])
  })

  it('takes a message that is sent again under its key once, also after the end of the run', async () => {
    await using t = await createTestEngine({
      tasks: [
        bodyTask(async () => {
          await wait.for({ seconds: 1 })
          return inbox.take()
        }),
      ],
      secretKey: KEY,
      clock: { mode: 'manual' },
    })
    const [handler, other] = [createHandler(t.engine), createHandler(t.engine)]
    const run = await t.engine.tasks.trigger('body', null)
    const send = async (
      body: unknown,
      { name, to = handler }: { readonly name?: string; readonly to?: typeof handler } = {},
    ): Promise<number> => {
      const request = new Request(`https://app.example/realtime/v1/streams/${run.id}/input/messages`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${KEY}`,
          ...(name !== undefined && { 'x-trigger-request-idempotency-key': name }),
        },
        body: JSON.stringify(body),
      })
      return (await to(request)).status
    }
    const repeated = [
      await send({ data: 1 }, { name: 'request' }),
      await send({ data: 1 }, { name: 'request', to: other }),
      await send({ data: 2, idempotencyKey: 'two' }, { name: 'one' }),
      await send({ data: 2, idempotencyKey: 'two' }, { name: 'other', to: other }),
      await send({ data: 3 }, { name: '' }),
      await send({ data: 3 }, { name: '' }),
    ]
    expect(repeated).toEqual([200, 200, 200, 200, 200, 200])
    for (const idempotencyKey of ['', 7, null, 'k'.repeat(2_049)])
      expect(await send({ data: 4, idempotencyKey })).toBe(400)
    await t.clock.advance('1s')
    expect(await run.result()).toEqual([1, 2, 3, 3])
    expect(await send({ data: 1 }, { name: 'request', to: other })).toBe(200)
    expect(await send({ data: 1 }, { name: 'another' })).toBe(409)
  })
})
