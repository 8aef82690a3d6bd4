import * as sdk from '@trigger.dev/sdk'
import {
  ApiError,
  BatchTriggerError,
  InMemoryCache,
  NotFoundError,
  OutOfMemoryError,
  RateLimitError,
  concurrencyLimits,
  createCache,
  deployments,
  prompts,
  query,
  retry,
  sessions,
  skills,
  task,
  tasks,
} from '@trigger.dev/sdk'

const store = new InMemoryCache<number>()
const cached = createCache(store)

/** What kind of error a call has met, as an application asks. */
export function kindOf(error: unknown): string {
  if (error instanceof RateLimitError) return `wait ${error.millisecondsUntilReset ?? 0}`
  if (error instanceof NotFoundError) return `missing ${error.status}`
  if (error instanceof ApiError) return `status ${error.status ?? 0} ${error.code ?? ''}`.trim()
  if (error instanceof BatchTriggerError) return `batch ${error.isRateLimited ? 'later' : error.phase}`
  return error instanceof OutOfMemoryError ? 'memory' : 'other'
}

export const measured = task({
  id: 'measured',
  run: async ({ text }: { text: string }) => {
    let reads = 0
    const read = () => cached(text, () => text.length + reads++)
    return { first: await read(), second: await read(), stored: (await store.get(text))?.value, reads }
  },
})

interface Row {
  status: string
  count: number
}

export const calls: Record<string, () => unknown> = {
  'query.execute': async () => {
    const { results } = await query.execute<Row>('SELECT status, count() AS count FROM runs GROUP BY status')
    return results.map(({ status }) => status)
  },
  'query.dashboards.list': async () => query.dashboards.list(),
  'deployments.retrieveCurrent': async () => deployments.retrieveCurrent(),
  'prompts.define': () => prompts.define({ id: 'greeting', content: 'Hello {{name}}' }),
  'skills.define': () => skills.define({ id: 'sums', path: './skills/sums' }),
  'sessions.open': () => sessions.open('session_1').out,
  'concurrencyLimits.pause': async () => concurrencyLimits.pause('tenants'),
  concurrencyLimit: () => sdk.concurrencyLimit({ name: 'tenants', total: 1 }),
  'webhooks.waiter.cancel': async () => sdk.webhooks.waiter.cancel('waiter_1'),
  'webhookSources.stripe': () => sdk.webhookSources.stripe(),
  'providerProducers.linear': () => sdk.providerProducers.linear(),
  normalizeKeyString: () => sdk.normalizeKeyString('{event.id}'),
  TriggerClient: () => new sdk.TriggerClient({ accessToken: 'tr_dev_xxxxxxxx' }).runs,
  SessionHandle: () => new sdk.SessionHandle('session_1').id,
  SessionInputChannel: () => new sdk.SessionInputChannel('session_1'),
  SessionOutputChannel: () => new sdk.SessionOutputChannel('session_1'),
  triggerAndSubscribe: () => measured.triggerAndSubscribe({ text: 'a' }, { cancelOnAbort: true }),
}

export const freed = async () => sdk.idempotencyKeys.reset('measured', ['key', '1'], { scope: 'global' })

export const byId = async () => tasks.triggerAndSubscribe<typeof measured>('measured', { text: 'a' })
