import { sqliteStorage } from 'waitpoint/sqlite'
import type { Approvals } from './bare/approvals.ts'
import { EngineApprovals } from './engine-approvals.ts'
import type { PeerPlace } from './peers/peer.ts'
import { PostgresBed } from './postgres-bed.ts'
import { SqliteFiles } from './sqlite-files.ts'

/** Far longer than any measurement. */
const TIMEOUT_MS = 600_000

/** The engine, with its runs stored where a peer stores its own. */
export interface PlacedApprovals {
  readonly approvals: Approvals
  readonly close: () => Promise<void>
}

export async function openOursAt(place: PeerPlace): Promise<PlacedApprovals> {
  if (place === 'memory') {
    const approvals = new EngineApprovals(TIMEOUT_MS)
    return { approvals, close: () => approvals.close() }
  }
  if (place === 'file') {
    const files = new SqliteFiles()
    const approvals = new EngineApprovals(TIMEOUT_MS, sqliteStorage(files.open()))
    await approvals.ready()
    return {
      approvals,
      close: async () => {
        await approvals.close()
        files.close()
      },
    }
  }
  const bed = new PostgresBed()
  const approvals = new EngineApprovals(TIMEOUT_MS, bed.storage())
  await approvals.ready()
  return {
    approvals,
    close: async () => {
      await approvals.close()
      await bed.close()
    },
  }
}
