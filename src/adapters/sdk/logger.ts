import { logger } from '../../core/ambient/logger.ts'
import { takingRequests } from './request-options.ts'
import type { Untyped } from './untyped.ts'

/** A level of `logLevel` in a configuration. */
export type LoggerLevel = 'none' | 'error' | 'warn' | 'info' | 'debug' | 'log'

/** A span of a trace. Nothing is traced here: its functions do nothing. */
export interface TraceSpan {
  spanContext(): { traceId: string; spanId: string; traceFlags: number }
  setAttribute(key: string, value: Untyped): this
  setAttributes(attributes: Untyped): this
  addEvent(name: string, attributesOrStartTime?: Untyped, startTime?: Untyped): this
  addLink(link: Untyped): this
  addLinks(links: Untyped[]): this
  setStatus(status: { code: number; message?: string }): this
  updateName(name: string): this
  end(endTime?: Untyped): void
  isRecording(): boolean
  recordException(exception: Untyped, time?: Untyped): void
}

type Properties = Record<string, unknown>

/** Logs lines of the run, as `logger` of the engine does. */
export interface TaskLogger {
  debug(message: string, properties?: Properties): void
  log(message: string, properties?: Properties): void
  info(message: string, properties?: Properties): void
  warn(message: string, properties?: Properties): void
  error(message: string, properties?: Properties): void
  /** Calls a function with a span that records nothing. */
  trace<Result>(name: string, work: (span: TraceSpan) => Promise<Result>, options?: object): Promise<Result>
  startSpan(name: string, options?: object): TraceSpan
}

const span: TraceSpan = {
  spanContext: () => ({ traceId: '0'.repeat(32), spanId: '0'.repeat(16), traceFlags: 0 }),
  setAttribute: () => span,
  setAttributes: () => span,
  addEvent: () => span,
  addLink: () => span,
  addLinks: () => span,
  setStatus: () => span,
  updateName: () => span,
  end: () => undefined,
  isRecording: () => false,
  recordException: () => undefined,
}

/** `logger`. */
export const hostedLogger: TaskLogger = /* @__PURE__ */ takingRequests<TaskLogger>({
  debug: (message, properties) => logger.debug(message, properties),
  log: (message, properties) => logger.info(message, properties),
  info: (message, properties) => logger.info(message, properties),
  warn: (message, properties) => logger.warn(message, properties),
  error: (message, properties) => logger.error(message, properties),
  trace: async (_name, work) => work(span),
  startSpan: () => span,
})
