import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createHandler, type Handler } from 'waitpoint/http'
import { memoryStorage } from '../../../src/storage/memory/memory.ts'
import { kernelOf } from '../../../src/core/engine.ts'
import { bodyTask } from '../../support/body-task.ts'
import { countText } from '../../support/text-count.ts'
import { steeredStorage } from '../../support/steered-storage.ts'
import { ask, stillEngine } from '../requests.ts'
import { get } from '../server-events.ts'
import { type Answer, answered, columns, Subscriber } from '../shape-subscriber.ts'
import { turn } from '../../support/turn.ts'

const sleeping = bodyTask(async ({ wait }) => wait.for({ hours: 1 }))
const RED = '/realtime/v1/runs?tags=red'

/** Announces a batch; answers its id. */
async function announce(handler: Handler, runCount: number): Promise<string> {
  const { body } = await ask(handler, 'POST /api/v3/batches', { body: { runCount } })
  return (body as { readonly id: string }).id
}

/** Sends the items of a batch, each with these options. */
function send(
  handler: Handler,
  { batch, places, options = {} }: { batch: string; places: readonly number[]; options?: object },
): Promise<unknown> {
  const lines = places.map((index) => JSON.stringify({ index, task: sleeping.id, payload: index, options }))
  return ask(handler, `POST /api/v3/batches/${batch}/items`, { body: lines.join('\n') })
}

const payloads = (answer: Answer): unknown[] => columns(answer, 'payload').flat()

describe('a subscriber to a set of runs', () => {
  it('reads one run after the change of one run, whatever the set has and however many follow it', async () => {
    const { storage, calls } = steeredStorage(memoryStorage())
    await using t = await stillEngine({ tasks: [sleeping], storage })
    const trigger = (tag: string): Promise<{ readonly id: string }> =>
      t.engine.trigger(sleeping, null, { tags: [tag], delay: '1h' })
    const [first, other] = [await trigger('red'), await trigger('blue')]
    for (let count = 0; count < 20; count++) await trigger('red')
    const handler = createHandler(t.engine)
    const subscribers = Array.from({ length: 10 }, () => new Subscriber(t, RED, handler))
    for (const subscriber of subscribers) await subscriber.ask()

    const asked = subscribers.map((subscriber) => subscriber.ask())
    await turn()
    const from = calls.length
    const reads = (): readonly string[] =>
      calls.slice(from).filter((name) => name === 'runs.get' || name === 'runs.list')
    await t.engine.runs.cancel(other.id)
    await turn()
    // The cancel has read it once, too.
    expect(reads()).toEqual(['runs.get', 'runs.get'])
    await t.engine.runs.cancel(first.id)
    for (const answer of await Promise.all(asked))
      expect(columns(answer, 'friendlyId', 'status')).toEqual([[first.id, 'CANCELED']])
    expect(reads()).toEqual(Array.from({ length: 4 }, () => 'runs.get'))
  })

  it('gets many large runs row by row, as fast as it reads, and each of them once', async () => {
    const steered = steeredStorage(memoryStorage())
    await using t = await stillEngine({ tasks: [sleeping], storage: steered.storage })
    const large = 'x'.repeat(1_000_000)
    const ids: string[] = []
    for (let count = 0; count < 20; count++)
      ids.unshift((await t.engine.trigger(sleeping, large as never, { tags: ['red'], delay: '9h' })).id)
    using work = countText()
    const { status, headers, body } = await createHandler(t.engine)(get(RED))
    expect(status).toBe(200)
    // Up to some megabytes are kept; what is beyond them is read again when it is sent.
    const reads = (): number => steered.calls.filter((name) => name === 'runs.get').length
    expect(reads()).toBe(0)
    const reader: ReadableStreamDefaultReader<Uint8Array> = body!.getReader()
    const pieces: Uint8Array[] = [(await reader.read()).value ?? new Uint8Array()]
    expect(work.characters).toBeLessThan(4_000_000)
    // One that is gone by then is left out.
    await t.engine.runs.cancel(ids.at(-1) ?? '')
    await steered.storage.prune({ before: t.clock.now() + 1, limit: 100, now: t.clock.now() })
    for (let read = await reader.read(); !read.done; read = await reader.read()) pieces.push(read.value)
    const messages = JSON.parse(Buffer.concat(pieces).toString()) as { value?: { id: string } }[]
    expect(messages.map(({ value }) => value?.id)).toEqual([...ids.slice(0, -1), undefined])
    expect(reads()).toBeGreaterThan(10)
    expect(headers.get('electric-offset')).toMatch(/^\d+_1$/)
  })

  it('misses no change and is told none twice, whether it is known what changed or not', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('trigger', 'cancel', 'lost', 'ask', 'wait'), { maxLength: 25 }),
        async (steps) => {
          await using t = await stillEngine({ tasks: [sleeping] })
          const live: string[] = []
          const subscriber = new Subscriber(t, RED)
          const told = new Set<string>()
          const take = (answer: Answer): void => {
            for (const row of columns(answer, 'friendlyId', 'status').map(String)) {
              expect(told).not.toContain(row)
              told.add(row)
            }
          }
          take(await subscriber.ask())
          for (const step of steps) {
            if (step === 'trigger')
              live.push((await t.engine.trigger(sleeping, null, { tags: ['red'], delay: '9h' })).id)
            else if (step === 'cancel')
              await t.engine.runs.cancel(live.pop() ?? 'none').catch(() => undefined)
            else if (step === 'lost') kernelOf(t.engine).publisher.wakeAll()
            else if (step === 'wait') await t.clock.advance('2m')
            else take(await answered(t, subscriber.ask()))
          }
          take(await answered(t, subscriber.ask()))
          const { data } = await t.engine.runs.list({ limit: 100 })
          const last = [...subscriber.rows.values()].map(
            (row) => `${String(row['friendlyId'])} ${String(row['status'])}`,
          )
          expect(last.sort()).toEqual(data.map(({ id, status }) => `${id} ${status}`).sort())
          for (const id of live) await t.engine.runs.cancel(id)
        },
      ),
      { numRuns: 30 },
    ))

  it('finds a change without a hint within a minute', async () => {
    await using t = await stillEngine({ tasks: [sleeping] })
    const run = await t.engine.trigger(sleeping, null, { tags: ['red'], delay: '9h' })
    const subscriber = new Subscriber(t, RED)
    await subscriber.ask()
    const { host } = kernelOf(t.engine)
    const { updatedAt: from } = await t.engine.runs.retrieve(run.id)
    await host.storage.runs.update({
      id: run.id,
      expected: { status: ['DELAYED'] },
      change: { metadataJson: '{"silent":true}' },
      by: host.owner,
      now: host.now(),
    })
    let answer = await answered(t, subscriber.ask())
    while (payloads(answer).length === 0) answer = await answered(t, subscriber.ask())
    expect(columns(answer, 'metadata')).toEqual([['{"silent":true}']])
    expect(t.clock.now() - from.getTime()).toBeLessThan(90_000)
    await t.engine.runs.cancel(run)
  })
})

describe('a subscriber to a batch', () => {
  it('is shown the runs of the batch as they are sent, each change of theirs, and no other runs', async () => {
    await using t = await stillEngine({ tasks: [sleeping] })
    const handler = createHandler(t.engine)
    const batch = await announce(handler, 3)
    const subscriber = new Subscriber(t, `/realtime/v1/batches/${batch}`, handler)
    expect(payloads(await subscriber.ask())).toEqual([])

    const asked = subscriber.ask()
    await turn()
    const other = await t.engine.trigger(sleeping, null, { delay: '1h' })
    await send(handler, { batch, places: [1], options: { delay: '1h' } })
    expect(payloads(await asked)).toEqual(['1'])
    await send(handler, { batch, places: [2, 0], options: { delay: '1h' } })
    expect(payloads(await subscriber.ask()).sort()).toEqual(['0', '2'])
    expect(payloads(await new Subscriber(t, `/realtime/v1/batches/${batch}`, handler).ask())).toEqual([
      '0',
      '1',
      '2',
    ])

    const run = [...subscriber.rows.values()].find((row) => row['payload'] === '2')
    await t.engine.runs.cancel(String(run?.['friendlyId']))
    expect(columns(await subscriber.ask(), 'payload', 'status')).toEqual([['2', 'CANCELED']])
    expect(payloads(await answered(t, subscriber.ask()))).toEqual([])
    for (const row of subscriber.rows.values()) await t.engine.runs.cancel(String(row['friendlyId']))
    await t.engine.runs.cancel(other)
  })

  it('is shown a run that was there already, under its idempotency key', async () => {
    await using t = await stillEngine({ tasks: [sleeping] })
    const handler = createHandler(t.engine)
    const known = await t.engine.trigger(sleeping, null, { idempotencyKey: 'k', delay: '1h' })
    const batch = await announce(handler, 1)
    const subscriber = new Subscriber(t, `/realtime/v1/batches/${batch}`, handler)
    await subscriber.ask()
    const asked = subscriber.ask()
    await turn()
    await send(handler, { batch, places: [0], options: { idempotencyKey: 'k' } })
    expect(columns(await asked, 'friendlyId')).toEqual([[known.id]])
    await t.engine.runs.cancel(known)
  })

  it('is told that there is no such batch', async () => {
    await using t = await stillEngine()
    const { status, body } = await ask(createHandler(t.engine), 'GET /realtime/v1/batches/batch_other')
    expect([status, body]).toEqual([404, { error: 'Batch not found' }])
  })

  it('counts against the subscriptions of its credential', async () => {
    await using t = await stillEngine()
    const handler = createHandler(t.engine, { limits: { subscriptions: 1 } })
    const path = `/realtime/v1/batches/${await announce(handler, 1)}`
    const subscriber = new Subscriber(t, path, handler)
    await subscriber.ask()
    const asked = subscriber.ask()
    await turn()
    expect((await ask(handler, `GET ${path}?live=true&offset=0_1`)).status).toBe(429)
    await answered(t, asked)
  })
})
