import { AttemptWatcher } from './attempt-watcher.ts'
import { ChunkWatcher } from './chunk-watcher.ts'
import { ContextWatcher } from './context-watcher.ts'
import { FenceWatcher } from './fence-watcher.ts'
import type { Names } from './names.ts'
import type { CallWatcher } from './observer.ts'
import { TokenWatcher } from './token-watcher.ts'
import { WaitWatcher } from './wait-watcher.ts'

/**
 * The watchers of every schedule. Tokens are checked last, because the reason for a lost token is more useful than the
 * fact that a run still waits for it.
 */
export function invariants(names: Names, maxAttempts: (taskId: string) => number): readonly CallWatcher[] {
  return [
    new TokenWatcher(names),
    new WaitWatcher(names),
    new AttemptWatcher(names, maxAttempts),
    new FenceWatcher(names),
    new ChunkWatcher(names),
    new ContextWatcher(names),
  ]
}
