import type { RetrievedQueue } from '../../../api/queue.ts'
import { factsText } from '../../output/table.ts'
import { oneLine } from '../../output/text.ts'
import { momentText } from '../../output/time.ts'
import type { Terminal } from '../../output/terminal.ts'
import type { RunsPlace } from '../../reach/place.ts'

/** A queue, and where it was looked at: a storage does not know the limits of tasks. */
export interface ShownQueue {
  readonly queue: RetrievedQueue
  readonly place: RunsPlace
}

/** The limit that is in force. */
export function limitText({ queue: { limit, limitedAt }, place }: ShownQueue): string {
  if (limit === undefined) return place.kind === 'http' ? 'none' : 'not known here'
  return limitedAt === undefined ? String(limit) : `${limit} (set)`
}

/** How many runs are queued: not more than are counted. */
export function queuedText({ queued, isMore }: RetrievedQueue): string {
  return `${queued}${isMore ? '+' : ''}`
}

/** Prints one queue. */
export function printQueue(shown: ShownQueue, terminal: Terminal): void {
  const { name, isPaused, limit, declaredLimit, limitedAt, running, waitingForSlot } = shown.queue
  const ofTasks = declaredLimit === undefined ? '' : `, instead of ${declaredLimit}`
  const set = limitedAt && `${limit}${ofTasks}, ${momentText(limitedAt, terminal.clock.now())}`
  terminal.print(
    factsText([
      ['queue', oneLine(name)],
      ['paused', isPaused ? 'yes' : 'no'],
      ['limit', limitText(shown)],
      ['set', set],
      ['running', String(running)],
      ['queued', queuedText(shown.queue)],
      ['waiting for a slot', String(waitingForSlot)],
    ]),
  )
}
