import { type Attributes, context, diag, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { memoryStorage, task, wait } from 'waitpoint'
import { createTelemetry, type Telemetry, type TelemetryLogRecord, type TelemetryLogs } from 'waitpoint/otel'
import { createTestEngine, testClock } from 'waitpoint/testing'
import { abandonable } from '../../support/abandon.ts'

const print = task({ id: 'print', run: async (text: string) => `printed ${text}` })
const review = task({
  id: 'review',
  run: async (doc: string) => {
    await wait.for({ seconds: 10 })
    const token = await wait.createToken({ timeout: '7d', tags: ['review'] })
    const { by } = await wait.forToken<{ by: string }>(token).unwrap()
    return print.triggerAndWait(`${doc}, by ${by}`).unwrap()
  },
})
const tasks = [review, print]

interface MeasuredPoint {
  readonly attributes: Attributes
  readonly value: unknown
}

/** The exporter and the telemetry of one process. */
interface Process extends Disposable {
  readonly telemetry: Telemetry
  readonly spans: () => readonly ReadableSpan[]
  readonly tracer: ReturnType<BasicTracerProvider['getTracer']>
}

function startProcess(): Process {
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  const telemetry = createTelemetry({ tracerProvider, propagator: new W3CTraceContextPropagator() })
  return {
    telemetry,
    spans: () => exporter.getFinishedSpans(),
    tracer: tracerProvider.getTracer('app'),
    [Symbol.dispose]: () => telemetry.close(),
  }
}

const msOf = ([seconds, nanos]: readonly [number, number]): number => seconds * 1_000 + nanos / 1_000_000

/** Each span as a path of names from the root, with its begin and end in seconds; spans that nothing exported are `?`. */
function pathsOf(spans: readonly ReadableSpan[], startedAt: number): string[] {
  const byId = new Map(spans.map((span) => [span.spanContext().spanId, span]))
  const pathOf = (span: ReadableSpan): string => {
    const { parentSpanContext } = span
    if (parentSpanContext === undefined) return span.name
    const parent = byId.get(parentSpanContext.spanId)
    return `${parent === undefined ? '?' : pathOf(parent)} › ${span.name}`
  }
  const at = (time: readonly [number, number]): number => (msOf(time) - startedAt) / 1_000
  return spans.map((span) => `${pathOf(span)} ${at(span.startTime)}–${at(span.endTime)}`)
}

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
})

afterAll(() => {
  context.disable()
})

describe('createTelemetry', () => {
  it('makes one trace of a run, its attempts, waits and children, over a crash and a restart', async () => {
    const storage = memoryStorage()
    const clock = testClock({ mode: 'manual' })
    const startedAt = clock.now()
    let first: readonly ReadableSpan[]
    let runId: string
    {
      using process = startProcess()
      const ports = abandonable(clock, storage)
      const t = await createTestEngine({ tasks, storage: ports.storage, clock: ports.clock, seed: 'first' })
      const run = await process.tracer.startActiveSpan('request', async (span) => {
        const triggered = await t.engine.trigger(review, 'd1')
        span.end(new Date(clock.now()))
        return triggered
      })
      runId = run.id
      run.result().catch(() => undefined)
      await clock.advance('60s')
      // The run waits for its token. The process is killed: the spans of attempt and wait are never exported.
      ports.abandon()
      first = process.spans()
    }
    using process = startProcess()
    await using t = await createTestEngine({ tasks, storage, clock, seed: 'second' })
    await clock.advance('60s')
    const [token] = (await t.engine.wait.listTokens({ tags: ['review'] })).data
    await t.engine.wait.completeToken(token!, { by: 'Ada' })
    await clock.advance('1s')
    expect(await t.engine.runs.retrieve(runId)).toMatchObject({ output: 'printed d1, by Ada' })

    const all = [...first, ...process.spans()]
    const [root] = all.filter(({ name }) => name === 'request')
    expect(new Set(all.map((span) => span.spanContext().traceId))).toEqual(
      new Set([root!.spanContext().traceId]),
    )
    const second = 'request › trigger review › execute review'
    const paths = pathsOf(all.filter(({ name }) => name !== 'request').concat(root!), startedAt)
    expect(paths.filter((path) => !/^request \d/.test(path)).toSorted()).toEqual(
      [
        'request › trigger review 0–0',
        // Of the attempt that was killed only the wait that had ended.
        '? › sleep 0–10',
        // The second attempt shows both waits as they were, also the part that no process exported.
        `${second} 120–120`,
        `${second} › sleep 0–10`,
        `${second} › wait for token 10–120`,
        `${second} › trigger print 120–120`,
        `${second} › trigger print › execute print 120–120`,
        `${second} › wait for run 120–120`,
      ].toSorted(),
    )
  })

  it('says how attempts ended, in the words of messaging', async () => {
    const flaky = task({
      id: 'flaky',
      retry: { maxAttempts: 2, minTimeoutInMs: 1_000, randomize: false },
      run: async (_payload: null, { ctx }) => {
        if (ctx.attempt.number === 1) throw new TypeError('busy')
        return 'well'
      },
    })
    const sleepy = task({ id: 'sleepy', run: () => wait.for({ days: 1 }) })
    using process = startProcess()
    await using t = await createTestEngine({ tasks: [flaky, sleepy], clock: { mode: 'manual' } })
    const run = await t.engine.trigger(flaky, null)
    await t.clock.advance('2s')
    const asleep = await t.engine.trigger(sleepy, undefined)
    await t.clock.advance('1s')
    await t.engine.runs.cancel(asleep.id)
    await t.clock.settle()

    const [trigger, failed, well] = process.spans()
    expect(trigger).toMatchObject({
      name: 'trigger flaky',
      kind: SpanKind.PRODUCER,
      attributes: {
        'messaging.system': 'waitpoint',
        'messaging.operation.type': 'create',
        'messaging.destination.name': 'flaky',
        'messaging.message.id': run.id,
      },
    })
    expect(failed).toMatchObject({
      name: 'execute flaky',
      kind: SpanKind.CONSUMER,
      status: { code: SpanStatusCode.ERROR, message: 'busy' },
      attributes: {
        'messaging.operation.type': 'process',
        'waitpoint.attempt.number': 1,
        'waitpoint.attempt.outcome': 'threw',
        'error.type': 'TypeError',
      },
    })
    expect(failed?.events.map(({ name }) => name)).toEqual(['exception'])
    expect(well).toMatchObject({
      status: { code: SpanStatusCode.UNSET },
      attributes: { 'waitpoint.attempt.number': 2, 'waitpoint.attempt.outcome': 'returned' },
    })
    const [, left, aborted] = process.spans().slice(3)
    expect(left).toMatchObject({ name: 'sleep', kind: SpanKind.INTERNAL })
    expect(left?.attributes).not.toHaveProperty('waitpoint.token.status')
    expect(aborted).toMatchObject({
      name: 'execute sleepy',
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'waitpoint.attempt.outcome': 'aborted' },
    })
    expect(aborted?.events.map(({ name }) => name)).toEqual(['park', 'exception'])
  })

  it('measures how long runs are queued, execute and wait, and counts how they ended', async () => {
    const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
    const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 2 ** 30 })
    const meterProvider = new MeterProvider({ readers: [reader] })
    using _telemetry = createTelemetry({ meterProvider })
    /** The points of a metric: its sum, or the sum of a histogram, by the values of the attributes. */
    const measured = async (metric: string): Promise<Readonly<Record<string, number>>> => {
      await meterProvider.forceFlush()
      const points = exporter
        .getMetrics()
        .at(-1)!
        .scopeMetrics.flatMap(({ metrics }) => metrics)
        .filter(({ descriptor }) => descriptor.name === metric)
        .flatMap(({ dataPoints }): readonly MeasuredPoint[] => dataPoints)
      // A histogram has an object for its value.
      const sumOf = (value: unknown): number =>
        typeof value === 'number' ? value : ((value as { readonly sum?: number }).sum ?? Number.NaN)
      return Object.fromEntries(
        points.map(({ attributes, value }) => [Object.values(attributes).join(' '), sumOf(value)] as const),
      )
    }

    await using t = await createTestEngine({ tasks, clock: { mode: 'manual' }, concurrency: 1 })
    const slow = await t.engine.trigger(review, 'd1', { delay: '5s' })
    await t.clock.advance('6s')
    expect(await measured('waitpoint.waits.open')).toEqual({ '': 1 })
    expect(await measured('waitpoint.attempts.executing')).toEqual({ review: 0 })
    await t.clock.advance('60s')
    const [token] = (await t.engine.wait.listTokens({ tags: ['review'] })).data
    await t.engine.wait.completeToken(token!, { by: 'Ada' })
    await t.clock.advance('1s')
    await slow.result()
    const canceled = await t.engine.trigger(review, 'd2')
    await t.clock.advance('1s')
    await t.engine.runs.cancel(canceled.id)
    await t.clock.settle()

    expect(await measured('waitpoint.runs.triggered')).toEqual({ review: 2, print: 1 })
    expect(await measured('waitpoint.runs.ended')).toEqual({
      'review COMPLETED': 1,
      'print COMPLETED': 1,
      'review CANCELED': 1,
    })
    // Due after its delay, not from its trigger on. Without a propagator only delayed runs carry something.
    expect(await measured('waitpoint.run.queued')).toEqual({ review: 0 })
    expect(await measured('waitpoint.run.duration')).toMatchObject({
      'review COMPLETED': 66,
      'review CANCELED': 1,
    })
    expect(await measured('waitpoint.attempt.waiting')).toEqual({
      'review returned': 61,
      'print returned': 0,
      'review aborted': 1,
    })
    expect(await measured('waitpoint.attempt.executing')).toMatchObject({ 'review returned': 0 })
    expect(await measured('waitpoint.waits.open')).toEqual({ '': 0 })
    expect(await measured('waitpoint.attempts.executing')).toEqual({ review: 0, print: 0 })
    expect(await measured('waitpoint.tokens.settled')).toEqual({
      'SLEEP COMPLETED': 1,
      'MANUAL COMPLETED': 1,
    })
    expect(await measured('waitpoint.leases')).toHaveProperty('renewed')
    expect(await measured('waitpoint.storage.call.duration')).toHaveProperty('runs.insert')

    // A run that is found was made before: by its key, by its debounce, or by an earlier attempt of its parent.
    const [found, pushed] = [{ idempotencyKey: 'k' }, { debounce: { key: 'd', delay: '1s' } }]
    for (const options of [found, found, pushed, pushed]) await t.engine.trigger(print, 'd3', options)
    expect((await t.engine.runs.list({ taskIdentifier: 'print' })).data).toHaveLength(3)
    expect(await measured('waitpoint.runs.triggered')).toEqual({ review: 2, print: 3 })
    await t.clock.advance('2s')
    await meterProvider.shutdown()
  })

  it('gives the lines of a task to a logger, in the context of its attempt', async () => {
    const logging = task({
      id: 'logging',
      run: async (_payload: null, { logger }) => logger.warn('slow', { ms: 5 }),
    })
    const records: TelemetryLogRecord[] = []
    const names: string[] = []
    const loggerProvider: TelemetryLogs = {
      getLogger: (name) => {
        names.push(name)
        return { emit: (record) => void records.push(record) }
      },
    }
    using process = startProcess()
    using _telemetry = createTelemetry({ loggerProvider, tracerProvider: new BasicTracerProvider() })
    await using t = await createTestEngine({ tasks: [logging] })
    t.engine.on('log', () => undefined)
    const run = await t.engine.trigger(logging, null)
    await run.result()
    expect(names).toEqual(['waitpoint'])
    expect(records).toMatchObject([
      {
        timestamp: new Date(t.clock.now()),
        severityNumber: 13,
        severityText: 'WARN',
        body: 'slow',
        attributes: { ms: 5, 'waitpoint.run.id': run.id, 'waitpoint.attempt.number': 1 },
      },
    ])
    const execute = process.spans().find(({ name }) => name === 'execute logging')
    expect(trace.getSpanContext(records[0]!.context)?.spanId).toBe(execute?.spanContext().spanId)
  })

  it('hears nothing any more once it is closed', async () => {
    using process = startProcess()
    await using t = await createTestEngine({ tasks: [print] })
    process.telemetry.close()
    process.telemetry.close()
    await (await t.engine.trigger(print, 'd1')).result()
    expect(process.spans()).toEqual([])
  })

  it('goes on with the work when a propagator throws, and says so', async () => {
    const told: unknown[] = []
    const say = (...about: unknown[]): void => void told.push(about)
    diag.setLogger({ error: say, warn: say, info: say, debug: say, verbose: say })
    told.length = 0
    const propagator = new W3CTraceContextPropagator()
    propagator.inject = () => {
      throw new Error('broken')
    }
    using _telemetry = createTelemetry({ propagator })
    await using t = await createTestEngine({ tasks: [print] })
    expect(await (await t.engine.trigger(print, 'd1')).result()).toBe('printed d1')
    diag.disable()
    expect(told).toEqual([['waitpoint/otel', expect.objectContaining({ message: 'broken' })]])
  })

  it.each([
    ['a misspelt option', { tracer: 1 }],
    ['a tracer for a provider', { tracerProvider: { startSpan: () => undefined } }],
    ['no propagator', { propagator: {} }],
  ])('refuses options that cannot be used: %s', (_name, options) => {
    expect(() => createTelemetry(options as never)).toThrow(TypeError)
  })
})
