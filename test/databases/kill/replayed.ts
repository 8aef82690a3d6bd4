import { expect } from 'vitest'
import { exploreHistory, replayHistory } from 'waitpoint/testing'
import { recordedRun } from '../../../src/testing/history/recorded-run.ts'
import { readHistory } from '../../../src/testing/history/reading.ts'
import { Redaction } from '../../../src/testing/history/redaction.ts'
import { approveTask } from '../approve-task.ts'
import { storageAt } from './storage-at.ts'

/** So many runs are replayed, and of so many some neighbours are executed. */
const MOST = 20
const MOST_EXPLORED = 3
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
    for (const [place, { id }] of interrupted.entries()) {
      const history = await readHistory(storage, id, { now: LATER, redaction: new Redaction(undefined) })
      const replayed = await replayHistory(history, [approveTask()])
      const { end } = recordedRun(history)
      expect(replayed).toEqual({ end, departure: undefined })
      if (place >= MOST_EXPLORED) continue
      const { startsAsRecorded } = await exploreHistory(history, [approveTask()], {
        budget: { runs: 50, ms: Infinity },
        check: (neighbour) => {
          if (neighbour.isAnsweredAlike) expect(neighbour.end).toEqual(end)
        },
      })
      expect(startsAsRecorded).toBe(true)
    }
    return interrupted.length
  } finally {
    await storage.leave({ owner: 'a replay', now: LATER })
    placed.close()
  }
}
