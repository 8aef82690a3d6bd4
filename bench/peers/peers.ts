import { dbos } from './dbos.ts'
import { effect } from './effect.ts'
import { graphileWorker } from './graphile-worker.ts'
import { openWorkflowInMemory, openWorkflowOnFile, openWorkflowOnPostgres } from './openworkflow.ts'
import type { Peer } from './peer.ts'
import { pgBoss } from './pg-boss.ts'
import { resonate } from './resonate.ts'

/** The peers whose runs are on the JavaScript heap. */
export const heapPeers: readonly Peer[] = [effect, resonate]

/** All compared peers. */
export const allPeers: readonly Peer[] = [
  effect,
  resonate,
  openWorkflowInMemory,
  openWorkflowOnFile,
  openWorkflowOnPostgres,
  dbos,
  pgBoss,
  graphileWorker,
]
