import type { Untyped } from './untyped.ts'

/** An instrument of OpenTelemetry that records nothing. */
interface Instrument {
  add(value: number, attributes?: Untyped, context?: Untyped): void
  record(value: number, attributes?: Untyped, context?: Untyped): void
  addCallback(callback: (result: ObservableResult) => void | Promise<void>): void
  removeCallback(callback: (result: ObservableResult) => void | Promise<void>): void
}

interface ObservableResult {
  observe(value: number, attributes?: Untyped): void
}

type BatchCallback = (result: {
  observe(instrument: Untyped, value: number, attributes?: Untyped): void
}) => void | Promise<void>

/** A meter whose instruments record nothing. */
export interface TaskMeter {
  createCounter(name: string, options?: object): Instrument
  createUpDownCounter(name: string, options?: object): Instrument
  createHistogram(name: string, options?: object): Instrument
  createGauge(name: string, options?: object): Instrument
  createObservableCounter(name: string, options?: object): Instrument
  createObservableUpDownCounter(name: string, options?: object): Instrument
  createObservableGauge(name: string, options?: object): Instrument
  addBatchObservableCallback(callback: BatchCallback, instruments: Untyped[]): void
  removeBatchObservableCallback(callback: BatchCallback, instruments: Untyped[]): void
}

/** `otel.metrics`. */
export interface TaskMetrics {
  getMeter(name: string, version?: string, options?: object): TaskMeter
  getMeterProvider(): { getMeter(name: string, version?: string, options?: object): TaskMeter }
  /** Without effect: answers `false`. */
  setGlobalMeterProvider(provider: object): boolean
  disable(): void
}

const nothing = (): void => undefined
const instrument: Instrument = {
  add: nothing,
  record: nothing,
  addCallback: nothing,
  removeCallback: nothing,
}
const create = (): Instrument => instrument
const meter: TaskMeter = {
  createCounter: create,
  createUpDownCounter: create,
  createHistogram: create,
  createGauge: create,
  createObservableCounter: create,
  createObservableUpDownCounter: create,
  createObservableGauge: create,
  addBatchObservableCallback: nothing,
  removeBatchObservableCallback: nothing,
}
const provider = { getMeter: (): TaskMeter => meter }

/** Metrics that go nowhere: `@opentelemetry/api`, which has those that do, may not be installed. */
export const taskMetrics: TaskMetrics = {
  ...provider,
  getMeterProvider: () => provider,
  setGlobalMeterProvider: () => false,
  disable: nothing,
}
