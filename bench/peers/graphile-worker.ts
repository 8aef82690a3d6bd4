import { importPeer, peerDatabase } from './installed.ts'
import type { Peer } from './peer.ts'
import { type DraftJob, TwoJobs, type VerdictJob } from './two-jobs.ts'

interface Runner {
  addJob(task: string, payload: object): Promise<unknown>
  stop(): Promise<void>
}

interface GraphileWorkerModule {
  readonly Logger: new (scoped: () => () => void) => object
  readonly run: (options: {
    readonly connectionString: string
    readonly concurrency: number
    readonly maxPoolSize: number
    readonly noHandleSignals: boolean
    readonly logger: object
    readonly taskList: {
      readonly draft: (job: DraftJob) => void
      readonly verdict: (job: VerdictJob) => void
    }
  }) => Promise<Runner>
}

/** Jobs that it executes at once: each takes a connection at its beginning and at its end. */
const CONCURRENCY = 20

/** Graphile Worker, a queue without waits. */
export const graphileWorker: Peer = {
  name: 'Graphile Worker, Postgres',
  packageName: 'graphile-worker',
  place: 'Postgres',
  leastNode: 20,
  async open() {
    const { Logger, run: start } = await importPeer<GraphileWorkerModule>('graphile-worker')
    const jobs = new TwoJobs()
    const worker = await start({
      connectionString: peerDatabase('postgres'),
      concurrency: CONCURRENCY,
      maxPoolSize: CONCURRENCY,
      noHandleSignals: true,
      logger: new Logger(() => () => undefined),
      taskList: { draft: (job) => jobs.draft(job), verdict: (job) => jobs.decide(job) },
    })
    return jobs.approvals({
      sendDraft: (job) => worker.addJob('draft', job),
      sendVerdict: (job) => worker.addJob('verdict', job),
      close: () => worker.stop(),
    })
  },
}
