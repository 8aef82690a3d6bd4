// The boundaries of histograms, in seconds, for `GET /metrics` and OpenTelemetry.

/** A run executes for milliseconds and waits for days. */
export const RUN_BOUNDARIES: readonly number[] = [
  0.01, 0.1, 0.5, 1, 5, 10, 30, 60, 600, 3_600, 86_400, 604_800,
]
export const CALL_BOUNDARIES: readonly number[] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30]
