import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createHandler } from 'waitpoint/http'
import { bodyTask } from '../../support/body-task.ts'
import { cases } from '../../support/cases.ts'
import { watchers } from '../../support/streams.ts'
import { turn } from '../../support/turn.ts'
import { accessToken, stillEngine } from '../requests.ts'
import { get } from '../server-events.ts'
import { answered, CLIENT, columns, Subscriber } from '../shape-subscriber.ts'

const UP_TO_DATE = { headers: { control: 'up-to-date' } }
const pathOf = ({ id }: { readonly id: string }): string => `/realtime/v1/runs/${id}`

const waiting = bodyTask(async ({ wait }) => (await wait.forToken<string>('t')).ok)
const sleeping = bodyTask(async ({ wait, metadata }) => {
  metadata.set('step', 1)
  await wait.for({ hours: 1 })
  metadata.set('step', 2)
  return { answer: 42 }
})

describe('following one run by the shape protocol', () => {
  it('answers first with the run as it is, in native JSON, and with all headers', async () => {
    await using t = await stillEngine({ tasks: [sleeping] })
    const run = await t.engine.trigger(sleeping, null, { tags: ['red'], idempotencyKey: 'k', delay: '1m' })
    const { status, headers, messages } = await new Subscriber(t, pathOf(run)).ask()
    expect(status).toBe(200)
    expect(Object.fromEntries(headers)).toMatchObject({
      'electric-offset': expect.stringMatching(/^\d+_\d+$/) as string,
      'electric-handle': run.id,
      'electric-schema': '{}',
      'electric-up-to-date': '',
      'cache-control': 'no-store',
      'content-type': 'application/json',
      'access-control-allow-origin': '*',
      'access-control-expose-headers': '*',
    })
    expect(headers.has('electric-chunk-last-offset')).toBe(false)
    const [row, upToDate] = messages
    expect(messages).toHaveLength(2)
    expect(upToDate).toEqual(UP_TO_DATE)
    expect(row).toMatchObject({
      key: `"public"."TaskRun"/"${run.id}"`,
      headers: { operation: 'insert' },
      value: {
        id: run.id,
        friendlyId: run.id,
        taskIdentifier: sleeping.id,
        status: 'DELAYED',
        createdAt: '2000-01-01T00:00:00.000',
        updatedAt: '2000-01-01T00:00:00.000',
        delayUntil: '2000-01-01T00:01:00.000',
        startedAt: null,
        completedAt: null,
        payload: 'null',
        payloadType: 'application/json',
        runTags: ['red'],
        idempotencyKey: 'k',
        isTest: false,
        realtimeStreams: [],
        output: null,
      },
    })
  })

  it('is held until the run changes, and tells the status as the client knows it, to the end', async () => {
    await using t = await stillEngine({ tasks: [sleeping] })
    const run = await t.engine.trigger(sleeping, null, { delay: '1s' })
    const subscriber = new Subscriber(t, pathOf(run))
    const seen: unknown[] = columns(await subscriber.ask(), 'status')
    for (let isOpen = true; isOpen;) {
      const answer = await answered(t, subscriber.ask())
      expect(answer.headers.get('electric-cursor')).toMatch(/^\d+$/)
      expect(answer.messages.at(-1)).toEqual(UP_TO_DATE)
      seen.push(...columns(answer, 'status'))
      isOpen = columns(answer, 'completedAt')
        .flat()
        .every((at) => at === null)
    }
    expect(seen.flat()).toEqual(
      expect.arrayContaining(['DELAYED', 'EXECUTING', 'WAITING_TO_RESUME', 'COMPLETED_SUCCESSFULLY']),
    )
    const [row] = subscriber.rows.values()
    expect(row).toMatchObject({
      status: 'COMPLETED_SUCCESSFULLY',
      output: '{"answer":42}',
      outputType: 'application/json',
      metadata: '{"step":2}',
      completedAt: '2000-01-01T01:00:01.000',
      usageDurationMs: 3_600_000,
    })
    expect(watchers(t.engine)).toBe(0)
  })

  it('never misses a change, also within one millisecond', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ polls: fc.nat({ max: 2 }), value: fc.nat({ max: 3 }) }), { maxLength: 12 }),
        async (steps) => {
          const body = bodyTask(async ({ wait, metadata }) => {
            for (const [index, { value }] of steps.entries()) {
              await wait.forToken(tokens[index] ?? '')
              // With the index, or a step might come and go between two polls and leave nothing to tell.
              metadata.set('value', [index, value])
              await metadata.flush()
            }
          })
          await using t = await stillEngine({ tasks: [body] })
          const tokens = await Promise.all(steps.map(async () => (await t.engine.wait.createToken()).id))
          const run = await t.engine.trigger(body, null)
          const subscriber = new Subscriber(t, pathOf(run))
          const start = t.clock.now()
          await subscriber.ask()
          const row = (): Readonly<Record<string, unknown>> => [...subscriber.rows.values()][0] ?? {}
          for (const [index, { polls }] of steps.entries()) {
            await t.engine.wait.completeToken(tokens[index] ?? '')
            for (let turns = 0; turns < polls; turns++) await turn()
            if (polls > 0) await answered(t, subscriber.ask())
          }
          await run.result()
          while (row()['completedAt'] === null) await answered(t, subscriber.ask())
          const last = steps.at(-1)
          expect(row()).toMatchObject({
            status: 'COMPLETED_SUCCESSFULLY',
            metadata: last === undefined ? null : JSON.stringify({ value: [steps.length - 1, last.value] }),
          })
          // Nothing was told only because time passed.
          expect(t.clock.now()).toBe(start)
        },
      ),
      { numRuns: cases(30) },
    ))

  it('answers at once what changed between two polls', async () => {
    await using t = await stillEngine({ tasks: [waiting] })
    const token = await t.engine.wait.createToken()
    const run = await t.engine.trigger(waiting, null, { delay: '1h' })
    const subscriber = new Subscriber(t, pathOf(run))
    await subscriber.ask()
    await t.engine.runs.cancel(run)
    expect(columns(await subscriber.ask(), 'status')).toEqual([['CANCELED']])
    await t.engine.wait.completeToken(token)
  })

  it('is held for 20 s, give or take 15 %, and then told that nothing changed', async () => {
    await using t = await stillEngine({ tasks: [sleeping] })
    const run = await t.engine.trigger(sleeping, null, { delay: '1h' })
    const subscriber = new Subscriber(t, pathOf(run))
    const first = await subscriber.ask()
    const held: number[] = []
    for (let count = 0; count < 20; count++) {
      const start = t.clock.now()
      const answer = await answered(t, subscriber.ask())
      expect(answer.messages).toEqual([UP_TO_DATE])
      expect(answer.headers.get('electric-offset')).toBe(first.headers.get('electric-offset'))
      held.push(t.clock.now() - start)
    }
    expect(Math.min(...held)).toBeGreaterThanOrEqual(17_000)
    expect(Math.max(...held)).toBeLessThanOrEqual(23_000)
    expect(new Set(held).size).toBeGreaterThan(10)
    await t.engine.runs.cancel(run)
  })

  it('is held no longer than the access token is good for', async () => {
    await using t = await stillEngine({ tasks: [sleeping] })
    const run = await t.engine.trigger(sleeping, null, { delay: '1h' })
    const exp = Math.floor(t.clock.now() / 1_000) + 5
    const token = await accessToken([`read:runs:${run.id}`], t.clock.now(), { claims: { exp } })
    const headers = { ...CLIENT, authorization: `Bearer ${token}` }
    const subscriber = new Subscriber(t, pathOf(run))
    await subscriber.ask(headers)
    const from = t.clock.now()
    expect((await answered(t, subscriber.ask(headers))).messages).toEqual([UP_TO_DATE])
    expect(t.clock.now() - from).toBe(5_000)
    const refused = await createHandler(t.engine)(get(pathOf(run), headers))
    expect(refused.status).toBe(401)
    await t.engine.runs.cancel(run)
  })

  it('knows nothing of a run that does not exist, and shows it when it does', async () => {
    const waitingRun = bodyTask(async ({ wait }) => wait.for({ hours: 1 }))
    await using t = await stillEngine({ tasks: [waitingRun] })
    const run = await t.engine.trigger(waitingRun, null)
    const { id } = run
    // The same engine in the same state makes the same ids.
    await using other = await stillEngine({ tasks: [waitingRun] })
    const subscriber = new Subscriber(other, pathOf({ id }))
    const first = await subscriber.ask()
    expect([first.status, first.messages]).toEqual([200, [UP_TO_DATE]])
    const asked = subscriber.ask()
    await turn()
    const late = await other.engine.trigger(waitingRun, null)
    expect(late.id).toBe(id)
    const answer = await asked
    expect(answer.messages[0]).toMatchObject({ headers: { operation: 'insert' }, value: { friendlyId: id } })
    await t.engine.runs.cancel(run)
    await other.engine.runs.cancel(late)
  })

  it('says that what was seen is no more when the run is no longer kept, and only once', async () => {
    await using t = await stillEngine({ tasks: [sleeping], retention: { maxAge: '1m' } })
    const run = await t.engine.trigger(sleeping, null)
    await t.clock.settle()
    const subscriber = new Subscriber(t, pathOf(run))
    await subscriber.ask()
    await t.clock.advance('3h')
    const gone = [{ headers: { control: 'must-refetch' } }, UP_TO_DATE]
    expect((await answered(t, subscriber.ask())).messages).toEqual(gone)
    const from = t.clock.now()
    expect((await answered(t, subscriber.ask())).messages).toEqual([UP_TO_DATE])
    expect(t.clock.now()).toBeGreaterThan(from)
  })

  it('leaves out the columns that are not wanted, except those without which there is no run', async () => {
    await using t = await stillEngine({ tasks: [sleeping] })
    const run = await t.engine.trigger(sleeping, null, { delay: '1h' })
    const skipped = 'payload,metadata,output,id,friendlyId,status,taskIdentifier,createdAt,updatedAt'
    const { messages } = await new Subscriber(t, `${pathOf(run)}?skipColumns=${skipped}`).ask()
    const names = Object.keys(messages[0]?.value ?? {})
    expect(names).toEqual(
      expect.arrayContaining([
        'id',
        'friendlyId',
        'status',
        'taskIdentifier',
        'createdAt',
        'updatedAt',
        'runTags',
      ]),
    )
    expect(names.filter((name) => ['payload', 'metadata', 'output'].includes(name))).toEqual([])
    await t.engine.runs.cancel(run)
  })

  it('has the headers that old clients look for', async () => {
    await using t = await stillEngine({ tasks: [sleeping] })
    const run = await t.engine.trigger(sleeping, null, { delay: '1h' })
    const { headers } = await new Subscriber(t, pathOf(run)).ask({})
    expect(headers.get('electric-chunk-last-offset')).toBe(headers.get('electric-offset'))
    expect(headers.get('electric-shape-id')).toBe(headers.get('electric-handle'))
    await t.engine.runs.cancel(run)
  })

  it('tells the failure of a run', async () => {
    const failing = bodyTask(async () => {
      throw new TypeError('wrong')
    })
    await using t = await stillEngine({ tasks: [failing] })
    const run = await t.engine.trigger(failing, null)
    await run.outcome()
    expect(columns(await new Subscriber(t, pathOf(run)).ask(), 'status', 'error')).toEqual([
      [
        'COMPLETED_WITH_ERRORS',
        {
          type: 'BUILT_IN_ERROR',
          name: 'TypeError',
          message: 'wrong',
          stackTrace: expect.any(String) as string,
        },
      ],
    ])
  })

  it('lets go of everything when its client leaves', async () => {
    await using t = await stillEngine({ tasks: [sleeping] })
    const run = await t.engine.trigger(sleeping, null, { delay: '1h' })
    const handler = createHandler(t.engine, { limits: { subscriptions: 1 } })
    const first = await handler(get(pathOf(run)))
    const live = `${pathOf(run)}?live=true&offset=${first.headers.get('electric-offset') ?? ''}`
    const atRest = t.clock.pending().length
    const controller = new AbortController()
    const asked = handler(new Request(get(live), { signal: controller.signal }))
    await turn()
    expect((await handler(get(live))).status).toBe(429)
    expect([watchers(t.engine), t.clock.pending().length]).toEqual([1, atRest + 1])
    controller.abort()
    await asked
    expect([watchers(t.engine), t.clock.pending().length]).toEqual([0, atRest])
    await t.engine.runs.cancel(run)
  })

  it('requires access to read the run', async () => {
    await using t = await stillEngine({ tasks: [sleeping] })
    const run = await t.engine.trigger(sleeping, null, { delay: '1h', tags: ['red'] })
    const handler = createHandler(t.engine)
    const statusWith = async (path: string, scope: string): Promise<number> => {
      const token = await accessToken([scope], t.clock.now())
      return (await handler(get(path, { authorization: `Bearer ${token}` }))).status
    }
    for (const scope of [`read:runs:${run.id}`, 'read:runs', `read:tasks:${sleeping.id}`, 'read:tags:red'])
      expect(await statusWith(pathOf(run), scope), scope).toBe(200)
    for (const scope of ['read:runs:run_other', 'read:tags:blue', `write:runs:${run.id}`])
      expect(await statusWith(pathOf(run), scope), scope).toBe(403)
    const byTags = '/realtime/v1/runs?tags=red,blue'
    for (const scope of ['read:runs', 'read:tags:red', 'read:tags:blue', 'read:tags'])
      expect(await statusWith(byTags, scope), scope).toBe(200)
    for (const scope of ['read:tags:green', `read:runs:${run.id}`])
      expect(await statusWith(byTags, scope), scope).toBe(403)
    expect((await handler(get(pathOf(run), { authorization: '' }))).status).toBe(401)
    expect((await handler(get(`${pathOf(run)}?offset=1`))).status).toBe(400)
    await t.engine.runs.cancel(run)
  })
})

describe('following runs by their tags', () => {
  it('shows those that have all of the tags, and tells each change once', async () => {
    await using t = await stillEngine({ tasks: [sleeping] })
    const trigger = (...tags: readonly string[]): Promise<{ readonly id: string }> =>
      t.engine.trigger(sleeping, null, { tags: [...tags], delay: '1h' })
    const one = await trigger('red', 'blue')
    const other = await trigger('red')
    const subscriber = new Subscriber(t, '/realtime/v1/runs?tags=red,blue')
    const first = await subscriber.ask()
    expect(first.headers.get('electric-handle')).toMatch(/^shape_/)
    expect(columns(first, 'friendlyId')).toEqual([[one.id]])

    const asked = subscriber.ask()
    await turn()
    await t.engine.runs.cancel(other.id)
    const late = await trigger('blue', 'green', 'red')
    expect(columns(await asked, 'friendlyId')).toEqual([[late.id]])

    await t.engine.runs.cancel(one.id)
    expect(columns(await subscriber.ask(), 'friendlyId', 'status')).toEqual([[one.id, 'CANCELED']])
    const idle = await answered(t, subscriber.ask())
    expect(idle.messages).toEqual([UP_TO_DATE])
    await t.engine.runs.cancel(late.id)
    expect(watchers(t.engine)).toBe(0)
  })

  it('shows none that are older than createdAt, a day unless it is said', async () => {
    await using t = await stillEngine({ tasks: [sleeping] })
    const old = await t.engine.trigger(sleeping, null, { tags: ['red'], delay: '30d' })
    await t.clock.advance('2h')
    const young = await t.engine.trigger(sleeping, null, { tags: ['red'], delay: '30d' })
    const shown = async (query: string): Promise<unknown> =>
      columns(await new Subscriber(t, `/realtime/v1/runs?tags=red${query}`).ask(), 'friendlyId').flat()
    expect(await shown('&createdAt=1h')).toEqual([young.id])
    expect(await shown('')).toEqual([young.id, old.id])
    await t.clock.advance('23h')
    expect(await shown('')).toEqual([young.id])
    const refused = await createHandler(t.engine)(get('/realtime/v1/runs?createdAt=soon'))
    expect([refused.status, await refused.json()]).toEqual([
      400,
      { error: expect.stringContaining('"soon"') as string },
    ])
    for (const { id } of [old, young]) await t.engine.runs.cancel(id)
  })

  it('shows everything again to a subscriber whose last answer was lost, or whom it does not know', async () => {
    await using t = await stillEngine({ tasks: [sleeping] })
    const run = await t.engine.trigger(sleeping, null, { tags: ['red'], delay: '1h' })
    const handler = createHandler(t.engine)
    const live = '/realtime/v1/runs?tags=red&live=true'
    const first = await handler(get('/realtime/v1/runs?tags=red&offset=-1'))
    const handle = first.headers.get('electric-handle') ?? ''
    const offset = first.headers.get('electric-offset') ?? ''
    await t.engine.runs.cancel(run)
    for (const _ of ['lost', 'asked again']) {
      const answer = await handler(get(`${live}&handle=${handle}&offset=${offset}`))
      expect(await answer.json()).toMatchObject([{ value: { status: 'CANCELED' } }, UP_TO_DATE])
    }
    const unknown = await handler(get(`${live}&handle=another&offset=${offset}`))
    expect(await unknown.json()).toMatchObject([{ value: { status: 'CANCELED' } }, UP_TO_DATE])
  })
})
