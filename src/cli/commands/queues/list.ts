import type { CliCommand } from '../../command.ts'
import { EXIT } from '../../exit.ts'
import { printPage } from '../../output/page.ts'
import { PLACE_OPTIONS, readPlace } from '../../reach/place.ts'
import { reaching } from '../../reach/reach.ts'
import { limitText, queuedText } from './shown.ts'

/** `waitpoint queues list`. */
export const listQueuesByHand: CliCommand = {
  name: 'queues list',
  summary: 'list queues, with their limits and their runs',
  options: PLACE_OPTIONS,
  about:
    'An app behind HTTP lists the queues of its tasks, and those of which something is set. A storage knows no tasks: it has those of which something is set, and those of the newest runs that are queued or execute.',
  async run(given, terminal) {
    const place = readPlace(given, terminal.env)
    const data = await reaching(place, terminal, (reached) => reached.queues())
    if (given.has('json')) terminal.printJson({ data })
    else
      printPage(
        {
          columns: [
            { title: 'queue', isFlexible: true },
            { title: 'limit' },
            { title: 'running' },
            { title: 'queued' },
            { title: 'paused' },
          ],
          items: data,
          row: (queue) => [
            queue.name,
            limitText({ queue, place }),
            String(queue.running),
            queuedText(queue),
            queue.isPaused ? 'paused' : '',
          ],
          none: 'There are no such queues.',
          next: undefined,
        },
        terminal,
      )
    return EXIT.ok
  },
}
