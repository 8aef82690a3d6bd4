import type { DeferredPromise } from 'p-defer'
import pDefer from 'p-defer'
import type { Review, Verdict } from '../bare/approvals.ts'
import { Mailbox } from '../bare/mailbox.ts'
import { turn } from '../turn.ts'
import { importPeer, peerDatabase } from './installed.ts'
import type { Peer } from './peer.ts'

interface Draft {
  readonly run: string
  readonly doc: string
}

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
      readonly draft: (payload: Draft) => void
      readonly verdict: (payload: Draft & Verdict) => void
    }
  }) => Promise<Runner>
}

/** Jobs that it executes at once: each takes a connection at its beginning and at its end. */
const CONCURRENCY = 20

/** Graphile Worker, a queue without waits: the work after the wait is a second job, which receives the state of the first. */
export const graphileWorker: Peer = {
  name: 'Graphile Worker, Postgres',
  packageName: 'graphile-worker',
  place: 'Postgres',
  leastNode: 20,
  async open() {
    const { Logger, run: start } = await importPeer<GraphileWorkerModule>('graphile-worker')
    const waiting = new Map<string, string>()
    const results = new Map<string, DeferredPromise<Review>>()
    const mailbox = new Mailbox()
    const worker = await start({
      connectionString: peerDatabase('postgres'),
      concurrency: CONCURRENCY,
      maxPoolSize: CONCURRENCY,
      noHandleSignals: true,
      logger: new Logger(() => () => undefined),
      taskList: {
        draft({ run, doc }) {
          waiting.set(run, doc)
          mailbox.say(run)
        },
        verdict({ run, doc, approved }) {
          results.get(run)?.resolve({ doc, approved })
          results.delete(run)
        },
      },
    })
    // Jobs of an earlier process have the same numbers.
    const mark = Date.now().toString(36)
    let runs = 0
    return {
      trigger: async ({ doc }) => {
        const run = `${mark}-${(runs += 1)}`
        const result = pDefer<Review>()
        results.set(run, result)
        await worker.addJob('draft', { run, doc })
        return { result: () => result.promise }
      },
      complete: (run, { approved }: Verdict) => {
        const doc = waiting.get(run) ?? ''
        waiting.delete(run)
        return worker.addJob('verdict', { run, doc, approved })
      },
      asked: () => mailbox.next(),
      parked: turn,
      close: () => worker.stop(),
    }
  },
}
