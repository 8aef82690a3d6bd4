import { task, timeout } from '@trigger.dev/sdk'

/** The signal of the attempt, from anywhere. */
function isStopped(): boolean {
  return timeout.signal?.aborted ?? false
}

export const unlimited = task({
  id: 'unlimited',
  maxDuration: timeout.None,
  run: async ({ parts }: { parts: number }, { signal }) => {
    let worked = 0
    while (worked < parts && !isStopped()) worked += 1
    return { worked, isSame: typeof signal.aborted === typeof isStopped() }
  },
})

export const limited = task({
  id: 'limited-attempt',
  maxDuration: 60,
  run: async () => unlimited.triggerAndWait({ parts: 2 }, { maxDuration: 5 }).unwrap(),
})
