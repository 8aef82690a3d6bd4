import type { RunRecord } from '../../contract/records.ts'
import type { Watcher } from '../changes/watchers.ts'
import { type FollowedPart, FollowedStreams } from './followed-streams.ts'
import type { Kernel } from '../kernel.ts'
import type { Run, RunSubscription } from '../../api/run.ts'
import { alone, Reading } from './reading.ts'
import { isChanged, nextChange, readRun } from './run-changes.ts'
import { isFinal } from '../../contract/run-states.ts'
import { viewRun } from '../views/run.ts'
import { streamsTopic } from '../streams/channel.ts'

/** Follows a run; see docs/streams.md. */
export function subscribeToRun(kernel: Kernel, runId: string): RunSubscription<never> {
  return {
    // The types of payload, output and chunks are the task's, which the caller names.
    [Symbol.asyncIterator]: () => followRun(kernel, runId) as Reading<never>,
    withStreams: () => ({
      [Symbol.asyncIterator]: () => followParts(kernel, runId) as Reading<never>,
    }),
  }
}

function followRun(kernel: Kernel, runId: string): Reading<Run> {
  return new Reading({
    watch: () => kernel.watchers.watch(runId),
    read: (watcher) => runUpdates(kernel, runId, watcher),
    items: alone,
  })
}

function followParts(kernel: Kernel, runId: string): Reading<Part> {
  const streams = new FollowedStreams(kernel, runId)
  return new Reading({
    watch: () => kernel.watchers.watch(runId, streamsTopic(runId)),
    read: (watcher) => streams.parts(watcher),
    items: partsOf,
  })
}

async function* runUpdates(kernel: Kernel, runId: string, watcher: Watcher): AsyncGenerator<Run> {
  let shown: RunRecord | undefined
  try {
    for (;;) {
      const record = await readRun(kernel, runId)
      if (isChanged(shown, record)) yield viewRun(record)
      shown = record
      if (isFinal(record.status)) return
      await nextChange(kernel, runId, watcher)
    }
  } finally {
    watcher.close()
  }
}

type Part = { readonly type: string; readonly run: Run; readonly chunk?: unknown }

function partsOf(followed: FollowedPart): readonly Part[] {
  if (followed.type === 'run') return [followed]
  const { key: type, run } = followed
  return followed.chunks.map(({ value: chunk }) => ({ type, chunk, run }))
}
