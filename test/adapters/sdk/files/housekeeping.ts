import { runs, task, wait } from '@trigger.dev/sdk'

export const slow = task({
  id: 'slow-export',
  run: async ({ name }: { name: string }) => name.length,
})

/** Finds runs again, by what they are, and changes them. */
export const housekeeping = task({
  id: 'housekeeping',
  run: async () => {
    const one = await slow.trigger({ name: 'one' }, { delay: '2h', tags: ['export', 'one'] })
    const two = await slow.trigger({ name: 'two' }, { delay: '2h', tags: 'export' })
    await runs.reschedule(one.id, { delay: '1s' })
    const delayed: string[] = []
    for await (const run of runs.list({ status: 'DELAYED', taskIdentifier: ['slow-export'], limit: 1 }))
      delayed.push(run.id)
    await runs.cancel(two.id)
    await wait.for({ seconds: 2 })
    const first = await runs.poll(one, { pollIntervalMs: 500 })
    const again = await runs.replay(one.id)
    const second = await runs.poll<typeof slow>(again.id)
    const { data } = await runs.list({ tag: ['export'], status: ['CANCELED'] })
    return {
      delayed: delayed.length,
      lengths: [first.output, second.output],
      canceled: data.map((run) => run.id === two.id),
      isCancelled: (await runs.retrieve(two)).isCancelled,
    }
  },
})
