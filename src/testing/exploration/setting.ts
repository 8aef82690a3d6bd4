import type { Storage } from '../../contract/storage.ts'
import type { Engine } from '../../core/engine.ts'
import type { EngineObserver } from '../../core/inside.ts'
import type { Process } from './process.ts'

/** What one schedule begins with, instead of an empty storage at the first instant. */
export interface Setting {
  readonly storage: Storage
  /** The instant of the engines at the beginning, counted from the first instant of every schedule. */
  readonly clockSkewMs: number
  /** Called for each engine before it is created: what it is observed by. */
  starting(process: Process, engine: () => Engine): EngineObserver
  /** Called for each engine, before it does anything. */
  started(engine: Engine, process: Process): void
  /** Called when the schedule is over, however it ended. */
  over(): void
}
