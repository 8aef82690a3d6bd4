import type { DeferredPromise } from 'p-defer'
import pDefer from 'p-defer'
import type { Review, Verdict } from '../bare/approvals.ts'
import { Mailbox } from '../bare/mailbox.ts'
import { turn } from '../turn.ts'
import { importPeer, peerDatabase } from './installed.ts'
import type { Peer } from './peer.ts'
import { Polling } from './polling.ts'

interface Job {
  readonly id: string
  readonly data: { readonly run: string; readonly doc: string; readonly approved?: boolean }
}

interface Boss {
  on(event: 'error', listener: (error: unknown) => void): void
  start(): Promise<unknown>
  stop(options: { readonly graceful: boolean }): Promise<void>
  createQueue(name: string): Promise<void>
  send(queue: string, data: object): Promise<string | null>
  fetch(queue: string, options: { readonly batchSize: number }): Promise<readonly Job[]>
  complete(queue: string, ids: readonly string[]): Promise<void>
}

interface PgBossModule {
  readonly default: new (options: {
    readonly connectionString: string
    readonly max: number
    readonly schedule: boolean
    readonly supervise: boolean
  }) => Boss
}

const DRAFTS = 'drafts'
const VERDICTS = 'verdicts'
const POLL_MS = 2
const BATCH = 100
const CONNECTIONS = 20

/** pg-boss, a queue without waits: the work after the wait is a second job, which receives the state of the first. */
export const pgBoss: Peer = {
  name: 'pg-boss, Postgres',
  packageName: 'pg-boss',
  place: 'Postgres',
  leastNode: 20,
  async open() {
    const { default: PgBoss } = await importPeer<PgBossModule>('pg-boss')
    const connectionString = peerDatabase('postgres')
    const boss = new PgBoss({ connectionString, max: CONNECTIONS, schedule: false, supervise: false })
    boss.on('error', console.error)
    await boss.start()
    await boss.createQueue(DRAFTS)
    await boss.createQueue(VERDICTS)
    const waiting = new Map<string, string>()
    const results = new Map<string, DeferredPromise<Review>>()
    const mailbox = new Mailbox()
    const drafts = pollQueue(boss, DRAFTS, ({ data: { run, doc } }) => {
      waiting.set(run, doc)
      mailbox.say(run)
    })
    const verdicts = pollQueue(boss, VERDICTS, ({ data: { run, doc, approved = false } }) => {
      results.get(run)?.resolve({ doc, approved })
      results.delete(run)
    })
    // Jobs of an earlier process have the same numbers.
    const mark = Date.now().toString(36)
    let runs = 0
    return {
      trigger: async ({ doc }) => {
        const run = `${mark}-${(runs += 1)}`
        const result = pDefer<Review>()
        results.set(run, result)
        await boss.send(DRAFTS, { run, doc })
        return { result: () => result.promise }
      },
      complete: (run, { approved }: Verdict) => {
        const doc = waiting.get(run) ?? ''
        waiting.delete(run)
        return boss.send(VERDICTS, { run, doc, approved })
      },
      asked: () => mailbox.next(),
      parked: turn,
      close: async () => {
        await Promise.all([drafts.stop(), verdicts.stop()])
        await boss.stop({ graceful: false })
      },
    }
  },
}

/** Its own workers poll at most every half second. */
function pollQueue(boss: Boss, queue: string, handle: (job: Job) => void): Polling {
  return new Polling(POLL_MS, async () => {
    const jobs = await boss.fetch(queue, { batchSize: BATCH })
    if (jobs.length === 0) return false
    await boss.complete(
      queue,
      jobs.map(({ id }) => id),
    )
    for (const job of jobs) handle(job)
    return true
  })
}
