import { type AnyTask, type CreatedToken, task, wait } from 'waitpoint'
import { createHandler, type Handler, type HandlerLimits } from 'waitpoint/http'
import type { TestClock, TestEngine } from 'waitpoint/testing'
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
  /** `$token`, `$hash`, `$run`, `$delayed`, `$packet`, `$key`, `$batch`, `$schedule` and `$inactive` stand for what the world has. */
  readonly path: string
  readonly body?: unknown
  /** Besides the secret keys; `address`: any caller that has the address, be it secret or not. */
  readonly may: readonly Scoped[] | 'address'
  /** A request that is let through changes something. */
  readonly changes?: boolean
}

const TOKENS = '/api/v1/waitpoints/tokens'
const READ_RUN: readonly Scoped[] = [
  'admin',
  'read:runs:$run',
  'read:runs',
  'read:tags:a',
  'read:tasks:waits',
  'read:all',
]
const CHANGE_RUN: readonly Scoped[] = ['admin', 'write:runs:$run']
const WRITE_STREAM: readonly Scoped[] = ['admin', 'write:streams:$run']
const KEYS_ONLY: readonly Scoped[] = []
const REALTIME = '/realtime/v1'
const SCHEDULES = '/api/v1/schedules'
const QUEUES = '/api/v1/queues'

/** Every route there is. */
export const ROUTES: readonly RouteRow[] = [
  { route: `POST ${TOKENS}`, path: TOKENS, body: { tags: ['new'] }, may: KEYS_ONLY, changes: true },
  { route: `GET ${TOKENS}`, path: `${TOKENS}?page[size]=2`, may: ['admin', 'read:waitpoints', 'read:all'] },
  {
    route: `GET ${TOKENS}/:id`,
    path: `${TOKENS}/$token`,
    may: ['admin', 'read:waitpoints', 'read:waitpoints:$token', 'read:all'],
  },
  {
    route: `POST ${TOKENS}/:id/complete`,
    path: `${TOKENS}/$token/complete`,
    body: { output: 1 },
    may: ['admin', 'write:waitpoints:$token'],
    changes: true,
  },
  {
    route: `POST ${TOKENS}/:id/callback/:hash`,
    path: `${TOKENS}/$token/callback/$hash`,
    body: 1,
    may: 'address',
    changes: true,
  },
  {
    route: 'POST /api/v1/tasks/:id/trigger',
    path: '/api/v1/tasks/echo/trigger',
    body: { payload: '{"json":1}', options: { payloadType: 'application/super+json', tags: ['new'] } },
    may: ['admin', 'trigger:tasks:echo'],
    changes: true,
  },
  {
    route: 'POST /api/v1/idempotencyKeys/:key/reset',
    path: '/api/v1/idempotencyKeys/keyed/reset',
    body: { taskIdentifier: 'echo' },
    may: KEYS_ONLY,
    changes: true,
  },
  { route: 'POST /api/v3/batches', path: '/api/v3/batches', body: { runCount: 2 }, may: KEYS_ONLY },
  {
    route: 'POST /api/v3/batches/:id/items',
    path: '/api/v3/batches/$batch/items',
    body: { index: 0, task: 'echo', payload: 1 },
    may: KEYS_ONLY,
    changes: true,
  },
  {
    route: 'GET /api/v2/batches/:id',
    path: '/api/v2/batches/$batch',
    may: ['admin', 'read:all', 'read:batch:$batch'],
  },
  { route: 'PUT /api/v2/packets/:name', path: '/api/v2/packets/payload.json', may: KEYS_ONLY },
  {
    route: 'PUT /api/v2/packets/:path/content/:key',
    path: '/api/v2/packets/$packet/content/$key',
    body: { json: 1 },
    may: 'address',
  },
  { route: 'GET /api/v3/runs/:id', path: '/api/v3/runs/$run', may: READ_RUN },
  {
    route: 'GET /api/v1/runs',
    path: '/api/v1/runs?filter[status]=WAITING',
    may: ['admin', 'read:runs', 'read:all'],
  },
  { route: 'GET /api/v1/runs/:id/result', path: '/api/v1/runs/$run/result', may: READ_RUN },
  { route: 'GET /api/v1/runs/:id/explanation', path: '/api/v1/runs/$run/explanation', may: KEYS_ONLY },
  {
    route: 'POST /api/v2/runs/:id/cancel',
    path: '/api/v2/runs/$run/cancel',
    may: [...CHANGE_RUN, 'cancel:runs:$run'],
    changes: true,
  },
  { route: 'POST /api/v1/runs/:id/replay', path: '/api/v1/runs/$run/replay', may: CHANGE_RUN, changes: true },
  {
    route: 'POST /api/v1/runs/:id/tags',
    path: '/api/v1/runs/$run/tags',
    body: { tags: ['more'] },
    may: CHANGE_RUN,
    changes: true,
  },
  {
    route: 'POST /api/v1/runs/:id/reschedule',
    path: '/api/v1/runs/$delayed/reschedule',
    body: { delay: '2h' },
    may: ['admin', 'write:runs:$delayed'],
    changes: true,
  },
  // The run does not wait for fitting code, so that it stays as it is.
  { route: 'POST /api/v1/runs/:id/continue', path: '/api/v1/runs/$run/continue', may: CHANGE_RUN },
  { route: 'GET /api/v1/runs/:id/metadata', path: '/api/v1/runs/$run/metadata', may: READ_RUN },
  {
    route: 'PUT /api/v1/runs/:id/metadata',
    path: '/api/v1/runs/$run/metadata',
    body: { operations: [{ type: 'append', key: 'list', value: 1 }] },
    may: CHANGE_RUN,
    changes: true,
  },
  { route: 'GET /api/v1/runs/:id/stream', path: '/api/v1/runs/$run/stream', may: READ_RUN },
  { route: `GET ${REALTIME}/runs/:id`, path: `${REALTIME}/runs/$run`, may: READ_RUN },
  {
    route: `GET ${REALTIME}/runs`,
    path: `${REALTIME}/runs?tags=a`,
    may: ['admin', 'read:runs', 'read:tags:a', 'read:all'],
  },
  {
    route: `GET ${REALTIME}/batches/:id`,
    path: `${REALTIME}/batches/$batch`,
    may: ['admin', 'read:runs', 'read:all', 'read:batch:$batch'],
  },
  {
    route: `GET ${REALTIME}/streams/:runId/:key{.+}`,
    path: `${REALTIME}/streams/$run/k`,
    may: READ_RUN,
  },
  // HEAD is for who may write.
  {
    route: `GET ${REALTIME}/streams/:runId/self/:key{.+}`,
    path: `${REALTIME}/streams/$run/self/k`,
    may: READ_RUN,
  },
  {
    route: `PUT ${REALTIME}/streams/:runId/self/:key{.+}`,
    path: `${REALTIME}/streams/$run/self/k`,
    may: WRITE_STREAM,
    changes: true,
  },
  {
    route: `POST ${REALTIME}/streams/:runId/self/:key{.+}`,
    path: `${REALTIME}/streams/$run/self/k`,
    body: { type: 'text-delta' },
    may: WRITE_STREAM,
    changes: true,
  },
  {
    route: `GET ${REALTIME}/streams/:runId/self/:key{.+}/append`,
    path: `${REALTIME}/streams/$run/self/k/append`,
    may: READ_RUN,
  },
  {
    route: `POST ${REALTIME}/streams/:runId/self/:key{.+}/append`,
    path: `${REALTIME}/streams/$run/self/k/append`,
    body: 'text',
    may: WRITE_STREAM,
    changes: true,
  },
  { route: 'POST /api/v1/auth/jwt/claims', path: '/api/v1/auth/jwt/claims', may: KEYS_ONLY },
  {
    route: 'POST /api/v1/auth/public-tokens',
    path: '/api/v1/auth/public-tokens',
    body: { scopes: ['read:runs'] },
    may: KEYS_ONLY,
  },
  { route: `GET ${SCHEDULES}`, path: `${SCHEDULES}?page=1&perPage=2`, may: KEYS_ONLY },
  {
    route: `POST ${SCHEDULES}`,
    path: SCHEDULES,
    body: { task: 'nightly', cron: '0 9 * * *', deduplicationKey: 'new' },
    may: KEYS_ONLY,
    changes: true,
  },
  { route: `GET ${SCHEDULES}/:id`, path: `${SCHEDULES}/$schedule`, may: KEYS_ONLY },
  {
    route: `PUT ${SCHEDULES}/:id`,
    path: `${SCHEDULES}/$schedule`,
    body: { task: 'nightly', cron: '0 10 * * *' },
    may: KEYS_ONLY,
    changes: true,
  },
  { route: `DELETE ${SCHEDULES}/:id`, path: `${SCHEDULES}/$schedule`, may: KEYS_ONLY, changes: true },
  {
    route: `POST ${SCHEDULES}/:id/activate`,
    path: `${SCHEDULES}/$inactive/activate`,
    may: KEYS_ONLY,
    changes: true,
  },
  {
    route: `POST ${SCHEDULES}/:id/deactivate`,
    path: `${SCHEDULES}/$schedule/deactivate`,
    may: KEYS_ONLY,
    changes: true,
  },
  { route: 'GET /api/v1/timezones', path: '/api/v1/timezones', may: 'address' },
  { route: `GET ${QUEUES}`, path: `${QUEUES}?page=1&perPage=2`, may: KEYS_ONLY },
  { route: `GET ${QUEUES}/:queue`, path: `${QUEUES}/echo?type=task`, may: KEYS_ONLY },
  {
    route: `POST ${QUEUES}/:queue/pause`,
    path: `${QUEUES}/echo/pause`,
    body: { type: 'task', action: 'pause' },
    may: KEYS_ONLY,
    changes: true,
  },
  {
    route: `POST ${QUEUES}/:queue/concurrency/override`,
    path: `${QUEUES}/echo/concurrency/override`,
    body: { type: 'task', concurrencyLimit: 2 },
    may: KEYS_ONLY,
    changes: true,
  },
  {
    route: `POST ${QUEUES}/:queue/concurrency/reset`,
    path: `${QUEUES}/limited/concurrency/reset`,
    body: { type: 'custom' },
    may: KEYS_ONLY,
    changes: true,
  },
  { route: 'GET /healthz', path: '/healthz', may: 'address' },
  { route: 'GET /metrics', path: '/metrics', may: KEYS_ONLY },
  // For any valid credential, the answer is that there are none.
  ...['waitpoints/tokens/:id/wait', 'wait/duration'].map((path): RouteRow => ({
    route: `POST /engine/v1/runs/:run/${path}`,
    path: `/engine/v1/runs/$run/${path.replace(':id', '$token')}`,
    may: Object.keys(SCOPES) as Scoped[],
  })),
]

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
