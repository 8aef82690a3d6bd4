import { task, type AnyTask, type RetryOptions, type RunHandle, type TaskOptions } from '@trigger.dev/sdk'

const retry: RetryOptions = { maxAttempts: 2, minTimeoutInMs: 10, maxTimeoutInMs: 20 }
const common = { retry, machine: 'small-1x', queue: { name: 'mailing', concurrencyLimit: 4 } } as const

/** An application's own way to define tasks. */
function appTask<Id extends string, Payload, Output>(options: TaskOptions<Id, Payload, Output>) {
  return task<Id, Payload, Output>({ ...common, ...options })
}

export const confirm = appTask({
  id: 'booking.confirm',
  run: async ({ booking }: { booking: string }) => `confirmed ${booking}`,
})

export const decline = appTask({
  id: 'booking.decline',
  retry: { maxAttempts: 1 },
  run: async ({ reason }: { reason?: string }): Promise<string> => {
    throw new Error(reason ?? 'declined')
  },
})

/** All tasks of the file, by their ids. */
export const registry = { [confirm.id]: confirm, [decline.id]: decline } satisfies Record<string, AnyTask>

type Confirmed = RunHandle<'booking.confirm', { booking: string }, string>

export const begin = async (booking: string): Promise<Confirmed['id']> =>
  (await confirm.trigger({ booking })).id
