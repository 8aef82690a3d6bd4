import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import {
  diag,
  type MeterProvider,
  metrics as metricsApi,
  type TextMapPropagator,
  trace,
  type TracerProvider,
} from '@opentelemetry/api'
import type { DiagnosticMessages } from '../../api/diagnostics.ts'
import { type OptionNames, requireMethods, requireOptions } from '../../primitives/require.ts'
import { logRecordOf, type TelemetryLogs } from './log-records.ts'
import { Metrics } from './metrics.ts'
import { Traces } from './traces.ts'

/** Options of `createTelemetry`; all have defaults. */
export interface TelemetryOptions {
  /**
   * Makes the tracer.
   *
   * @default the global one
   */
  readonly tracerProvider?: TracerProvider
  /**
   * Makes the meter.
   *
   * @default the global one
   */
  readonly meterProvider?: MeterProvider
  /**
   * Makes the logger that gets the lines of tasks: a `LoggerProvider` of `@opentelemetry/api-logs`.
   *
   * @default none
   */
  readonly loggerProvider?: TelemetryLogs
  /**
   * How a trace context is written into the text map that is stored with a run.
   *
   * @default the global one
   */
  readonly propagator?: TextMapPropagator
}

/** Traces and metrics of the engines of this process. */
export interface Telemetry extends Disposable {
  /** Stops listening. Spans that are open are left to their exporter. */
  close(): void
}

const NAMES: OptionNames<TelemetryOptions> = {
  tracerProvider: true,
  meterProvider: true,
  loggerProvider: true,
  propagator: true,
}
const SCOPE = 'waitpoint'

/**
 * Makes OpenTelemetry spans, metrics and log records of everything that the engines of this process do: one trace from the trigger of a
 * run over its attempts, waits and children, also in other processes. To be called after the SDK was started and before
 * the first trigger. See docs/operations.md#opentelemetry.
 *
 * @throws TypeError for options that cannot be used.
 *
 * @example
 * ```ts
 * const telemetry = createTelemetry()
 * telemetry.close()
 * ```
 */
export function createTelemetry(options: TelemetryOptions = {}): Telemetry {
  requireOptions(options, 'the options of createTelemetry', NAMES)
  const { tracerProvider = trace, meterProvider = metricsApi, loggerProvider, propagator } = options
  requireMethods(tracerProvider, 'tracerProvider', ['getTracer'])
  requireMethods(meterProvider, 'meterProvider', ['getMeter'])
  if (loggerProvider !== undefined) requireMethods(loggerProvider, 'loggerProvider', ['getLogger'])
  if (propagator !== undefined) requireMethods(propagator, 'propagator', ['inject', 'extract'])
  const traces = new Traces(tracerProvider.getTracer(SCOPE), propagator)
  const metrics = new Metrics(meterProvider.getMeter(SCOPE))
  const logger = loggerProvider?.getLogger(SCOPE)
  const removals = [
    listen('waitpoint:run.trigger', (message) => {
      traces.trigger(message)
      metrics.trigger(message)
    }),
    listen('waitpoint:run.create', (message) => metrics.create(message)),
    listen('waitpoint:run.end', (message) => metrics.end(message)),
    listen('waitpoint:attempt', (message) => {
      traces.attempt(message)
      metrics.attempt(message)
    }),
    listen('waitpoint:wait', (message) => {
      traces.wait(message)
      metrics.wait(message)
    }),
    listen('waitpoint:token.settle', (message) => metrics.settle(message)),
    listen('waitpoint:storage', (message) => metrics.storage(message)),
    listen('waitpoint:lease', (message) => metrics.lease(message)),
    ...(logger === undefined
      ? []
      : [listen('waitpoint:log', (message) => logger.emit(logRecordOf(message)))]),
  ]
  const close = (): void => {
    for (const remove of removals.splice(0)) remove()
  }
  return { close, [Symbol.dispose]: close }
}

/** A subscriber must not throw: that would be an uncaught exception of the process. */
function listen<Name extends keyof DiagnosticMessages>(
  name: Name,
  hear: (message: DiagnosticMessages[Name]) => void,
): () => void {
  const listener = (message: unknown): void => {
    try {
      // An engine publishes only these on the channel.
      hear(message as DiagnosticMessages[Name])
    } catch (error) {
      diag.error('waitpoint/otel', error)
    }
  }
  subscribe(name, listener)
  return () => void unsubscribe(name, listener)
}
