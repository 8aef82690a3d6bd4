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
export type { WaitedToken, WaitingRun } from './clock/wait-graph.ts'
export { createTestEngine, type TestEngineOptions } from './testing/create-test-engine.ts'
export type { TaskCall, TaskMock } from './testing/stand-ins.ts'
export { testClock, type TestClockOptions } from './testing/test-clock.ts'
export type { TestEngine } from './testing/test-engine.ts'
export { TestError, type TestErrorCode } from './testing/test-error.ts'
export type { AnswerOptions, TokenByTag } from './testing/token-answers.ts'
