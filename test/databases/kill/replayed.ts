import { expect } from 'vitest'
import { replayHistory } from 'waitpoint/testing'
import { recordedRun } from '../../../src/testing/history/recorded-run.ts'
import { readHistory } from '../../../src/testing/history/reading.ts'
import { Redaction } from '../../../src/testing/history/redaction.ts'
import { approveTask } from '../approve-task.ts'
import { storageAt } from './storage-at.ts'

/** So many runs are replayed. */
const MOST = 20
const LATER = Date.UTC(2099, 0, 1)

/** Runs that were executed again after a kill end in a replay as they ended. Answers how many there were. */
export async function expectReplayed(place: string): Promise<number> {
  const placed = storageAt(place)
  const { storage } = placed
  await storage.open()
  try {
    const filter = { taskIds: ['approve'], status: ['COMPLETED'] } as const
    const { records } = await storage.runs.list(filter, { limit: 1_000 })
    const interrupted = records.filter(({ attempt, policyAttempt }) => attempt > policyAttempt).slice(0, MOST)
    for (const { id } of interrupted) {
      const history = await readHistory(storage, id, { now: LATER, redaction: new Redaction(undefined) })
      const replayed = await replayHistory(history, [approveTask()])
      expect(replayed).toEqual({ end: recordedRun(history).end, departure: undefined })
    }
    return interrupted.length
  } finally {
    await storage.leave({ owner: 'a replay', now: LATER })
    placed.close()
  }
}
