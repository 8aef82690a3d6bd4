import {
  runs,
  task,
  usage,
  type AnyOnStartHookFunction,
  type CurrentUsage,
  type HandleErrorFunction,
  type JSONSchema,
  type LogLevel,
  type RealtimeDefineStreamOptions,
  type ReplayRunOptions,
  type ResolveEnvironmentVariablesFunction,
  type RunMetadata,
  type TaskRunShape,
} from '@trigger.dev/sdk'

const started: string[] = []
const noteStart: AnyOnStartHookFunction = async ({ task: id }) => void started.push(id)
const giveUp: HandleErrorFunction = async () => ({ skipRetrying: true })
const schema: JSONSchema = { type: 'object', properties: { level: { type: 'string' } } }

export const variables: ResolveEnvironmentVariablesFunction = async ({ env }) => ({ variables: { ...env } })
export const stream: RealtimeDefineStreamOptions = { id: 'lines' }
export const again: ReplayRunOptions = { queue: 'nightly', tags: ['again'] }

const labelled = (level: LogLevel): RunMetadata => ({ level, isLoud: level === 'error' })
const costs = ({ totalCostInCents }: CurrentUsage): boolean => totalCostInCents > 0

export const labels = task({
  id: 'labels',
  jsonSchema: schema,
  retry: { maxAttempts: 3 },
  onStart: noteStart,
  handleError: giveUp,
  run: async ({ level }: { level: LogLevel }) => {
    if (level === 'none') throw new Error('nothing to label')
    return { ...labelled(level), started: started.at(-1), isPaid: costs(usage.getCurrent()) }
  },
})

const summaryOf = ({ id, isTest, costInCents, tags }: TaskRunShape<typeof labels>): string =>
  `${id}${isTest ? ' (test)' : ''} ${tags.join()} ${costInCents}`

export async function summary(id: string): Promise<string[]> {
  const { isTest, costInCents, baseCostInCents } = await runs.retrieve<typeof labels>(id)
  const lines = [`${isTest} ${costInCents + baseCostInCents}`]
  for await (const run of runs.subscribeToRun<typeof labels>(id)) lines.push(summaryOf(run))
  return lines
}
