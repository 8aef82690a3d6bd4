import { locals, task, tasks, wait } from '@trigger.dev/sdk'

interface Database {
  readonly name: string
}

const database = locals.create<Database>('database')

export const events: string[] = []

const isMine = (id: string) => id === 'with-locals'

tasks.middleware('database', async ({ ctx, next, task: id }) => {
  if (!isMine(id)) return next()
  locals.set(database, { name: `database of ${ctx.task.id}` })
  await next()
  events.push('disconnected')
})

tasks.onStartAttempt(async ({ task: id }) => {
  if (isMine(id)) events.push('global onStartAttempt')
})

tasks.onSuccess('named', async ({ task: id, output }) => {
  if (isMine(id)) events.push(`global onSuccess ${String(output)}`)
})

tasks.onFailure(({ task: id, error }) => {
  if (isMine(id)) events.push(`global onFailure ${String(error)}`)
})

tasks.onWait(async ({ task: id, wait: on }) => {
  if (isMine(id)) events.push(`onWait ${on.type}`)
})

tasks.onResume(async ({ task: id, wait: on }) => {
  if (isMine(id)) events.push(`onResume ${on.type}`)
})

export const withLocals = task({
  id: 'with-locals',
  onWait: async ({ wait: on }) => {
    events.push(`own onWait ${on.type}`)
  },
  run: async () => {
    await wait.for({ seconds: 30 })
    return locals.getOrThrow(database).name
  },
})
