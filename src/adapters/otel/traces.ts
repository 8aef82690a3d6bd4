import {
  type Attributes,
  type Context,
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TextMapPropagator,
  trace,
  type Tracer,
} from '@opentelemetry/api'
import type {
  AttemptBeginMessage,
  AttemptEndMessage,
  AttemptMessage,
  RunTriggerMessage,
  TraceCarrier,
  WaitMessage,
} from '../../api/diagnostics.ts'
import type { TokenKind } from '../../contract/records.ts'
import { errorType, runAttributes } from './attributes.ts'
import { DUE_AT } from './due-at.ts'

/** An attempt that is under way. */
interface TracedAttempt {
  readonly span: Span
  readonly context: Context
  readonly begin: AttemptBeginMessage
  /** By the wait. */
  readonly waits: Map<object, Span>
}

const WAIT_NAMES: Readonly<Record<TokenKind, string>> = {
  MANUAL: 'wait for token',
  INPUT: 'wait for message',
  SLEEP: 'sleep',
  RUN: 'wait for run',
  ONCE: 'wait for token',
  BINDING: 'wait for token',
}

/**
 * Makes the spans: one for the trigger of a run, whose context is stored with the run; one for each attempt, below it;
 * one for each wait, below its attempt. The function of a task is called in the context of its attempt, so that the
 * children that it triggers are below that.
 */
export class Traces {
  readonly #tracer: Tracer
  readonly #propagator: Pick<TextMapPropagator<TraceCarrier>, 'inject' | 'extract'>
  readonly #attempts = new WeakMap<object, TracedAttempt>()

  constructor(tracer: Tracer, propagator: TextMapPropagator | undefined) {
    this.#tracer = tracer
    this.#propagator = propagator ?? globalPropagator
  }

  trigger(message: RunTriggerMessage): void {
    const attributes = {
      ...runAttributes(message.run, message.engine),
      'messaging.operation.type': 'create',
      'messaging.operation.name': 'trigger',
    }
    const at = new Date(message.at)
    const active = context.active()
    const options = { kind: SpanKind.PRODUCER, startTime: at, attributes }
    const span = this.#tracer.startSpan(`trigger ${message.run.taskId}`, options, active)
    this.#propagator.inject(trace.setSpan(active, span), message.carrier, SETTER)
    span.end(at)
  }

  attempt(message: AttemptMessage): void {
    if (message.phase === 'begin') this.#begin(message)
    else if (message.phase === 'end') this.#end(message)
    else this.#attempts.get(message.attempt)?.span.addEvent(message.phase, new Date(message.at))
  }

  #begin(message: AttemptBeginMessage): void {
    const attributes = {
      ...runAttributes(message.run, message.engine),
      'messaging.operation.type': 'process',
      'messaging.operation.name': 'execute',
      'waitpoint.attempt.number': message.run.attempt,
      'waitpoint.attempt.policy_number': message.run.policyAttempt,
    }
    const { carrier } = message
    const parent =
      carrier === undefined ? ROOT_CONTEXT : this.#propagator.extract(ROOT_CONTEXT, carrier, GETTER)
    const options = { kind: SpanKind.CONSUMER, startTime: new Date(message.at), attributes }
    const span = this.#tracer.startSpan(`execute ${message.run.taskId}`, options, parent)
    const own = trace.setSpan(parent, span)
    this.#attempts.set(message.attempt, { span, context: own, begin: message, waits: new Map() })
    const { call } = message
    message.call = () => context.with(own, call)
  }

  #end({ attempt, at, outcome, error }: AttemptEndMessage): void {
    const traced = this.#attempts.get(attempt)
    if (traced === undefined) return
    this.#attempts.delete(attempt)
    const { span, waits } = traced
    const endedAt = new Date(at)
    // The run no longer waits for these, or waits anew in its next attempt.
    for (const wait of waits.values()) wait.end(endedAt)
    span.setAttribute('waitpoint.attempt.outcome', outcome)
    if (outcome !== 'returned') fail(span, error, endedAt)
    span.end(endedAt)
  }

  wait(message: WaitMessage): void {
    const traced = this.#attempts.get(message.attempt)
    if (traced === undefined) return
    const { waits } = traced
    const span = waits.get(message.wait) ?? this.#beginWait(message, traced)
    if (message.phase === 'begin') {
      waits.set(message.wait, span)
      return
    }
    waits.delete(message.wait)
    span.setAttribute('waitpoint.token.status', message.token?.status ?? 'DROPPED')
    span.end(new Date(message.token?.completedAt ?? message.at))
  }

  #beginWait({ token, tokenId, at }: WaitMessage, { begin, context: own }: TracedAttempt): Span {
    const attributes: Attributes = {
      'waitpoint.run.id': begin.run.id,
      'waitpoint.token.id': tokenId,
      ...(token === undefined ? {} : { 'waitpoint.token.kind': token.kind }),
    }
    // The process in which this wait began is gone, and its span with it: this one takes its place.
    const isAgain = begin.run.attempt > begin.run.policyAttempt
    const since = isAgain && token !== undefined ? Math.max(token.createdAt, begin.run.createdAt) : at
    const startTime = new Date(Math.min(since, token?.completedAt ?? at))
    const name = token === undefined ? 'wait' : WAIT_NAMES[token.kind]
    return this.#tracer.startSpan(name, { kind: SpanKind.INTERNAL, startTime, attributes }, own)
  }
}

function fail(span: Span, error: unknown, at: Date): void {
  span.setAttribute('error.type', errorType(error))
  if (error instanceof Error) span.recordException(error, at)
  span.setStatus({
    code: SpanStatusCode.ERROR,
    ...(error instanceof Error ? { message: error.message } : {}),
  })
}

const globalPropagator: Pick<TextMapPropagator<TraceCarrier>, 'inject' | 'extract'> = {
  inject: (own, carrier, setter) => propagation.inject(own, carrier, setter),
  extract: (own, carrier, getter) => propagation.extract(own, carrier, getter),
}

const SETTER = {
  set: (carrier: TraceCarrier, key: string, value: string): void => void (carrier[key] = value),
}

const GETTER = {
  get: (carrier: Readonly<TraceCarrier>, key: string): string | undefined => carrier[key],
  keys: (carrier: Readonly<TraceCarrier>): string[] => Object.keys(carrier).filter((key) => key !== DUE_AT),
}
