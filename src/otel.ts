export type { TelemetryLogRecord, TelemetryLogs } from './adapters/otel/log-records.ts'
export { createTelemetry, type Telemetry, type TelemetryOptions } from './adapters/otel/telemetry.ts'
