import type { RunRecord, TokenRecord } from '../../contract/records.ts'
import { isFinal, placeInLine, runIdOfToken, startBy } from '../../contract/run-states.ts'
import { deathsOf, isSuspect, mostSuspects, trialAt } from '../../contract/suspects.ts'
import { limitPools, runLimitInForce } from '../../contract/pools.ts'
import { nextStartAt, rateInForce } from '../../contract/queue-rates.ts'
import type { LeaseRecord, PageRequest, QueueState } from '../../contract/storage.ts'
import type {
  ExplainedLimit,
  ExplainedQueue,
  ExplainedReason,
  ExplainedRetry,
  ExplainedWait,
  RunExplanation,
} from '../../api/explanation.ts'
import type { StoredError } from '../../api/errors.ts'
import { runLimitText, rateText } from '../../api/queue.ts'
import { enginePlace } from '../../api/run-owner.ts'
import { maxAttemptsOf } from '../execution/task-call.ts'
import { storedError } from '../../api/serialize.ts'
import { debounceKeyOf } from '../../contract/key-scopes.ts'
import { GET_QUEUE, GET_RUN, LIST_RUNS, RUN_WAITS } from '../host/storage-calls.ts'
import type { Kernel } from '../kernel.ts'
import { leaseOf, viewOwner } from './run-owner.ts'

/** So many records of each kind are looked at: a queue may be long. */
const MOST_LOOKED_AT = 200
/** So many characters of the message of an error are in a sentence. */
const MOST_OF_A_MESSAGE = 300
/** So many things are named in a sentence. */
const MOST_NAMED = 3

type Told = Pick<RunExplanation, 'sentence'> & ExplainedReason

/** Says in one sentence why a run does not go on. All of it is computed from records when it is asked. */
export async function explainRun(kernel: Kernel, record: RunRecord): Promise<RunExplanation> {
  const { id, status } = record
  return { id, status, ...(await reasonOf(kernel, record)) }
}

function reasonOf(kernel: Kernel, record: RunRecord): Told | Promise<Told> {
  if (isFinal(record.status)) return ended(record)
  switch (record.status) {
    case 'PENDING_VERSION':
      return mismatched(record)
    case 'WAITING':
      return waiting(kernel, record)
    case 'EXECUTING':
      return executing(kernel, record)
    default:
      return planned(kernel, record)
  }
}

const ENDED = {
  COMPLETED: 'completed',
  FAILED: 'failed',
  CANCELED: 'was canceled',
  TIMED_OUT: 'executed for longer than its maxDuration and was ended',
  EXPIRED: 'did not start in time and expired',
  CRASHED: 'was given up, because its process died while it executed, again and again',
} as const

function ended(record: RunRecord): Told {
  const { status, finishedAt } = record
  const error = errorOf(record)
  // The other ends say it themselves.
  const why = status === 'FAILED' ? because(error) : ''
  const how = status in ENDED ? ENDED[status as keyof typeof ENDED] : 'ended'
  return {
    reason: 'ended',
    ...(finishedAt === undefined ? {} : { at: new Date(finishedAt) }),
    ...(error === undefined ? {} : { error }),
    sentence: `The run ${how}${finishedAt === undefined ? '' : ` at ${instant(finishedAt)}`}${why}.`,
  }
}

function mismatched(record: RunRecord): Told {
  const { version } = record
  const error = errorOf(record)
  const why = error?.message.replace(/^Cannot go on with run "[^"]*": /, '') ?? 'its code changed'
  const begun = version === undefined ? '' : `, which began on version "${version}"`
  return {
    reason: 'pending version',
    ...(version === undefined ? {} : { version }),
    ...(error === undefined ? {} : { error }),
    sentence: `The run${begun}, stands still until code that fits it is there: ${why}.`,
  }
}

/** A run that is to be executed, now or later. */
function planned(kernel: Kernel, record: RunRecord): Told | Promise<Told> {
  const { host, tasks } = kernel
  const { taskId, status, wakeAt } = record
  if (status === 'DELAYED' && wakeAt !== undefined && wakeAt > host.now())
    return record.policyAttempt > 0 ? retrying(kernel, record, wakeAt) : delayed(record, wakeAt)
  if (tasks.get(taskId) !== undefined) return queued(kernel, record)
  const known = tasks.ids.length === 0 ? 'no tasks' : `only ${named(tasks.ids)}`
  return {
    reason: 'unknown task',
    taskIdentifier: taskId,
    sentence: `This engine has ${known}: the run waits for an engine that has task "${taskId}".`,
  }
}

function delayed(record: RunRecord, wakeAt: number): Told {
  const key = debounceKeyOf(record)
  const until = { reason: 'delayed', until: new Date(wakeAt) } as const
  const sentence = `The run is delayed until ${instant(wakeAt)}`
  if (key === undefined) return { ...until, sentence: `${sentence}.` }
  return {
    ...until,
    debounceKey: key,
    sentence: `${sentence}, debounced with the key "${key}".`,
  }
}

function retrying({ tasks }: Kernel, record: RunRecord, wakeAt: number): Told {
  const definition = tasks.get(record.taskId)
  const error = errorOf(record)
  const attempt = record.policyAttempt + 1
  const data: ExplainedRetry = {
    reason: 'retrying',
    at: new Date(wakeAt),
    attempt,
    ...(definition === undefined ? {} : { maxAttempts: maxAttemptsOf(definition, record) }),
    ...(error === undefined ? {} : { error }),
  }
  const of = data.maxAttempts === undefined ? '' : ` of ${data.maxAttempts}`
  return {
    ...data,
    sentence: `The run begins attempt ${attempt}${of} at ${instant(wakeAt)}, because the last one failed${because(error)}.`,
  }
}

async function queued(kernel: Kernel, record: RunRecord): Promise<Told> {
  const { queue, concurrencyKey, id } = record
  const isInLane = (other: RunRecord): boolean =>
    other.queue === queue && other.concurrencyKey === concurrencyKey
  const [set, executed, canceled, older, newer] = await Promise.all([
    kernel.read(() => kernel.asked(GET_QUEUE, { name: queue, concurrencyKey })),
    listed(kernel, 'EXECUTING', {}),
    // Until its function has settled it holds a slot.
    listed(kernel, 'CANCELED', {}),
    listed(kernel, 'QUEUED', { after: id }),
    listed(kernel, 'QUEUED', { before: id }),
  ])
  const place = placeInLine(record)
  const ahead = [
    ...older.filter((other) => placeInLine(other) <= place),
    ...newer.filter((other) => placeInLine(other) < place),
  ]
  const limit = set?.limit ?? kernel.tasks.queueLimits.get(queue)
  const holding = [...executed, ...canceled].filter((other) => other.slot)
  const heldBackBy = await fullLimit(kernel, record, holding)
  const startsAt = heldUntil(kernel, record, set)
  const expiresAt = startBy(record)
  const data: ExplainedQueue = {
    reason: 'queued',
    queue,
    ...(concurrencyKey === undefined ? {} : { concurrencyKey }),
    ...(limit === undefined ? {} : { limit }),
    isPaused: set?.isPaused ?? false,
    ...(heldBackBy === undefined ? {} : { heldBackBy }),
    ...startsAt,
    heldBy: namesOf(holding.filter(isInLane)),
    ahead: ahead.filter(isInLane).length,
    isMore: older.length === MOST_LOOKED_AT || newer.length === MOST_LOOKED_AT,
    ...(expiresAt === undefined ? {} : { expiresAt: new Date(expiresAt) }),
  }
  const until = expiresAt === undefined ? '' : `; it expires at ${instant(expiresAt)}`
  return { ...data, sentence: `The run is queued${behind(data)}${hindrance(kernel, data)}${until}.` }
}

function namesOf(records: readonly RunRecord[]): readonly string[] {
  return records.slice(0, MOST_LOOKED_AT).map(({ id }) => id)
}

/** The first of the further limits of a run that has no slot for it, with those of these runs that hold one. */
async function fullLimit(
  kernel: Kernel,
  record: RunRecord,
  holding: readonly RunRecord[],
): Promise<ExplainedLimit | undefined> {
  const { limits = [] } = record
  const states = await Promise.all(limits.map((name) => kernel.read(() => kernel.asked(GET_QUEUE, { name }))))
  for (const { id, name, counts } of limitPools(record)) {
    const settings = states[limits.indexOf(name)]
    const most = runLimitInForce(settings, kernel.tasks.limits.get(name))[counts]
    const heldBy = holding.filter((other) => limitPools(other).some((pool) => pool.id === id))
    const isPaused = settings?.isPaused === true
    if (isPaused || heldBy.length >= (most ?? Infinity))
      return { name, isPaused, ...(isPaused ? {} : { [counts]: most }), heldBy: namesOf(heldBy) }
  }
  return undefined
}

function behind({ ahead, isMore, queue, concurrencyKey }: ExplainedQueue): string {
  const key = concurrencyKey === undefined ? '' : ` under key "${concurrencyKey}"`
  if (ahead === 0 && !isMore) return ` in queue "${queue}"${key}`
  return ` behind ${isMore ? 'at least ' : ''}${counted(ahead, 'run')} of queue "${queue}"${key}`
}

/** The rate of the queue of a run, and until when it lets no run start. */
function heldUntil(
  { tasks, host }: Kernel,
  { queue }: RunRecord,
  set: QueueState | undefined,
): Pick<ExplainedQueue, 'rate' | 'nextStartAt'> {
  const rate = rateInForce(set ?? {}, tasks.queueRates.get(queue))
  if (rate === undefined) return {}
  const now = host.now()
  const at = nextStartAt(set?.starts ?? [], rate, now)
  return at > now ? { rate, nextStartAt: new Date(at) } : { rate }
}

function hindrance({ claimer, slots }: Kernel, data: ExplainedQueue): string {
  const { queue, isPaused, limit, heldBy, heldBackBy, rate, nextStartAt } = data
  if (isPaused) return `: queue "${queue}" is paused`
  if (limit !== undefined && heldBy.length >= limit) return ` (limit ${limit}, held by ${named(heldBy)})`
  if (heldBackBy !== undefined)
    return heldBackBy.isPaused
      ? `: limit "${heldBackBy.name}" is paused`
      : ` (limit "${heldBackBy.name}": ${runLimitText(heldBackBy)}, held by ${named(heldBackBy.heldBy)})`
  if (rate !== undefined && nextStartAt !== undefined)
    return `: its rate is ${rateText(rate)}, and the next run starts at ${nextStartAt.toISOString()}`
  if (!claimer.executes) return ': this engine executes nothing, so the run waits for one that does'
  if (slots.isHeld)
    return ': another run is executed alone, because its process has died with it again and again'
  if (slots.room === 0) return `: all ${counted(slots.used, 'slot')} of this engine are taken`
  return ': it is claimed by the next engine that has its task and a free slot'
}

function listed(
  kernel: Kernel,
  status: 'EXECUTING' | 'CANCELED' | 'QUEUED',
  from: Pick<PageRequest, 'after' | 'before'>,
): Promise<readonly RunRecord[]> {
  const request = { filter: { status: [status] }, page: { limit: MOST_LOOKED_AT, ...from } }
  return kernel.read(() => kernel.asked(LIST_RUNS, request)).then(({ records }) => records)
}

async function waiting(kernel: Kernel, record: RunRecord): Promise<Told> {
  const { id, returned } = record
  const tokens = await kernel.read(() => kernel.asked(RUN_WAITS, id))
  const waits = await Promise.all(tokens.map((token) => explainedWait(kernel, token)))
  const rest = waits.length - MOST_NAMED
  const texts = [...waits.slice(0, MOST_NAMED).map(waitText), ...(rest > 0 ? [`${rest} more`] : [])]
  if (waits.length > 0) {
    const isHeld = kernel.executor.attempts.get(id)?.is('queued') === true
    const beside = isHeld ? `; its work beside that goes on ${await slotFor(kernel, record)}` : ''
    return { reason: 'waiting', waits, sentence: `The run is ${texts.join(', and ')}${beside}.` }
  }
  const state = returned ? 'Its function has returned' : 'All that the run waited for has come'
  return { reason: 'waiting', waits, sentence: `${state}: it goes on ${await slotFor(kernel, record)}.` }
}

/** Which free slot a run gets. */
async function slotFor(kernel: Kernel, record: RunRecord): Promise<string> {
  const { id, queue, limits = [], returned } = record
  const isPaused = async (name: string): Promise<boolean> =>
    !returned && (await kernel.read(() => kernel.asked(GET_QUEUE, { name })))?.isPaused === true
  if (await isPaused(queue)) return `when queue "${queue}" is resumed`
  for (const name of limits) if (await isPaused(name)) return `when limit "${name}" is resumed`
  const { executor, slots } = kernel
  const attempt = executor.attempts.get(id)
  if (attempt === undefined) return 'when its engine has a slot for it'
  const ahead = slots.ahead(attempt)
  if (ahead === 0) return 'with the next free slot'
  const full = limitPools(record).find((pool) => pool.id === slots.fullPool(attempt))
  return ahead === undefined
    ? `with the next free slot of ${full === undefined ? 'its queue' : `limit "${full.name}"`}`
    : `after ${counted(ahead, 'run')} before it in line`
}

async function explainedWait(kernel: Kernel, token: TokenRecord): Promise<ExplainedWait> {
  const childId = runIdOfToken(token.id)
  const child = childId === undefined ? undefined : await kernel.read(() => kernel.asked(GET_RUN, childId))
  const { kind, tags, createdAt, timeoutAt } = token
  return {
    id: childId ?? token.id,
    kind,
    tags,
    createdAt: new Date(createdAt),
    ...(timeoutAt === undefined ? {} : { timeoutAt: new Date(timeoutAt) }),
    ...(child === undefined ? {} : { taskIdentifier: child.taskId, status: child.status }),
  }
}

function waitText({ id, kind, tags, createdAt, timeoutAt, taskIdentifier, status }: ExplainedWait): string {
  const until = timeoutAt === undefined ? '' : ` until ${timeoutAt.toISOString()}`
  if (kind === 'SLEEP') return `sleeping${until}`
  if (kind === 'RUN')
    return `waiting for child run ${id}${status === undefined ? '' : ` of task "${taskIdentifier ?? ''}", which is ${status}`}`
  const tagged = tags.length === 0 ? '' : ` [${tags.join(', ')}]`
  return `waiting for token ${id}${tagged}, created at ${createdAt.toISOString()}${until === '' ? '' : `,${until}`}`
}

async function executing(kernel: Kernel, record: RunRecord): Promise<Told> {
  const { attempt, startedAt, updatedAt, returned, taskId } = record
  const { host, tasks } = kernel
  const lease = await leaseOf(kernel, record)
  const owner = viewOwner(kernel, record, lease)
  const data = {
    reason: 'executing',
    attempt,
    ...(owner === undefined ? {} : { owner }),
    ...(startedAt === undefined ? {} : { startedAt: new Date(startedAt) }),
    changedAt: new Date(updatedAt),
    isDraining: returned,
  } as const
  const changed = `its record last changed at ${instant(updatedAt)}`
  if ((owner === undefined || lease?.isLost === true) && isSuspect(record)) {
    const where = owner === undefined ? '' : ` on engine ${owner.id}${heardOf(lease, host.now())}`
    return { ...data, sentence: `The run was executed${where} ${suspected(kernel, record)}; ${changed}.` }
  }
  if (owner === undefined) {
    const whose = tasks.get(taskId) === undefined ? ` that has task "${taskId}"` : ''
    return {
      ...data,
      sentence: `The run was interrupted in attempt ${attempt} and is executed again by the next engine${whose} with a free slot; ${changed}.`,
    }
  }
  const where = owner.isHere ? `this engine (${owner.id})` : `engine ${owner.id}${placeOf(lease, host.now())}`
  const what = returned ? 'has returned, and its streams are drained' : `executes attempt ${attempt}`
  return { ...data, sentence: `The run ${what} on ${where}; ${changed}.` }
}

/** That its process has died with it, and beside how many others it is executed again. */
function suspected({ claimer: { maxInterruptions } }: Kernel, record: RunRecord): string {
  const deaths = deathsOf(record)
  const others = mostSuspects(deaths, maxInterruptions) - 1
  const how =
    deaths >= trialAt(maxInterruptions)
      ? 'alone, by an engine that executes nothing else'
      : `beside at most ${counted(others, 'other such run')}`
  return `when its process died, ${counted(deaths, 'time')} in a row, and is executed again ${how}`
}

/** Where another engine is, and whether it is still heard. */
function placeOf(lease: LeaseRecord | undefined, now: number): string {
  const isOver = lease?.isLost === true || (lease?.until ?? Infinity) <= now
  const over = isOver ? ', whose lease has ended: the next engine with a free slot takes the run over' : ''
  return heardOf(lease, now) + over
}

function heardOf(lease: LeaseRecord | undefined, now: number): string {
  if (lease === undefined) return ''
  const at = enginePlace(lease)
  const ago = Math.max(0, Math.round((now - (lease.heardAt ?? now)) / 1_000))
  return `${at === '' ? '' : ` (${at})`}${lease.heardAt === undefined ? '' : `, last heard ${ago} s ago`}`
}

function errorOf({ errorJson }: RunRecord): StoredError | undefined {
  return errorJson === undefined ? undefined : storedError(errorJson)
}

function because(error: StoredError | undefined): string {
  if (error === undefined) return ''
  const text = error.message === '' ? error.name : error.message
  const first = text.slice(0, MOST_OF_A_MESSAGE).replace(/\.$/, '')
  return `: ${first}${text.length > MOST_OF_A_MESSAGE ? '…' : ''}`
}

function named(items: readonly string[]): string {
  const rest = items.length - MOST_NAMED
  return items.slice(0, MOST_NAMED).join(', ') + (rest > 0 ? ` and ${rest} more` : '')
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

function instant(at: number): string {
  return new Date(at).toISOString()
}
