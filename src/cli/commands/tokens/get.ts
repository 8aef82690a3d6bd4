import type { RetrievedToken } from '../../../api/token.ts'
import type { CliCommand } from '../../command.ts'
import { EXIT } from '../../exit.ts'
import { valueText } from '../../output/run-facts.ts'
import { factsText } from '../../output/table.ts'
import { oneLine } from '../../output/text.ts'
import { momentText } from '../../output/time.ts'
import { PLACE_OPTIONS, readPlace } from '../../reach/place.ts'
import { reaching } from '../../reach/reach.ts'
import { requireId, TOKEN_WORD } from '../../words.ts'
import { shownToken } from './shown.ts'

/** `waitpoint tokens get`. */
export const getToken: CliCommand = {
  name: 'tokens get',
  summary: 'show one token, and the answer that it was given',
  words: [TOKEN_WORD],
  options: PLACE_OPTIONS,
  async run(given, terminal) {
    const id = requireId(given.word('token'), 'token')
    const place = readPlace(given, terminal.env)
    const token = await reaching(place, terminal, ({ wait }) => wait.retrieveToken(id))
    const { error, ...rest } = token
    const told = error === undefined ? {} : { error: { name: error.name, message: error.message } }
    if (given.has('json')) terminal.printJson({ ...shownToken(rest, place), ...told })
    else terminal.print(tokenFacts(token, { now: terminal.clock.now(), hasUrl: place.kind === 'http' }))
    return EXIT.ok
  },
}

function waitingText(runs: readonly string[]): string {
  return runs.length === 0 ? 'no run' : runs.join('\n')
}

function tokenFacts(
  token: RetrievedToken<unknown>,
  { now, hasUrl }: { readonly now: number; readonly hasUrl: boolean },
): string {
  const { id, status, tags, createdAt, timeoutAt, completedAt, withdrawn } = token
  return factsText([
    ['token', id],
    ['status', status],
    ['created', momentText(createdAt, now)],
    ['until', momentText(timeoutAt, now)],
    ['settled', completedAt && momentText(completedAt, now)],
    ['tags', tags.length === 0 ? undefined : oneLine(tags.join(', '))],
    ['key', token.idempotencyKey && oneLine(token.idempotencyKey)],
    ['address', hasUrl ? token.url : undefined],
    ['waiting', token.waitingRuns && waitingText(token.waitingRuns)],
    ['withdrawn', withdrawn && oneLine(withdrawn.reason ?? `by ${withdrawn.id ?? withdrawn.via}`)],
    ['output', status === 'COMPLETED' ? valueText(token.output) : undefined],
  ])
}
