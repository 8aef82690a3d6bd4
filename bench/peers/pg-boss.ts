import { importPeer, peerDatabase } from './installed.ts'
import type { Peer } from './peer.ts'
import { Polling } from './polling.ts'
import { type DraftJob, TwoJobs, type VerdictJob } from './two-jobs.ts'

interface Job<Data> {
  readonly id: string
  readonly data: Data
}

interface Boss {
  on(event: 'error', listener: (error: unknown) => void): void
  start(): Promise<unknown>
  stop(options: { readonly graceful: boolean }): Promise<void>
  createQueue(name: string): Promise<void>
  send(queue: string, data: object): Promise<string | null>
  fetch<Data>(queue: string, options: { readonly batchSize: number }): Promise<readonly Job<Data>[]>
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

/** pg-boss, a queue without waits. */
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
    const jobs = new TwoJobs()
    const drafts = pollQueue<DraftJob>(boss, DRAFTS, (job) => jobs.draft(job))
    const verdicts = pollQueue<VerdictJob>(boss, VERDICTS, (job) => jobs.decide(job))
    return jobs.approvals({
      sendDraft: (job) => boss.send(DRAFTS, job),
      sendVerdict: (job) => boss.send(VERDICTS, job),
      close: async () => {
        await Promise.all([drafts.stop(), verdicts.stop()])
        await boss.stop({ graceful: false })
      },
    })
  },
}

/** Its own workers poll at most every half second. */
function pollQueue<Data>(boss: Boss, queue: string, handle: (job: Data) => void): Polling {
  return new Polling(POLL_MS, async () => {
    const jobs = await boss.fetch<Data>(queue, { batchSize: BATCH })
    if (jobs.length === 0) return false
    await boss.complete(
      queue,
      jobs.map(({ id }) => id),
    )
    for (const { data } of jobs) handle(data)
    return true
  })
}
