import { auth, task, type auth as Auth } from '@trigger.dev/sdk'

type Options = NonNullable<Parameters<typeof Auth.createPublicToken>[0]>

export const greet = task({ id: 'greet-page', run: async ({ name }: { name: string }) => `Hello ${name}` })
export const other = task({ id: 'other', run: async () => 'other' })

/** Access for a page, made in a run. */
export const admit = task({
  id: 'admit',
  run: async ({ runId, tag }: { runId: string; tag: string }) =>
    auth.createPublicToken({
      scopes: { read: { runs: [runId], tags: tag, tasks: 'other' } },
      expirationTime: '1h',
      realtime: { skipColumns: ['output'] },
    }),
})

export const tokenFor = (options?: Options) => auth.createPublicToken(options)
export const once = () => auth.createTriggerPublicToken('greet-page')
export const often = (until: Date | number) =>
  auth.createTriggerPublicToken(['greet-page'], { multipleUse: true, expirationTime: until })
export const manyAtOnce = () => auth.createBatchTriggerPublicToken('greet-page')
export const identity = () => auth.getOIDCToken({ audience: 'https://example.invalid' })

export async function greetAs(name: string) {
  const made: string[] = []
  const trigger = async () => {
    made.push((await greet.trigger({ name })).id)
  }
  await auth.withTriggerPublicToken('greet-page', {}, trigger)
  await auth.withPublicToken({ scopes: { trigger: { tasks: 'greet-page' } } }, trigger)
  return made
}
