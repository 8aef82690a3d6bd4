import { EXIT } from '../exit.ts'
import { oneLine } from '../output/text.ts'
import { lengthText } from '../output/time.ts'
import { mismatch } from '../reach/reach.ts'
import type { InspectedOwner, InspectedRecords, StorageInspection } from '../../storage/inspection.ts'

/** Something that a storage shows. A `problem` is to be mended; a `hint` may be as it is meant. */
export interface Finding {
  readonly kind: 'problem' | 'hint'
  readonly code: string
  readonly message: string
}

/** A clock that is further away than this spoils deadlines. */
const SKEW_MS = 2_000
/** A run that may be executed, and is not, for longer than this. */
const LONG_IN_LINE_MS = 60_000
/** The log of SQLite is emptied at 16 MiB; it grows beyond while a reader holds it. */
const LARGE_LOG_BYTES = 256 * 1_048_576

/** The engines whose lease holds. */
export function livingOwners({ records, now }: StorageInspection): readonly InspectedOwner[] {
  return (records?.owners ?? []).filter((owner) => isAlive(owner, now))
}

/** Whether the lease of an engine holds. */
export function isAlive({ isLost, isGone, until }: InspectedOwner, now: number): boolean {
  return !isLost && isGone !== true && (until === undefined || until > now)
}

/** What is wrong with a storage, the worst first. `clock`: the time of this machine when the storage told its own. */
export function findingsOf(inspection: StorageInspection, clock: number): readonly Finding[] {
  const { schema, damage, records } = inspection
  const findings: Finding[] = damage.map((text) =>
    problem('damaged', `The file is damaged: ${oneLine(text)}.`),
  )
  if (schema.version !== schema.known)
    findings.push(problem('schema', `The storage cannot be used: ${mismatch(schema)}.`))
  const skew = clock - inspection.now
  if (Math.abs(skew) > SKEW_MS)
    findings.push(
      hint(
        'skew',
        `The clock of this machine is ${lengthText(Math.abs(skew))} ${skew > 0 ? 'ahead of' : 'behind'} that of the storage.`,
      ),
    )
  return records === undefined ? findings : [...findings, ...ofRecords(inspection, records)]
}

function ofRecords(inspection: StorageInspection, records: InspectedRecords): readonly Finding[] {
  return [...ofEngines(inspection, records), ...ofRuns(records), ...ofTime(inspection, records)]
}

/** What engines do not do that they should. */
function ofEngines(inspection: StorageInspection, records: InspectedRecords): readonly Finding[] {
  const { now } = inspection
  const { runs, oldestInLine, owners } = records
  const findings: Finding[] = []
  const isAnyAlive = livingOwners(inspection).length > 0
  const unfinished = UNFINISHED.reduce((sum, status) => sum + (runs[status] ?? 0), 0)
  if (!isAnyAlive && unfinished > 0)
    findings.push(
      problem(
        'no-engine',
        `No engine is alive, and ${counted(unfinished, 'run')} cannot go on: start the app.`,
      ),
    )
  const waitMs = oldestInLine === undefined ? 0 : now - oldestInLine.since
  if (isAnyAlive && oldestInLine !== undefined && waitMs > LONG_IN_LINE_MS)
    findings.push(
      problem(
        'starved',
        `Run ${oldestInLine.id} of task "${oneLine(oldestInLine.taskId)}" has waited to be executed for ${lengthText(waitMs)}: the app does not have the task, or all slots are used.`,
      ),
    )
  const dead = owners.filter((owner) => !isAlive(owner, now) && owner.runs > 0)
  const held = dead.reduce((sum, owner) => sum + owner.runs, 0)
  if (held > 0)
    findings.push(
      hint(
        'dead-engine',
        `${counted(dead.length, 'engine')} died and left ${counted(held, 'run')}: the next engine that is started takes them over.`,
      ),
    )
  return findings
}

const UNFINISHED = ['QUEUED', 'DELAYED', 'EXECUTING', 'WAITING'] as const

/** Runs and tokens that stand still. */
function ofRuns({ runs, interrupted, overdue }: InspectedRecords): readonly Finding[] {
  const pending = runs['PENDING_VERSION'] ?? 0
  return [
    ...(interrupted === 0
      ? []
      : [
          hint(
            'interrupted',
            `${counted(interrupted, 'run')} executed when the engine died: to be executed again.`,
          ),
        ]),
    ...(pending === 0
      ? []
      : [
          problem(
            'pending-version',
            `${counted(pending, 'run')} cannot go on, because the code of the task has changed: see docs/changing-code.md.`,
          ),
        ]),
    ...(overdue === 0
      ? []
      : [hint('overdue', `${counted(overdue, 'deadline')} passed, and no engine has acted on it yet.`)]),
  ]
}

function ofTime({ now, sizes }: StorageInspection, { changedAt = 0 }: InspectedRecords): readonly Finding[] {
  return [
    ...(changedAt - now > SKEW_MS
      ? [
          problem(
            'future',
            `The last change of a run is ${lengthText(changedAt - now)} in the future: a clock was wrong.`,
          ),
        ]
      : []),
    ...((sizes['log'] ?? 0) > LARGE_LOG_BYTES
      ? [hint('log', 'The log of the database is large: a process holds a transaction open for long.')]
      : []),
  ]
}

function problem(code: string, message: string): Finding {
  return { kind: 'problem', code, message }
}

function hint(code: string, message: string): Finding {
  return { kind: 'hint', code, message }
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** Problems make the command fail. */
export function exitCodeFor(findings: readonly Finding[]): typeof EXIT.ok | typeof EXIT.failed {
  return findings.some(({ kind }) => kind === 'problem') ? EXIT.failed : EXIT.ok
}
