import { AttemptWatcher } from './attempt-watcher.ts'
import { ChunkWatcher } from './chunk-watcher.ts'
import { ContextWatcher } from './context-watcher.ts'
import type { Names } from './names.ts'
import type { CallWatcher } from './observer.ts'
import { TokenWatcher } from './token-watcher.ts'
import { WaitWatcher } from './wait-watcher.ts'

/** What is watched in every schedule. Tokens last: why one was lost says more than that somebody still waits for it. */
export function invariants(names: Names, maxAttempts: (taskId: string) => number): readonly CallWatcher[] {
  return [
    new TokenWatcher(names),
    new WaitWatcher(names),
    new AttemptWatcher(names, maxAttempts),
    new ChunkWatcher(names),
    new ContextWatcher(names),
  ]
}
