import type { Engine } from '../core/engine.ts'
import type { Inside, Turns } from '../core/inside.ts'
import type { AnswerPages } from './answer-pages.ts'
import type { BatchStore } from './batches/store.ts'
import type { Gate } from './access/gate.ts'
import type { Limits } from './limits.ts'

/** The parts that every group of routes is made of. */
export interface RouteContext {
  readonly engine: Engine
  /** The engine's namespaces with values as they are stored: answers show their JSON, or pass their notes on. */
  readonly stored: Pick<Engine, 'runs' | 'tasks' | 'wait'>
  readonly inside: Inside
  readonly gate: Gate
  readonly limits: Limits
  readonly batches: BatchStore
  readonly turns: Turns
  readonly pages: AnswerPages
}
