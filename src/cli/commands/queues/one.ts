import type { RetrievedQueue } from '../../../api/queue.ts'
import { MOST_QUEUE_LIMIT } from '../../../contract/queue-limits.ts'
import type { CliCommand } from '../../command.ts'
import { EXIT } from '../../exit.ts'
import type { Given } from '../../given.ts'
import { PLACE_OPTIONS, readPlace } from '../../reach/place.ts'
import { type ReachedQueue, reaching } from '../../reach/reach.ts'
import { QUEUE_WORD, readWhole } from '../../words.ts'
import { printQueue } from './shown.ts'

interface QueueCommand extends Pick<CliCommand, 'summary' | 'words' | 'about'> {
  readonly name: string
  /** What to do with the queue. It checks the other words first. */
  readonly call: (given: Given) => (queue: ReachedQueue) => Promise<RetrievedQueue>
}

/** A command about one queue, which it shows as it then is. */
function queueCommand({ name, words = [], call, ...help }: QueueCommand): CliCommand {
  return {
    ...help,
    name: `queues ${name}`,
    words: [QUEUE_WORD, ...words],
    options: PLACE_OPTIONS,
    async run(given, terminal) {
      const asked = call(given)
      const place = readPlace(given, terminal.env)
      const queue = await reaching(place, terminal, (reached) => asked(reached.queue(given.word('queue'))))
      if (given.has('json')) terminal.printJson(queue)
      else printQueue({ queue, place }, terminal)
      return EXIT.ok
    },
  }
}

/** The commands about one queue, in the order of the help. */
export const QUEUE_COMMANDS: readonly CliCommand[] = [
  queueCommand({
    name: 'get',
    summary: 'show one queue: its limit, and how many runs it has',
    call: () => (queue) => queue.retrieve(),
  }),
  queueCommand({
    name: 'pause',
    summary: 'give the runs of a queue no slots: none starts, and none goes on after a wait',
    about:
      'It is in force in all processes, until `queues resume`. Runs that execute go on to their next wait.',
    call: () => (queue) => queue.pause(),
  }),
  queueCommand({
    name: 'resume',
    summary: 'give the runs of a paused queue slots again',
    call: () => (queue) => queue.resume(),
  }),
  queueCommand({
    name: 'set-limit',
    summary: 'set how many runs of a queue may execute at once, instead of what its tasks say',
    words: [{ name: 'limit', says: `a whole number from 0 to ${MOST_QUEUE_LIMIT}` }],
    about:
      'It is in force in all processes, until `queues reset-limit`. Under concurrency keys it counts for each key.',
    call: (given) => {
      const limit = readWhole(given, 'limit', { from: 0, to: MOST_QUEUE_LIMIT })
      return (queue) => queue.setLimit(limit)
    },
  }),
  queueCommand({
    name: 'reset-limit',
    summary: 'give a queue the limit of its tasks again',
    call: () => (queue) => queue.resetLimit(),
  }),
]
