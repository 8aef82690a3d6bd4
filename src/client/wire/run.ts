import type { TokenKind, RunStatus } from '../../contract/records.ts'
import type { RetrievedRun, Run, RunAttempt, WaitingOn } from '../../api/run.ts'
import type { RunOwner } from '../../api/run-owner.ts'
import { statusFlags, RUN_STATUSES } from '../../contract/run-states.ts'
import { RUN_MEMBERS } from '../../hosted/run.ts'
import { OTHER_NAMES } from '../../hosted/statuses.ts'
import { defined } from '../../primitives/defined.ts'
import type { Packets } from './packets.ts'
import { readStoredError } from './error.ts'
import { WireRecord } from './record.ts'

/** The values of a run, which may be downloaded separately. */
interface RunValues {
  readonly payload: unknown
  readonly output: unknown
}

/** A run of a list, with the values that the list contains. */
export function readListedRun(wire: WireRecord): Run {
  return readApiRun(wire, { payload: wire.json('payload'), output: wire.json('output') })
}

/** A retrieved run. Values that were too large for the answer are downloaded. */
export async function readRetrievedRun(
  wire: WireRecord,
  packets: Packets,
  signal: AbortSignal | undefined,
): Promise<RetrievedRun> {
  const value = async (name: string): Promise<unknown> => {
    const url = wire.text(`${name}PresignedUrl`)
    return url === undefined ? wire.json(name) : packets.download(url, signal)
  }
  const values = { payload: await value('payload'), output: await value('output') }
  return {
    ...readApiRun(wire, values),
    ...defined({ owner: readOwner(wire.record('owner')) }),
    waitingOn: wire.records('waitingOn').map(readWait),
    attempts: wire.records('attempts').flatMap(readAttempt),
  }
}

/** A run from a row of the realtime protocol. */
export async function readRow(
  wire: WireRecord,
  packets: Packets,
  signal: AbortSignal | undefined,
): Promise<Run> {
  const value = (name: string): Promise<unknown> =>
    packets.read({ data: wire.value(name), type: wire.text(`${name}Type`) ?? 'application/json' }, signal)
  const id = wire.requiredText('friendlyId')
  const metadata = await value('metadata')
  const values = { payload: await value('payload'), output: await value('output') }
  const older = new WireRecord(metadata ?? {}, 'metadata').texts('$$streams')
  return {
    ...commonFields(wire, id, values),
    tags: wire.texts('runTags'),
    // `readRow` has parsed it as an object.
    metadata: (metadata ?? {}) as Run['metadata'],
    // Tasks of older versions announce their streams here.
    ...(older.length === 0 ? {} : { realtimeStreams: older }),
    attemptCount: wire.number('attemptNumber') ?? 0,
    ...defined({ delayedUntil: wire.date('delayUntil') }),
    rootId: wire.text('rootId') ?? id,
  }
}

function readApiRun(wire: WireRecord, values: RunValues): Run {
  const id = wire.requiredText('id')
  const related = wire.record('relatedRuns')
  const parentId = wire.text('parentId') ?? related.record('parent').text('id')
  return {
    ...commonFields(wire, id, values),
    tags: wire.texts('tags'),
    metadata: wire.object('metadata') ?? {},
    attemptCount: wire.number('attemptCount') ?? 0,
    rootId: wire.text('rootId') ?? related.record('root').text('id') ?? id,
    ...defined({ parentId }),
  }
}

type CommonFields = Omit<Run, 'tags' | 'metadata' | 'attemptCount' | 'rootId'>

function commonFields(wire: WireRecord, id: string, values: RunValues): CommonFields {
  const members = wire.members(RUN_MEMBERS)
  // The name that it has in rows.
  const finishedAt = members.finishedAt ?? wire.date('completedAt')
  const status = readRunStatus(wire.requiredText('status'), finishedAt !== undefined)
  const createdAt = wire.requiredDate('createdAt')
  const updatedAt = wire.date('updatedAt') ?? createdAt
  const { startedAt } = members
  const hasOutput = status === 'COMPLETED' && values.output !== undefined
  return {
    id,
    taskIdentifier: wire.requiredText('taskIdentifier'),
    status,
    payload: values.payload,
    ...(hasOutput ? { output: values.output } : {}),
    ...defined({ error: readStoredError(wire.value('error')) }),
    realtimeStreams: wire.texts('realtimeStreams'),
    ...members,
    ...defined({ finishedAt }),
    createdAt,
    updatedAt,
    durationMs: startedAt === undefined ? 0 : (finishedAt ?? updatedAt).getTime() - startedAt.getTime(),
    ...statusFlags(status),
  }
}

function readOwner(wire: WireRecord): RunOwner | undefined {
  const id = wire.text('id')
  if (id === undefined) return undefined
  return {
    id,
    isHere: wire.flag('isHere') ?? false,
    ...defined({
      host: wire.text('host'),
      pid: wire.number('pid'),
      heardAt: wire.date('heardAt'),
      leaseEndsAt: wire.date('leaseEndsAt'),
    }),
  }
}

function readWait(wire: WireRecord): WaitingOn {
  const kind = wire.text('kind')
  return {
    id: wire.requiredText('id'),
    // A wait of an unknown kind is treated as a token.
    kind: (kind ?? 'MANUAL') as TokenKind,
    ...defined({ timeoutAt: wire.date('timeoutAt') }),
  }
}

/** An attempt, unless it is of another form: older versions of the service had one of their own. */
function readAttempt(wire: WireRecord): RunAttempt | [] {
  const number = wire.number('number')
  const startedAt = wire.date('startedAt')
  const endedAt = wire.date('endedAt')
  const error = readStoredError(wire.value('error'))
  if (!number || !startedAt || !endedAt || !error) return []
  const waitingMs = wire.number('waitingMs') ?? 0
  const executingMs = wire.number('executingMs') ?? endedAt.getTime() - startedAt.getTime() - waitingMs
  return { number, startedAt, endedAt, executingMs, waitingMs, error }
}

/** A status of the engine. An unknown status counts as failed if the run has ended, and as queued otherwise. */
function readRunStatus(status: string, hasEnded: boolean): RunStatus {
  // `includes` checks the status.
  if (RUN_STATUSES.includes(status as RunStatus)) return status as RunStatus
  return OTHER_NAMES[status] ?? (hasEnded ? 'FAILED' : 'QUEUED')
}
