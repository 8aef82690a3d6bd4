import { heartbeats, metadata, task } from '@trigger.dev/sdk'

export const removed: string[] = []

/** Long work: it tells how far it is, and tidies up when it is stopped. */
export const transcode = task({
  id: 'transcode',
  machine: { preset: 'large-1x' },
  maxDuration: 3_600,
  retry: { maxAttempts: 2, outOfMemory: { machine: 'large-2x' } },
  run: async ({ frames }: { frames: number }) => {
    metadata.set('progress', 0).set('label', 'transcoding')
    for (let frame = 1; frame <= frames; frame += 1) {
      await heartbeats.yield()
      metadata.set('progress', frame / frames)
    }
    metadata.del('label')
    return { seconds: frames / 25 }
  },
  onCancel: async ({ payload }) => {
    removed.push(`temporary files of ${payload.frames} frames`)
  },
  cleanup: async () => {
    removed.push('cache')
  },
})
