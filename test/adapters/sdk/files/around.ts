import {
  CompleteTaskWithOutput,
  auth,
  configure,
  envvars,
  heartbeats,
  logger,
  otel,
  runs,
  task,
  tasks,
  timeout,
  usage,
  waitUntil,
  type Context,
} from '@trigger.dev/sdk'
import type { greet } from './greetings.ts'

configure({ secretKey: 'tr_dev_xxxxxxxx' })

const nameOf = (ctx: Context) => `${ctx.task.id}@${ctx.environment.slug}`

export const settled: string[] = []

export const around = task({
  id: 'around',
  maxDuration: timeout.None,
  run: async (payload: { variable: string }, { ctx }) => {
    waitUntil(Promise.resolve().then(() => settled.push('settled')))
    await heartbeats.yield()
    const variable = await envvars.retrieve(payload.variable)
    const { result } = await usage.measure(async () => otel.withExternalTrace(() => 'measured'))
    const traced = await logger.trace('a span', async (span) => {
      span.setAttribute('key', 'value')
      return 'traced'
    })
    return { name: nameOf(ctx), variable: variable.value, result, traced }
  },
})

export const early = task({
  id: 'early',
  run: async (): Promise<string> => {
    throw new CompleteTaskWithOutput('done early')
  },
})

export async function greetFromOutside(name: string) {
  const handle = await tasks.trigger<typeof greet>('greet', { name }, { tags: 'outside' })
  const run = await runs.poll(handle)
  const retrieved = await runs.retrieve<typeof greet>(handle.id)
  const listed: string[] = []
  for await (const one of runs.list({ taskIdentifier: 'greet', limit: 10 })) listed.push(one.id)
  let page = await runs.list({ tag: 'outside', status: ['COMPLETED'] })
  while (page.hasNextPage()) page = await page.getNextPage()
  const again = await runs.replay(handle.id)
  await runs.cancel(again.id)
  return {
    text: run.output?.text,
    name: retrieved.payload?.name,
    listed: listed.length,
    page: page.data.length,
    attempt: retrieved.output?.attempt,
  }
}

export const publicToken = () => auth.createPublicToken({ scopes: { read: { runs: ['run_1'] } } })
