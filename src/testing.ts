export type { ClockCalls } from './clock/clock-calls.ts'
export {
  ClockError,
  type ClockErrorCode,
  ClockReentryError,
  LeftoverError,
  RunawayError,
  StillBusyError,
  StuckError,
  VirtualTimeoutError,
} from './clock/clock-errors.ts'
export type { Goal } from './clock/goal.ts'
export type { TestClock } from './clock/test-clock.ts'
export type { TravelOptions, UntilOptions } from './clock/time-travel.ts'
export type { FiredTimer, PendingTimer } from './clock/virtual-timers.ts'
export { createTestEngine, type TestEngine, type TestEngineOptions } from './testing/create-test-engine.ts'
export {
  type ConformanceCase,
  type ConformanceOptions,
  type StorageConformance,
  storageConformance,
  StorageLawError,
} from './testing/conformance/storage-conformance.ts'
export { testClock, type TestClockOptions } from './testing/test-clock.ts'
