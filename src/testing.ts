export type { ClockCalls } from './clock/virtual/calls.ts'
export {
  ClockError,
  type ClockErrorCode,
  ClockReentryError,
  LeftoverError,
  RunawayError,
  StillBusyError,
  StuckError,
  VirtualTimeoutError,
} from './clock/virtual/errors.ts'
export type { Goal } from './clock/virtual/goal.ts'
export type { TestClock } from './clock/test.ts'
export type { TravelOptions, UntilOptions } from './clock/virtual/time-travel.ts'
export type { FiredTimer, PendingTimer } from './clock/virtual/timers.ts'
export type { WaitedToken, WaitingRun } from './clock/virtual/wait-graph.ts'
export type { StorageOperation } from './contract/storage.ts'
export type { AnswerInstant } from './testing/fixture/answer-instant.ts'
export {
  type ConformanceCase,
  type ConformanceOptions,
  type StorageConformance,
  storageConformance,
  StorageLawError,
} from './testing/conformance/suite.ts'
export { checkInFlight, type CheckInFlightOptions } from './testing/check-in-flight.ts'
export type { DepartureReason, InFlightDeparture } from './testing/in-flight/departure.ts'
export type { InFlightHint } from './testing/in-flight/name-hints.ts'
export type { InFlightQuestion } from './testing/in-flight/question.ts'
export type { InFlightReport } from './testing/in-flight/report.ts'
export {
  exploreHistory,
  type ExploreHistoryOptions,
  type ExploreHistoryReport,
  type HistoryNeighbour,
} from './testing/explore-history.ts'
export { exportRepro, type ExportReproOptions } from './testing/export-repro.ts'
export type { HistoryDeparture, HistoryDepartureReason } from './testing/history/departure.ts'
export type { Redact, RedactedPlace } from './testing/history/redaction.ts'
export type { RunEnd } from './testing/history/run-end.ts'
export type {
  HistoryAttempt,
  HistoryChild,
  HistoryError,
  HistoryKey,
  HistoryRun,
  HistoryToken,
  RunHistory,
} from './testing/history/shape.ts'
export { type ReplayedHistory, replayHistory, type ReplayHistoryOptions } from './testing/replay-history.ts'
export { createTestEngine, type TestEngineOptions } from './testing/create-test-engine.ts'
export type { TaskCall, TaskMock } from './testing/fixture/stand-ins.ts'
export { testClock, type TestClockOptions } from './testing/test-clock.ts'
export type { TestEngine } from './testing/fixture/test-engine.ts'
export { TestError, type TestErrorCode } from './testing/test-error.ts'
export type { AnswerOptions, TokenByTag } from './testing/fixture/token-answers.ts'
export { explore, type ExploreOptions, type ExploreReport } from './testing/explore.ts'
export type { ExplorationTools, ScheduleClock } from './testing/exploration/body-tools.ts'
export { InjectedFault } from './testing/exploration/boundaries.ts'
export type { WaitCoverage } from './testing/exploration/coverage.ts'
export { type Decider, fifo, replay } from './testing/exploration/decider.ts'
export { enumerate } from './testing/exploration/enumerate.ts'
export { ExplorationError } from './testing/exploration/error.ts'
export { ProcessCrashedError } from './testing/exploration/mortal-iterable.ts'
export { NoTokenError, type TokenChoice } from './testing/exploration/question-desk.ts'
export type { OrderCoverage, UnmetOrder } from './testing/exploration/orders.ts'
export { pct, random } from './testing/exploration/random-decider.ts'
export type { NodeApp } from './testing/exploration/node-app.ts'
export type { FetchApp, ServedFetch } from './testing/exploration/served-app.ts'
export type { Shard } from './testing/exploration/shard.ts'
export type { Body, Fault } from './testing/exploration/schedule.ts'
export {
  type Choice,
  type ChoiceKind,
  type Choose,
  type Decision,
  type Deviation,
  formatTrace,
  parseTrace,
  type Trace,
} from './testing/exploration/trace.ts'
export { type Invariant, InvariantViolation } from './testing/exploration/violation.ts'
export type { Adapter, AdapterTools, StartedEngineOptions } from './testing/exploration/world.ts'
export { type FlakyOptions, flakyStorage } from './testing/storages/flaky.ts'
export {
  type Answers,
  type OutcomeRow,
  outcomes,
  type Outcomes,
  type OutcomeSubject,
} from './testing/outcomes.ts'
