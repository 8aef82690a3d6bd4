import { createEngine, memoryStorage, type Storage, task } from 'waitpoint'
import { sqliteStorage } from 'waitpoint/sqlite'
import type { Figure, Lab } from '../lab.ts'
import { LongestPause } from '../longest-pause.ts'
import type { Measurement } from '../measurement.ts'
import { SqliteFiles } from '../sqlite-files.ts'
import { turn } from '../turn.ts'

const BACKLOG = 100_000
const ROUNDS = 3
/** Triggered in one piece: this is work of the caller, and not measured. */
const AT_ONCE = 100
const NS_PER_MS = 1e6
const NS_OF_THE_GOAL = 50 * NS_PER_MS

/** A place for the backlog. */
interface Place {
  readonly storage: Storage
  close(): void
}

/** The longest time that the event loop stands still while an engine works off what another one has queued. */
export const pauses: Figure = {
  name: 'pauses',
  contests: [],
  measure: async (lab) => [
    await longestPause(lab, 'memory', () => ({ storage: memoryStorage(), close: () => undefined })),
    await longestPause(lab, 'a SQLite file', openFile),
  ],
}

async function longestPause(lab: Lab, where: string, open: () => Place): Promise<Measurement> {
  const count = lab.count(BACKLOG)
  const values: number[] = []
  for (let round = 0; round < lab.rounds(ROUNDS); round++) {
    const place = open()
    values.push((await workOff(place.storage, count)) * NS_PER_MS)
    place.close()
  }
  return {
    what: `longest pause of the event loop, ${BACKLOG.toLocaleString('en-US')} queued runs on ${where}`,
    unit: 'ns',
    count,
    ours: { values },
    goal: { kind: 'value', most: NS_OF_THE_GOAL },
  }
}

function openFile(): Place {
  const files = new SqliteFiles()
  const handle = files.open()
  const close = (): void => {
    handle.close()
    files.close()
  }
  return { storage: sqliteStorage(handle), close }
}

async function workOff(storage: Storage, count: number): Promise<number> {
  let left = count
  const short = task({ id: 'short', run: async () => void (left -= 1) })
  const caller = createEngine({ tasks: [short], storage, execute: false })
  for (let queued = 0; queued < count; queued += AT_ONCE) {
    const batch = Array.from({ length: Math.min(AT_ONCE, count - queued) }, () => caller.trigger(short, null))
    await Promise.all(batch)
    await turn()
  }
  const pause = new LongestPause()
  const worker = createEngine({ tasks: [short], storage })
  await worker.ready()
  while (left > 0) await turn()
  const longestMs = pause.stop()
  await worker.close()
  await caller.close()
  return longestMs
}
