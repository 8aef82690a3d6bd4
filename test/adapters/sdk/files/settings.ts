import { AbortTaskRunError, envvars, task } from '@trigger.dev/sdk'

/** Reads its settings when it begins; without them there is no point in another attempt. */
export const settings = task({
  id: 'settings',
  retry: { maxAttempts: 3 },
  init: async () => ({ prefix: process.env.SETTINGS_PREFIX ?? 'none' }),
  run: async ({ name }: { name: string }, { init }) => {
    const all = await envvars.list('proj_1', 'dev')
    const found = all.find((variable) => variable.name === name)
    if (found === undefined) throw new AbortTaskRunError(`${name} is not set`)
    const { value } = await envvars.retrieve('proj_1', 'dev', name)
    return `${init?.prefix} ${value}`
  },
})
