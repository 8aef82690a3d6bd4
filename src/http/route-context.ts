import type { Engine } from '../core/engine.ts'
import type { Kernel } from '../core/kernel.ts'
import type { BatchStore } from './batches/store.ts'
import type { Breath } from '../core/host/breath.ts'
import type { Gate } from './access/gate.ts'
import type { Limits } from './limits.ts'

/** The parts that every group of routes is made of. */
export interface RouteContext {
  readonly engine: Engine
  /** The engine's namespaces with values as they are stored: answers show their JSON, or pass their notes on. */
  readonly stored: Pick<Engine, 'runs' | 'tasks' | 'wait'>
  readonly kernel: Kernel
  readonly gate: Gate
  readonly limits: Limits
  readonly batches: BatchStore
  readonly turns: Breath
}
