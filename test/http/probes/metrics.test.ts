import { channel } from 'node:diagnostics_channel'
import { describe, expect, it } from 'vitest'
import { createEngine, type EngineOptions, memoryStorage, task, wait } from 'waitpoint'
import { createHandler, type Handler } from 'waitpoint/http'
import { ask, stillEngine } from '../requests.ts'
import { readExposition } from './exposition.ts'

type Samples = Readonly<Record<string, number>>

/** The samples by their names, with labels. Throws for what `promtool check metrics` does not accept. */
async function samples(handler: Handler): Promise<Samples> {
  const { status, body, headers } = await ask(handler, 'GET /metrics')
  expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
  return readExposition(String(body))
}

/** Those whose names begin so. */
function named(found: Samples, start: string): Samples {
  return Object.fromEntries(Object.entries(found).filter(([name]) => name.startsWith(`waitpoint_${start}`)))
}

/** Whether engines publish anything for the handlers of this process. */
function isMeasured(): boolean {
  return ['run.end', 'wait', 'storage'].some((name) => channel(`waitpoint:${name}`).hasSubscribers)
}

describe('GET /metrics', () => {
  const approve = task({
    id: 'approve',
    run: async (_payload: null) => wait.forToken(await wait.createToken({ timeout: '1d' })).unwrap(),
  })
  const sleepy = task({ id: 'sleepy', run: () => wait.for({ minutes: 2 }) })

  it('counts ended runs by their status, and what executes and waits', async () => {
    const fail = task({
      id: 'fail',
      retry: { maxAttempts: 1 },
      run: async () => {
        throw new Error('no')
      },
    })
    await using t = await stillEngine({ tasks: [approve, fail], concurrency: 7 })
    const handler = createHandler(t.engine)
    expect(await samples(handler)).toMatchObject({
      'waitpoint_runs_ended_total{status="COMPLETED"}': 0,
      waitpoint_slots: 7,
      waitpoint_lease_renewals_total: expect.any(Number) as number,
    })

    const waiting = await t.engine.trigger(approve, null)
    const canceled = await t.engine.trigger(approve, null)
    const failed = await t.engine.trigger(fail, undefined)
    await t.clock.settle()
    await failed.outcome()
    await t.engine.runs.cancel(canceled.id)
    const found = await samples(handler)
    expect(named(found, 'runs_ended')).toEqual({
      'waitpoint_runs_ended_total{status="COMPLETED"}': 0,
      'waitpoint_runs_ended_total{status="FAILED"}': 1,
      'waitpoint_runs_ended_total{status="CANCELED"}': 1,
      'waitpoint_runs_ended_total{status="TIMED_OUT"}': 0,
      'waitpoint_runs_ended_total{status="EXPIRED"}': 0,
      'waitpoint_runs_ended_total{status="CRASHED"}': 0,
    })
    expect(found).toMatchObject({
      waitpoint_attempts: 1,
      waitpoint_slots_used: 0,
      waitpoint_slots: 7,
      waitpoint_attempts_waiting: 1,
      waitpoint_waits_open: 1,
      waitpoint_lease_renewals_total: expect.any(Number) as number,
      waitpoint_storage_away: 0,
      waitpoint_http_subscriptions_open: 0,
    })

    const { data } = await t.engine.wait.listTokens({ status: 'WAITING' })
    for (const token of data) await t.engine.wait.completeToken(token, 'yes')
    await waiting.result()
    expect(await samples(handler)).toMatchObject({
      'waitpoint_runs_ended_total{status="COMPLETED"}': 1,
      waitpoint_attempts: 0,
      waitpoint_attempts_waiting: 0,
      waitpoint_waits_open: 0,
    })
  })

  it('counts renewals of the lease', async () => {
    await using t = await stillEngine({ tasks: [sleepy] })
    const handler = createHandler(t.engine)
    await t.engine.trigger(sleepy, undefined)
    const before = await samples(handler)
    await t.clock.advance('2m')
    const after = await samples(handler)
    expect(after['waitpoint_lease_renewals_total']).toBeGreaterThan(
      before['waitpoint_lease_renewals_total'] ?? 0,
    )
  })

  it('has the depth and the age of the oldest run of each queue', async () => {
    const paint = task({
      id: 'paint',
      queue: { name: 'gpu', concurrencyLimit: 1 },
      run: () => wait.for({ hours: 9 }),
    })
    const mail = task({ id: 'mail', queue: { name: 'mail' }, run: async () => undefined })
    await using t = await stillEngine({ tasks: [paint, mail] })
    const handler = createHandler(t.engine)
    await t.engine.queue('gpu').pause()
    await t.engine.queue('mail').pause()
    await t.engine.trigger(paint)
    await t.clock.advance('1m')
    await t.engine.trigger(paint)
    await t.engine.trigger(paint, undefined, { queue: { name: 'of-a-trigger' } })
    await t.engine.queue('of-a-trigger').pause()
    await t.clock.advance('30s')
    expect(named(await samples(handler), 'queue')).toMatchObject({
      'waitpoint_queue_depth{queue="gpu"}': 2,
      'waitpoint_queue_depth_is_more{queue="gpu"}': 0,
      'waitpoint_queue_oldest_age_seconds{queue="gpu"}': 90,
      'waitpoint_queue_depth{queue="mail"}': 0,
    })
    expect(await samples(handler)).not.toHaveProperty('waitpoint_queue_oldest_age_seconds{queue="mail"}')
  })

  it('finds the oldest run of a queue behind many of other queues', async () => {
    const slow = task({ id: 'slow', queue: { name: 'slow' }, run: async () => undefined })
    const quick = task({ id: 'quick', queue: { name: 'quick' }, run: async () => undefined })
    await using t = await stillEngine({ tasks: [slow, quick] })
    const handler = createHandler(t.engine)
    for (const { id } of [slow, quick]) await t.engine.queue(id).pause()
    for (let run = 0; run < 150; run += 1) await t.engine.trigger(slow)
    await t.clock.advance('1m')
    await t.engine.trigger(quick)
    await t.clock.advance('1m')
    expect(await samples(handler)).toMatchObject({
      'waitpoint_queue_depth{queue="slow"}': 150,
      'waitpoint_queue_oldest_age_seconds{queue="slow"}': 120,
      'waitpoint_queue_depth{queue="quick"}': 1,
      'waitpoint_queue_oldest_age_seconds{queue="quick"}': 60,
    })
  })

  it('has histograms of how long runs, waits and storage calls took, from the first time it is asked', async () => {
    await using t = await stillEngine({ tasks: [sleepy] })
    const handler = createHandler(t.engine)
    await t.engine.trigger(sleepy)
    await t.clock.advance('2m')
    expect(named(await samples(handler), 'run_duration')).toEqual({})
    await t.engine.trigger(sleepy)
    await t.engine.trigger(sleepy)
    await t.clock.advance('2m')
    const found = await samples(handler)
    for (const name of ['waitpoint_run_duration_seconds', 'waitpoint_wait_duration_seconds'])
      expect(found).toMatchObject({
        [`${name}_bucket{task="sleepy",le="60"}`]: 0,
        [`${name}_bucket{task="sleepy",le="600"}`]: 2,
        [`${name}_bucket{task="sleepy",le="+Inf"}`]: 2,
        [`${name}_sum{task="sleepy"}`]: 240,
        [`${name}_count{task="sleepy"}`]: 2,
      })
    expect(found['waitpoint_storage_call_duration_seconds_count{call="runs.insert"}']).toBe(2)
  })

  it('tells 100 tasks apart, and says "other" of the rest; a name may have any character', async () => {
    const tasks = Array.from({ length: 103 }, (_, index) =>
      task({ id: index === 0 ? 'a "b" \\ c' : `task-${index}`, run: async () => undefined }),
    )
    await using t = await stillEngine({ tasks })
    const handler = createHandler(t.engine)
    await samples(handler)
    for (const each of tasks) await (await t.engine.trigger(each)).result()
    const found = await samples(handler)
    const counts = named(found, 'run_duration_seconds_count')
    expect(Object.keys(counts)).toHaveLength(101)
    expect(counts).toMatchObject({
      'waitpoint_run_duration_seconds_count{task="a \\"b\\" \\\\ c"}': 1,
      'waitpoint_run_duration_seconds_count{task="other"}': 3,
    })
    expect(Object.keys(named(found, 'queue_depth{'))).toHaveLength(100)
  })

  it('costs engines nothing before it is asked, ten minutes after it was asked, and after their end', async () => {
    await using one = await stillEngine({ tasks: [sleepy] })
    await using other = await stillEngine({ tasks: [sleepy], seed: 2 })
    const handler = createHandler(one.engine)
    expect(isMeasured()).toBe(false)
    await samples(handler)
    await one.clock.advance('9m')
    await samples(handler)
    await one.clock.advance('9m')
    expect(isMeasured()).toBe(true)
    await other.engine.trigger(sleepy)
    await other.clock.advance('2m')
    expect(named(await samples(handler), 'run_duration')).toEqual({})
    await one.clock.advance('10m')
    expect(isMeasured()).toBe(false)
    await samples(handler)
    expect(isMeasured()).toBe(true)
    await one.close()
    expect(isMeasured()).toBe(false)
  })

  it('answers while the storage does not', async () => {
    const storage = memoryStorage()
    const fails = (): never => {
      throw new Error('away')
    }
    const options: EngineOptions = {
      secretKey: 'sk_first',
      storage: { ...storage, runs: { ...storage.runs, list: fails } },
    }
    await using engine = createEngine(options)
    const found = await samples(createHandler(engine))
    expect(found).toMatchObject({ waitpoint_attempts: 0 })
    expect(named(found, 'queue')).toEqual({})
  })
})

describe('the reader of the exposition format', () => {
  const GOOD = '# HELP a_seconds So long.\n# TYPE a_seconds histogram\n'
  it.each([
    ['no end', 'a 1', 'end'],
    ['no help', '# TYPE a gauge\na 1\n', 'comment'],
    ['an empty help', '# HELP a \n# TYPE a gauge\na 1\n', 'empty'],
    ['no type', '# HELP a A.\na 1\n', 'type'],
    ['an unknown type', '# HELP a A.\n# TYPE a number\na 1\n', 'type'],
    ['a metric twice', '# HELP a A.\n# TYPE a gauge\na 1\n# HELP a A.\n# TYPE a gauge\na 1\n', 'twice'],
    ['a sample twice', '# HELP a A.\n# TYPE a gauge\na 1\na 1\n', 'twice'],
    ['a counter without its suffix', '# HELP a A.\n# TYPE a counter\na 1\n', 'suffix'],
    ['a gauge that looks like a counter', '# HELP a_total A.\n# TYPE a_total gauge\na_total 1\n', 'suffix'],
    ['milliseconds', '# HELP a_ms A.\n# TYPE a_ms gauge\na_ms 1\n', 'unit'],
    ['a sample of another metric', '# HELP a A.\n# TYPE a gauge\nb 1\n', 'not of'],
    ['a bare quote', '# HELP a A.\n# TYPE a gauge\na{b="c"d"} 1\n', 'labels'],
    ['no number', '# HELP a A.\n# TYPE a gauge\na one\n', 'value'],
    ['no +Inf', `${GOOD}a_seconds_bucket{le="1"} 1\na_seconds_sum 1\na_seconds_count 1\n`, 'Inf'],
    ['no sum', `${GOOD}a_seconds_bucket{le="+Inf"} 1\na_seconds_count 1\n`, 'sum'],
    [
      'buckets that go down',
      `${GOOD}a_seconds_bucket{le="1"} 2\na_seconds_bucket{le="+Inf"} 1\na_seconds_sum 1\na_seconds_count 1\n`,
      'above',
    ],
  ])('refuses %s', (_what, text, why) => {
    expect(() => readExposition(text)).toThrow(why)
  })
})
