import { type Context, defineConfig, runs, schedules, task, wait } from '@trigger.dev/sdk'

export default defineConfig({
  project: 'proj_example',
  dirs: ['./src/trigger'],
  maxDuration: 3_600,
  logLevel: 'info',
  retries: { enabledInDev: false, default: { maxAttempts: 3, factor: 2, randomize: true } },
  init: async ({ ctx, task }) => ({ label: `${task} ${ctx.run.id}` }),
  onStart: async ({ payload, ctx, task }) => console.log(task, ctx.attempt.number, payload),
  onSuccess: async ({ output, task }) => console.log(task, output),
  onFailure: async ({ error, ctx }) => console.error(ctx.environment.slug, error),
  build: {
    external: ['sharp'],
    extensions: [
      {
        name: 'own',
        externalsForTarget: (target) => (target === 'dev' ? [] : ['pg']),
        onBuildStart: (context) => console.log(context.target),
        onBuildComplete: async (context, manifest) => console.log(context.target, manifest.files.length),
      },
    ],
  },
})

const upload = task({ id: 'upload', run: async ({ url }: { url: string }) => url.length })

/** Reads what the published types say of runs. */
export async function reads(runId: string): Promise<unknown[]> {
  const run = await runs.retrieve<typeof upload>(runId)
  const told: unknown[] = [run.schedule?.generator.expression, run.triggerFunction, run.payload?.url]
  for await (const { payload, output } of runs.subscribeToRun<typeof upload>(runId))
    told.push(payload.url, output?.toFixed())
  for await (const { payload } of runs.subscribeToRunsWithTag<typeof upload>(['a'])) told.push(payload.url)
  for await (const { output } of runs.subscribeToBatch<typeof upload>('batch_a')) told.push(output?.toFixed())
  return told
}

/** Reads of views what an application may show. */
export async function shows(runId: string, ctx: Context): Promise<unknown[]> {
  const { error, taskKind, payloadPresignedUrl, outputPresignedUrl, relatedRuns } = await runs.retrieve(runId)
  const told: unknown[] = [
    error?.stackTrace,
    error?.causes?.length,
    taskKind,
    payloadPresignedUrl,
    outputPresignedUrl,
  ]
  const depth: number | undefined = relatedRuns.parent?.depth
  const page = await runs.list()
  const first = page.getPaginatedItems()[0]
  for await (const { data } of page.iterPages()) told.push(data.length, first?.env.user, depth)
  const reader = runs.subscribeToRun(runId).withStreams<{ log: string }>().getReader()
  const { value } = await reader.read()
  if (value?.type === 'log') told.push(value.chunk.length)
  for await (const token of await wait.listTokens()) {
    const tags: string[] = token.tags
    const sameTags: string[] = (await wait.retrieveToken(token)).tags
    told.push(tags, sameTags)
  }
  const { window, appliedSchedulePolicy } = await schedules.retrieve('sched_a')
  told.push(window, appliedSchedulePolicy?.minimumWindowSeconds)
  return [...told, ctx.environment.git?.commitSha, ctx.deployment?.git?.dirty, ctx.deployment?.externalId]
}
