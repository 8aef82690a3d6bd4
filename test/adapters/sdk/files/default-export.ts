import { task as defineTask, logger as log } from '@trigger.dev/sdk'

/** The only task of its file, under other names. */
const resize = defineTask({
  id: 'resize',
  machine: { preset: 'small-2x' },
  run: async ({ width, height }: { width: number; height: number }, { ctx: { machine } }) => {
    log.debug('Resizing', { width, height })
    const scale = Math.min(1, 100 / Math.max(width, height))
    return { width: Math.round(width * scale), height: Math.round(height * scale), on: machine?.name }
  },
})

export default resize
