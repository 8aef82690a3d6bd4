import { effect } from './effect.ts'
import { openWorkflowInMemory, openWorkflowOnFile } from './openworkflow.ts'
import type { Peer } from './peer.ts'
import { resonate } from './resonate.ts'

/** All that ours is measured beside. */
export const allPeers: readonly Peer[] = [effect, resonate, openWorkflowInMemory, openWorkflowOnFile]
