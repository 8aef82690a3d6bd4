import { auth, configure, task, tasks } from '@trigger.dev/sdk/v3'

configure({ accessToken: 'tr_dev_xxxxxxxx', baseURL: 'https://trigger.invalid' })
auth.configure({ secretKey: 'tr_dev_yyyyyyyy' })

export const ping = task({ id: 'ping', run: async ({ from }: { from: string }) => `pong ${from}` })

/** A call with the access of another project. */
export const pingElsewhere = async (from: string) =>
  auth.withAuth({ accessToken: 'tr_dev_zzzzzzzz' }, async () => tasks.trigger<typeof ping>('ping', { from }))
