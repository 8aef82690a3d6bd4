import { task } from '@trigger.dev/sdk'

type Place =
  | 'nowhere'
  | 'run'
  | 'init'
  | 'onStart'
  | 'onStartAttempt'
  | 'onSuccess'
  | 'onComplete'
  | 'onFailure'
  | 'catchError'
  | 'before'
  | 'after'

export const journal: string[] = []

/** Notes the hook, and throws in it if the payload says so. */
function visit(place: Place, { at }: { at: Place[] }) {
  journal.push(place)
  if (at.includes(place)) throw new Error(`thrown in ${place}`)
}

export const throwing = task({
  id: 'throwing',
  run: async (payload: { at: Place[] }) => {
    visit('run', payload)
    return 'fine'
  },
  init: async ({ payload }) => visit('init', payload),
  onStart: async ({ payload }) => visit('onStart', payload),
  onStartAttempt: async ({ payload }) => visit('onStartAttempt', payload),
  onSuccess: async ({ payload }) => visit('onSuccess', payload),
  onComplete: async ({ payload }) => visit('onComplete', payload),
  onFailure: async ({ payload }) => visit('onFailure', payload),
  catchError: async ({ payload }) => visit('catchError', payload),
  cleanup: async () => {
    journal.push('cleanup')
  },
  middleware: async ({ payload, next }) => {
    visit('before', payload)
    await next()
    visit('after', payload)
  },
})
