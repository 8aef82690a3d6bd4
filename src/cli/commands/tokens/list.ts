import type { TokenStatus } from '../../../contract/records.ts'
import type { Token } from '../../../api/token.ts'
import type { CliCommand } from '../../command.ts'
import { EXIT } from '../../exit.ts'
import { cellOfMoment, printPage } from '../../output/page.ts'
import { present } from '../../present.ts'
import { PLACE_OPTIONS, readPlace } from '../../reach/place.ts'
import { reaching } from '../../reach/reach.ts'
import { requireId } from '../../words.ts'
import { shownToken } from './shown.ts'

const STATUSES: readonly TokenStatus[] = ['WAITING', 'COMPLETED', 'TIMED_OUT']

/** `waitpoint tokens list`. */
export const listTokensByHand: CliCommand = {
  name: 'tokens list',
  summary: 'list tokens, the newest first: those that wait, unless --status says otherwise',
  options: {
    ...PLACE_OPTIONS,
    status: {
      value: '<status>',
      isRepeatable: true,
      says: `any of ${STATUSES.join(', ')} (default: WAITING)`,
    },
    all: { says: 'tokens of every status' },
    tag: { value: '<tag>', isRepeatable: true, says: 'tokens with any of these tags' },
    period: { value: '<duration>', says: 'created within this time: 1h, 7d' },
    limit: { value: '<n>', says: 'so many tokens, 1 to 100 (default: 25)' },
    after: { value: '<token>', says: 'the page after this token' },
  },
  async run(given, terminal) {
    const place = readPlace(given, terminal.env)
    const last = given.option('after')
    const status = given.among('status', STATUSES) ?? (given.has('all') ? undefined : ['WAITING' as const])
    const params = present({
      status,
      tags: given.list('tag'),
      period: given.duration('period'),
      limit: given.whole('limit', { from: 1, to: 100 }),
      after: last === undefined ? undefined : requireId(last, 'token'),
    })
    const { data, pagination } = await reaching(place, terminal, async ({ wait }) => wait.listTokens(params))
    if (given.has('json'))
      terminal.printJson({ data: data.map((token) => shownToken(token, place)), ...pagination })
    else
      printPage<Token>(
        {
          columns: [
            { title: 'id' },
            { title: 'status' },
            { title: 'created' },
            { title: 'until' },
            { title: 'tags', isFlexible: true },
          ],
          items: data,
          row: (token) => [
            token.id,
            token.status,
            cellOfMoment(token.createdAt, terminal),
            cellOfMoment(token.timeoutAt, terminal),
            token.tags.join(', '),
          ],
          none: status?.[0] === 'WAITING' ? 'No token waits.' : 'There are no such tokens.',
          next: pagination.next,
        },
        terminal,
      )
    return EXIT.ok
  },
}
