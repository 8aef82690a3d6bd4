import { schedules, task } from '@trigger.dev/sdk'

export const report = schedules.task({
  id: 'report',
  run: async ({ externalId, timestamp }) => ({ of: externalId, hour: timestamp.getUTCHours() }),
})

interface Change {
  customer: string
  plan: 'daily' | 'hourly' | 'paused' | 'none'
}

/** Keeps the schedule of a customer as the plan of the customer has it. */
export const changePlan = task({
  id: 'change-plan',
  run: async ({ customer, plan }: Change) => {
    const { id } = await schedules.create({
      task: report.id,
      cron: '0 6 * * *',
      deduplicationKey: customer,
      externalId: customer,
    })
    if (plan === 'none') return schedules.del(id)
    if (plan === 'paused') return { active: (await schedules.deactivate(id)).active }
    await schedules.activate(id)
    const cron = plan === 'daily' ? '0 7 * * *' : '0 * * * *'
    const { active, generator } = await schedules.update(id, { task: report.id, cron, externalId: customer })
    return { active, cron: generator.expression }
  },
})
