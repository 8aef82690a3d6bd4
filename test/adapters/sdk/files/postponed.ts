import { runs, task, wait } from '@trigger.dev/sdk'

export const reminder = task({
  id: 'reminder',
  ttl: 3600,
  run: async ({ text }: { text: string }, { ctx }) => `${text} ${ctx.run.tags.join()}`,
})

/** Puts off, moves and cancels what is to come. */
export const planner = task({
  id: 'planner',
  run: async ({ now }: { now: Date }) => {
    const tomorrow = new Date(now.getTime() + 86_400_000)
    const one = await reminder.trigger({ text: 'one' }, { delay: tomorrow, tags: 'plan' })
    const two = await reminder.trigger({ text: 'two' }, { delay: '2h', tags: ['plan', 'soon'] })
    const three = await reminder.trigger({ text: 'three' }, { delay: '30m', ttl: '10m' })
    await runs.cancel(two.id)
    await wait.for({ hours: 1 })
    const ended = await runs.retrieve(three)
    const canceled = await runs.retrieve(two.id)
    await wait.for({ days: 1 })
    const last = await runs.retrieve<typeof reminder>(one.id)
    return [ended.status, canceled.status, last.status, last.output]
  },
})
