import { type Context, context } from '@opentelemetry/api'
import type { LogMessage } from '../../api/diagnostics.ts'
import type { LogLevel } from '../../api/log.ts'

/** A line as the logs of OpenTelemetry have it. */
export interface TelemetryLogRecord {
  readonly timestamp: Date
  readonly severityNumber: number
  readonly severityText: string
  readonly body: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly context: Context
}

/** What is used of a `LoggerProvider` of `@opentelemetry/api-logs`. */
export interface TelemetryLogs {
  getLogger(name: string): { emit(record: TelemetryLogRecord): void }
}

const SEVERITIES: Readonly<Record<LogLevel, number>> = { debug: 5, info: 9, warn: 13, error: 17 }

/** The record of a line. It is made where the task logs, hence in the context of its span. */
export function logRecordOf({ line }: LogMessage): TelemetryLogRecord {
  const { at, level, message, fields, runId, taskIdentifier, attemptNumber } = line
  return {
    timestamp: at,
    severityNumber: SEVERITIES[level],
    severityText: level.toUpperCase(),
    body: message,
    attributes: {
      ...fields,
      ...(runId === undefined
        ? {}
        : {
            'waitpoint.run.id': runId,
            'waitpoint.task.id': taskIdentifier,
            'waitpoint.attempt.number': attemptNumber,
          }),
    },
    context: context.active(),
  }
}
