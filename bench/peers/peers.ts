import { dbos } from './dbos.ts'
import { effect } from './effect.ts'
import { openWorkflowInMemory, openWorkflowOnFile, openWorkflowOnPostgres } from './openworkflow.ts'
import type { Peer } from './peer.ts'
import { pgBoss } from './pg-boss.ts'
import { resonate } from './resonate.ts'

/** Those that have their runs on the JavaScript heap. */
export const heapPeers: readonly Peer[] = [effect, resonate]

/** All that ours is measured beside. */
export const allPeers: readonly Peer[] = [
  effect,
  resonate,
  openWorkflowInMemory,
  openWorkflowOnFile,
  openWorkflowOnPostgres,
  dbos,
  pgBoss,
]
