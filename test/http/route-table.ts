import { type AnyTask, type CreatedToken, task, wait } from 'waitpoint'
import { createHandler, type Handler, type HandlerLimits } from 'waitpoint/http'
import type { TestClock, TestEngine } from 'waitpoint/testing'
import { OPERATIONS } from '../../src/http/openapi.ts'
import type { Operation } from '../../src/http/operation.ts'
import { accessToken, ask, OTHER_SECRET, SECRET, stillEngine } from './requests.ts'

const echo = task({ id: 'echo', run: (payload: unknown) => payload })
const waits = task({
  id: 'waits',
  run: async (token: string) => {
    await wait.forToken(token)
  },
})
const nightly = task({ id: 'nightly', schedule: {}, run: () => undefined })
const tasks: readonly AnyTask[] = [echo, waits, nightly]

/** Scopes of access tokens; `$token`, `$run` and the like stand for what the world has. */
const SCOPES = {
  admin: ['admin'],
  nothing: [],
  others: [
    'write:waitpoints:waitpoint_other',
    'read:runs:run_other',
    'write:runs:run_other',
    'trigger:tasks:other',
    'read:tags:other',
    'read:tasks:other',
    'write:streams:run_other',
    'read:batch:batch_other',
  ],
  'write:waitpoints:$token': ['write:waitpoints:$token'],
  'read:waitpoints:$token': ['read:waitpoints:$token'],
  'read:waitpoints': ['read:waitpoints'],
  'read:runs:$run': ['read:runs:$run'],
  'write:runs:$run': ['write:runs:$run'],
  'cancel:runs:$run': ['cancel:runs:$run'],
  'write:runs:$delayed': ['write:runs:$delayed'],
  'read:runs': ['read:runs'],
  'read:tags:a': ['read:tags:a'],
  'read:tasks:waits': ['read:tasks:waits'],
  'trigger:tasks:echo': ['trigger:tasks:echo'],
  'read:all': ['read:all'],
  'write:streams:$run': ['write:streams:$run'],
  'read:batch:$batch': ['read:batch:$batch'],
} as const

type Scoped = keyof typeof SCOPES
type Key = 'first key' | 'second key'
/** What proves nothing, whatever is written in it. */
type Useless = 'none' | 'wrong key' | 'expired' | 'forged' | 'of another issuer'
export type Credential = Scoped | Key | Useless

export const CREDENTIALS: readonly Credential[] = [
  // As the keys of the table they are, nothing else.
  ...(Object.keys(SCOPES) as Scoped[]),
  'first key',
  'second key',
  'none',
  'wrong key',
  'expired',
  'forged',
  'of another issuer',
]
const USELESS: readonly Credential[] = ['none', 'wrong key', 'expired', 'forged', 'of another issuer']

/** One route, who may ask it, and a request that does something there. */
export interface RouteRow {
  readonly route: string
  /** `$token`, `$hash`, `$proof`, `$run`, `$delayed`, `$packet`, `$key`, `$batch`, `$schedule` and `$inactive` stand for what the world has. */
  readonly path: string
  readonly body?: unknown
  /** Of the body, if it is not JSON. */
  readonly type?: string
  /** Besides the secret keys; `address`: any caller that has the address, be it secret or not. */
  readonly may: readonly Scoped[] | 'address'
  /** A request that is let through changes something. */
  readonly changes?: boolean
}

/** What a request to a route looks like, where the address of the route does not say it. */
const REQUESTS: Readonly<Record<string, Partial<Pick<RouteRow, 'path' | 'body' | 'type' | 'changes'>>>> = {
  createToken: { body: { tags: ['new'] }, changes: true },
  listTokens: { path: '/api/v1/waitpoints/tokens?page[size]=2' },
  completeToken: { body: { output: 1 }, changes: true },
  completeTokenByUrl: { body: 1, changes: true },
  withdrawToken: { body: { reason: 'late' }, changes: true },
  extendToken: { body: { timeout: '9d' }, changes: true },
  reassignToken: { body: { approvers: ['ann'] }, changes: true },
  answerQuestion: { body: 'form=1&answer=1', type: 'application/x-www-form-urlencoded' },
  triggerTask: {
    body: { payload: '{"json":1}', options: { payloadType: 'application/super+json', tags: ['new'] } },
    changes: true,
  },
  resetIdempotencyKey: { body: { taskIdentifier: 'echo' }, changes: true },
  announceBatch: { body: { runCount: 2 } },
  sendBatchItems: { body: { index: 0, task: 'echo', payload: 1 }, changes: true },
  putPacket: { body: { json: 1 } },
  listRuns: { path: '/api/v1/runs?filter[status]=WAITING' },
  cancelRun: { changes: true },
  replayRun: { changes: true },
  addTags: { body: { tags: ['more'] }, changes: true },
  rescheduleRun: { path: '/api/v1/runs/$delayed/reschedule', body: { delay: '2h' }, changes: true },
  changeMetadata: { body: { operations: [{ type: 'append', key: 'list', value: 1 }] }, changes: true },
  followRunsByPolling: { path: '/realtime/v1/runs?tags=a' },
  announceStream: { changes: true },
  sendInput: { body: { data: 'next' }, changes: true },
  writeStream: { body: { type: 'text-delta' }, changes: true },
  appendChunk: { body: 'text', changes: true },
  createPublicToken: { body: { scopes: ['read:runs'] } },
  listSchedules: { path: '/api/v1/schedules?page=1&perPage=2' },
  createSchedule: {
    body: { task: 'nightly', cron: '0 9 * * *', deduplicationKey: 'new' },
    changes: true,
  },
  updateSchedule: { body: { task: 'nightly', cron: '0 10 * * *' }, changes: true },
  deleteSchedule: { changes: true },
  activateSchedule: { path: '/api/v1/schedules/$inactive/activate', changes: true },
  deactivateSchedule: { changes: true },
  listQueues: { path: '/api/v1/queues?page=1&perPage=2' },
  retrieveQueue: { path: '/api/v1/queues/echo?type=task' },
  pauseQueue: { body: { type: 'task', action: 'pause' }, changes: true },
  setQueueLimit: { body: { type: 'task', concurrencyLimit: 2 }, changes: true },
  resetQueueLimit: {
    path: '/api/v1/queues/limited/concurrency/reset',
    body: { type: 'custom' },
    changes: true,
  },
}

/** What stands in a path for one of its parts, by the part and what is before it. */
const PARTS: Readonly<Record<string, string>> = {
  'tokens/:id': '$token',
  'answer/:id': '$token',
  ':proof': '$proof',
  ':hash': '$hash',
  'runs/:id': '$run',
  'runs/:run': '$run',
  ':runId': '$run',
  'tasks/:id': 'echo',
  'batches/:id': '$batch',
  'schedules/:id': '$schedule',
  ':queue': 'echo',
  'packets/:name': 'payload.json',
  'packets/:path': '$packet',
  'content/:key': '$key',
  'idempotencyKeys/:key': 'keyed',
  'input/:stream': 'messages',
  ':key{.+}': 'k',
}

function pathOf(at: string): string {
  const [, path = ''] = at.split(' ')
  return path.replace(/(?<=(\w+)\/):\w+(?:\{\.\+\})?/g, (part, before: string) => {
    const text = PARTS[`${before}/${part}`] ?? PARTS[part]
    if (text === undefined) throw new Error(`test/http/route-table.ts: what stands for ${part} in ${at}?`)
    return text
  })
}

/** The scopes with which a route may be asked, as its operation says, for what a path names. */
function mayAsk({ at, allowed }: Operation, path: string): RouteRow['may'] {
  if (allowed === 'address' || allowed === 'open') return 'address'
  if (allowed === 'secret key') return []
  const names = Object.keys(SCOPES) as Scoped[]
  if (allowed === 'any') return names
  const ids = idsOf(at, path)
  const accesses = allowed.flatMap((scope) => {
    const id = /<(\w+)>/.exec(scope)?.[1]
    if (id === undefined) return [scope]
    return ids[id] === undefined ? [] : [scope.replace(/<\w+>/, ids[id])]
  })
  return names.filter((name) =>
    SCOPES[name].some((scope) => accesses.some((access) => grants(scope, access))),
  )
}

/** What the scopes of a route are about: parts of its path, and the task and the tag of the run that it names. */
function idsOf(at: string, path: string): Readonly<Record<string, string>> {
  const pattern = (at.split(' ')[1] ?? '').replace(/:(\w+)(\{\.\+\})?/g, '(?<$1>[^?]+)')
  const { groups = {} } = new RegExp(`^${pattern}(?:$|\\?)`).exec(path) ?? {}
  const ofRun = path.includes('/$run') ? { task: 'waits', tag: 'a' } : {}
  return { ...groups, ...ofRun, ...(path.includes('tags=a') ? { tag: 'a' } : {}) }
}

function grants(scope: string, access: string): boolean {
  if (scope === 'admin') return true
  const [action, type, id] = scope.split(':')
  const [wantedAction, wantedType, wantedId] = access.split(':')
  if (action !== wantedAction || (type !== wantedType && type !== 'all')) return false
  return id === undefined || id === wantedId
}

/** Every route there is. HEAD is asked of GET: it is for who may write. */
export const ROUTES: readonly RouteRow[] = OPERATIONS.filter(({ method }) => method !== 'head').map(
  (operation) => {
    const { id, at } = operation
    const { path = pathOf(at), ...rest } = REQUESTS[id] ?? {}
    return { route: at, path, ...rest, may: mayAsk(operation, path) }
  },
)

/** What a request with this credential is answered: let through, or one of these. */
export function expected({ may }: RouteRow, credential: Credential): 'through' | 401 | 403 {
  if (may === 'address') return 'through'
  if (USELESS.includes(credential)) return 401
  const isKey = credential === 'first key' || credential === 'second key'
  return isKey || may.some((scope) => scope === credential) ? 'through' : 403
}

/** An engine with a token, and a run that waits for another one; and what was given out for them. */
export interface World extends AsyncDisposable {
  readonly t: TestEngine
  readonly handler: Handler
  /** What the names in the table stand for. */
  readonly names: Readonly<Record<string, string>>
  readonly credentials: Readonly<Record<Credential, string | null>>
}

/** Small enough for bodies to be beyond them, large enough for those of the table. */
const LIMITS: HandlerLimits = {
  completeBytes: 512,
  createTokenBytes: 512,
  triggerBytes: 512,
  metadataBytes: 512,
  otherBytes: 512,
  packets: 5,
}

export async function makeWorld(limits: HandlerLimits = LIMITS, clock?: TestClock): Promise<World> {
  const t = await stillEngine({ tasks, ...(clock && { clock }) })
  const handler = createHandler(t.engine, { limits })
  const token = await t.engine.wait.createToken({ timeout: '1d' })
  const pending = await t.engine.wait.createToken({ timeout: '1d' })
  const run = await t.engine.trigger(waits, pending.id, { tags: ['a'] })
  const delayed = await t.engine.trigger(echo, null, { delay: '1h', idempotencyKey: 'keyed' })
  await t.clock.settle()
  const { presignedUrl } = (await ask(handler, 'PUT /api/v2/packets/x')).body as {
    readonly presignedUrl: string
  }
  const { id: batch } = (await ask(handler, 'POST /api/v3/batches', { body: { runCount: 2 } })).body as {
    readonly id: string
  }
  const [, packet = '', key = ''] = /packets\/(\w+)\/content\/(\w+)$/.exec(presignedUrl) ?? []
  const yearly = { task: 'nightly', cron: '0 0 1 1 *' }
  const schedule = (await t.engine.schedules.create({ ...yearly, deduplicationKey: 'active' })).id
  const inactive = (await t.engine.schedules.create({ ...yearly, deduplicationKey: 'inactive' })).id
  await t.engine.schedules.deactivate(inactive)
  await t.engine.queue('limited').setLimit(1)
  const names = {
    schedule,
    inactive,
    token: token.id,
    hash: hashOf(token),
    proof: token.link.slice(-43),
    run: run.id,
    delayed: delayed.id,
    packet,
    key,
    batch,
  }
  const credentials = await makeCredentials(names, t.clock.now())
  return { t, handler, names, credentials, [Symbol.asyncDispose]: () => closeLoose(t, [run.id, delayed.id]) }
}

export function filled(path: string, names: Readonly<Record<string, string>>): string {
  return path.replace(/\$(\w+)/g, (_all, name: string) => names[name] ?? '')
}

function hashOf({ url }: CreatedToken): string {
  return url.slice(-64)
}

async function makeCredentials(
  names: Readonly<Record<string, string>>,
  now: number,
): Promise<World['credentials']> {
  const scoped = Object.entries(SCOPES).map(async ([name, scopes]) => {
    const own = scopes.map((scope) => filled(scope, names))
    return [name, await accessToken(own, now)] as const
  })
  const expiredAt = Math.floor(now / 1_000)
  return {
    // Every scope has one.
    ...(Object.fromEntries(await Promise.all(scoped)) as Record<Scoped, string>),
    'first key': SECRET,
    'second key': OTHER_SECRET,
    none: null,
    'wrong key': `${SECRET}x`,
    expired: await accessToken(['admin'], now, { claims: { exp: expiredAt } }),
    forged: await accessToken(['admin'], now, { key: 'sk_third' }),
    'of another issuer': await accessToken(['admin'], now, { claims: { iss: 'https://example.com' } }),
  }
}

/** Ignores calls begun here. */
async function closeLoose(t: TestEngine, runIds: readonly string[]): Promise<void> {
  for (const id of runIds) await t.engine.runs.cancel(id)
  await t.close()
}
