import { RUN_STATUSES } from '../../../contract/run-states.ts'
import type { CliCommand } from '../../command.ts'
import { EXIT } from '../../exit.ts'
import { cellOfMoment, printPage } from '../../output/page.ts'
import { present } from '../../present.ts'
import { PLACE_OPTIONS, readPlace } from '../../reach/place.ts'
import { reaching } from '../../reach/reach.ts'
import { requireId } from '../../words.ts'

/** `waitpoint runs list`. */
export const listRuns: CliCommand = {
  name: 'runs list',
  summary: 'list runs, the newest first',
  options: {
    ...PLACE_OPTIONS,
    status: { value: '<status>', isRepeatable: true, says: `any of ${RUN_STATUSES.join(', ')}` },
    task: { value: '<id>', isRepeatable: true, says: 'runs of any of these tasks' },
    tag: { value: '<tag>', isRepeatable: true, says: 'runs with any of these tags' },
    period: { value: '<duration>', says: 'created within this time: 1h, 7d' },
    limit: { value: '<n>', says: 'so many runs, 1 to 100 (default: 25)' },
    after: { value: '<run>', says: 'the page after this run' },
  },
  async run(given, terminal) {
    const place = readPlace(given, terminal.env)
    const last = given.option('after')
    const after = last === undefined ? undefined : requireId(last, 'run')
    const params = present({
      status: given.among('status', RUN_STATUSES),
      taskIdentifier: given.list('task'),
      tag: given.list('tag'),
      period: given.duration('period'),
      limit: given.whole('limit', { from: 1, to: 100 }),
      after,
    })
    const { data, pagination } = await reaching(place, terminal, async ({ runs }) => runs.list(params))
    if (given.has('json')) terminal.printJson({ data, ...pagination })
    else
      printPage(
        {
          columns: [
            { title: 'id' },
            { title: 'task', isFlexible: true },
            { title: 'status' },
            { title: 'created' },
            { title: 'tags', isFlexible: true },
          ],
          items: data,
          row: ({ id, taskIdentifier, status, createdAt, tags }) => [
            id,
            taskIdentifier,
            status,
            cellOfMoment(createdAt, terminal),
            tags.join(', '),
          ],
          none: 'There are no such runs.',
          next: pagination.next,
        },
        terminal,
      )
    return EXIT.ok
  },
}
