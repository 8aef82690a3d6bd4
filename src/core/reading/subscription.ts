import type { RunRecord } from '../../contract/records.ts'
import { liveAttempt } from '../attempt/attempt.ts'
import type { Watcher } from '../changes/watchers.ts'
import { FollowedStreams } from './followed-streams.ts'
import type { FollowedPart } from '../../api/stream-page.ts'
import type { Kernel } from '../kernel.ts'
import type { ChunkPlace, Run, RunSubscription } from '../../api/run.ts'
import { alone, Reading } from './reading.ts'
import { isChanged, nextChange, readRun } from './run-changes.ts'
import { readShared } from './shared-record.ts'
import type { Values } from '../../api/values.ts'
import { isFinal } from '../../contract/run-states.ts'
import { sharedViewOf, sizeOfRun, viewRun } from '../views/run.ts'

/** Follows a run; see docs/streams.md. */
export function subscribeToRun(kernel: Kernel, runId: string, values: Values): RunSubscription<never> {
  return {
    // The types of payload, output and chunks are the task's, which the caller names.
    [Symbol.asyncIterator]: () => followRun(kernel, runId, values) as Reading<never>,
    withStreams: () => ({
      [Symbol.asyncIterator]: () => followParts(kernel, runId, values) as Reading<never>,
    }),
  }
}

/** A run as it changes, without its streams. It is shared with other readers, and must not be changed. */
export function followRunAlone(kernel: Kernel, runId: string): Reading<FollowedPart> {
  return new Reading({
    watch: () => kernel.watchers.watch(runId),
    read: (watcher) => runUpdates(kernel, { runId, watcher }),
    items: (run) => [{ type: 'run', run }],
  })
}

function followRun(kernel: Kernel, runId: string, values: Values): Reading<Run> {
  return new Reading({
    watch: () => kernel.watchers.watch(runId),
    read: (watcher) => runUpdates(kernel, { runId, watcher, values }),
    items: alone,
  })
}

function followParts(kernel: Kernel, runId: string, values: Values): Reading<Part> {
  const streams = new FollowedStreams(kernel, runId, { values })
  return new Reading({
    watch: () => streams.watch(),
    read: () => streams.parts(),
    items: partsOf,
  })
}

interface FollowedAlone {
  readonly runId: string
  readonly watcher: Watcher
  /** Absent for runs that other readers may see as well, with their values as they are stored. */
  readonly values?: Values
}

async function* runUpdates(kernel: Kernel, { runId, watcher, values }: FollowedAlone): AsyncGenerator<Run> {
  // A variable for what was read would keep it while the reader waits.
  const read = values === undefined ? readShared : readRun
  let shown: RunRecord | undefined
  try {
    for (;;) {
      const record = await read(kernel, runId)
      if (isChanged(shown, record)) {
        const turn = kernel.portions.take(sizeOfRun(record), liveAttempt())
        if (turn !== undefined) await turn
        yield values === undefined ? sharedViewOf(record) : viewRun(record, values)
      }
      shown = record
      if (isFinal(record.status)) return
      await nextChange(kernel, runId, watcher)
    }
  } finally {
    watcher.close()
  }
}

type Part =
  | { readonly type: 'run'; readonly run: Run }
  | ({ readonly type: string; readonly run: Run; readonly chunk: unknown } & ChunkPlace)

function partsOf(followed: FollowedPart): readonly Part[] {
  if (followed.type === 'run') return [followed]
  const { key: type, run, attempt, first } = followed
  return followed.chunks.map(({ value: chunk }, index) => ({
    type,
    chunk,
    run,
    attempt,
    sequence: first + index,
  }))
}
