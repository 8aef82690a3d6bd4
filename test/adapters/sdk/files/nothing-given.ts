import { task } from '@trigger.dev/sdk'

let ticks = 0

/** Neither a payload nor an output. */
export const tick = task({
  id: 'tick',
  run: async () => {
    ticks += 1
  },
})

export const clock = task({
  id: 'clock',
  run: async () => {
    ticks = 0
    await tick.triggerAndWait()
    await tick.batchTriggerAndWait([{ payload: undefined }, { payload: undefined }])
    const waitedFor = ticks
    const { id } = await tick.trigger()
    return { ticks: waitedFor, isHandle: id !== '' }
  },
})
