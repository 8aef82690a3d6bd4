import type { RetrievedQueue } from '../../api/queue.ts'
import { queueNameOf } from '../../hosted/queue-item.ts'
import { defined } from '../../primitives/defined.ts'
import type { WireRecord } from './record.ts'

/** A queue. The hosted service does not tell `isMore` and `waitingForSlot`. */
export function readQueue(wire: WireRecord): RetrievedQueue {
  const concurrency = wire.record('concurrency')
  const type = wire.text('type') === 'task' ? 'task' : 'custom'
  return {
    name: queueNameOf({ type, name: wire.requiredText('name') }),
    isPaused: wire.requiredFlag('paused'),
    ...defined({
      limit: wire.number('concurrencyLimit'),
      declaredLimit: concurrency.number('base'),
      limitedAt: concurrency.date('overriddenAt'),
    }),
    running: wire.number('running') ?? 0,
    queued: wire.number('queued') ?? 0,
    isMore: wire.flag('isMore') ?? false,
    waitingForSlot: wire.number('waitingForSlot') ?? 0,
  }
}
