import type { RetrievedRun, RunAttempt } from '../../api/run.ts'
import { type RunOwner, enginePlace } from '../../api/run-owner.ts'
import { factsText } from './table.ts'
import { shownJson, oneLine, shortened, visible } from './text.ts'
import { lengthText, momentText } from './time.ts'

/** So many characters of one value are shown; `--json` has all. */
const MOST_OF_A_VALUE = 2_000
/** So many of what an attempt has thrown. */
const MOST_OF_AN_ERROR = 200

/** A run for people. */
export function runFacts(run: RetrievedRun, now: number): string {
  const { id, taskIdentifier, status, tags, metadata, owner, waitingOn, attempts, error } = run
  return factsText([
    ['run', id],
    ['task', oneLine(taskIdentifier)],
    ['status', status],
    ['created', momentText(run.createdAt, now)],
    ['started', run.startedAt && momentText(run.startedAt, now)],
    ['delayed', status === 'DELAYED' && run.delayedUntil ? momentText(run.delayedUntil, now) : undefined],
    ['ended', run.finishedAt && momentText(run.finishedAt, now)],
    ['took', run.finishedAt && run.startedAt && lengthText(run.durationMs)],
    ['engine', ownerText(owner, now)],
    ['attempts', String(run.attemptCount)],
    ['thrown', attempts.length === 0 ? undefined : attempts.map((each) => attemptText(each, now)).join('\n')],
    ['tags', tags.length === 0 ? undefined : oneLine(tags.join(', '))],
    ['parent', run.parentId],
    [
      'waits for',
      waitingOn.length === 0 ? undefined : waitingOn.map((wait) => waitText(wait, now)).join('\n'),
    ],
    ['streams', run.realtimeStreams.length === 0 ? undefined : oneLine(run.realtimeStreams.join(', '))],
    ['metadata', Object.keys(metadata).length === 0 ? undefined : valueText(metadata)],
    ['payload', valueText(run.payload)],
    ['output', status === 'COMPLETED' ? valueText(run.output) : undefined],
    ['error', error && visible(shortened(error.stack ?? `${error.name}: ${error.message}`, MOST_OF_A_VALUE))],
  ])
}

function ownerText(owner: RunOwner | undefined, now: number): string | undefined {
  if (owner === undefined) return undefined
  const { id, heardAt } = owner
  const heard = heardAt === undefined ? '' : `last heard ${momentText(heardAt, now)}`
  return oneLine([id, enginePlace(owner), heard].filter((part) => part !== '').join(', '))
}

function waitText({ id, kind, timeoutAt }: RetrievedRun['waitingOn'][number], now: number): string {
  return timeoutAt === undefined ? `${kind} ${id}` : `${kind} ${id}, until ${momentText(timeoutAt, now)}`
}

function attemptText({ number, startedAt, endedAt, error }: RunAttempt, now: number): string {
  const took = lengthText(endedAt.getTime() - startedAt.getTime())
  const line = shortened(oneLine(`${error.name}: ${error.message}`), MOST_OF_AN_ERROR)
  return `attempt ${number}, ${momentText(startedAt, now)}, took ${took}: ${line}`
}

/** A value as JSON on one line. */
export function valueText(value: unknown): string {
  return value === undefined ? '–' : shortened(shownJson(value), MOST_OF_A_VALUE)
}
