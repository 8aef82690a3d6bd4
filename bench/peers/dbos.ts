import type { Draft, Review, Verdict } from '../bare/approvals.ts'
import { Mailbox } from '../bare/mailbox.ts'
import { turn } from '../turn.ts'
import { importPeer, peerDatabase } from './installed.ts'
import type { Peer } from './peer.ts'

type Workflow = (draft: Draft) => Promise<Review>

interface Handle {
  getResult(): Promise<Review>
}

/** One engine for each process: its class has static members only. */
interface DbosModule {
  readonly DBOS: {
    readonly workflowID: string | undefined
    setConfig(config: Readonly<Record<string, unknown>>): void
    registerWorkflow(review: Workflow, options: { readonly name: string }): Workflow
    launch(): Promise<void>
    shutdown(): Promise<void>
    startWorkflow(review: Workflow): (draft: Draft) => Promise<Handle>
    recv(topic: string, timeoutSeconds: number): Promise<Verdict | null>
    send(workflowId: string, message: Verdict, topic: string): Promise<void>
  }
}

const TOPIC = 'verdict'
const TIMEOUT_SECONDS = 3_600
const CONNECTIONS = 20

/** DBOS, which stores every step in Postgres and receives messages by its notifications. */
export const dbos: Peer = {
  name: 'DBOS, Postgres',
  packageName: '@dbos-inc/dbos-sdk',
  place: 'Postgres',
  leastNode: 20,
  async open() {
    const { DBOS } = await importPeer<DbosModule>('@dbos-inc/dbos-sdk')
    const mailbox = new Mailbox()
    DBOS.setConfig({
      name: 'bench',
      systemDatabaseUrl: peerDatabase('waitpoint_bench_dbos'),
      systemDatabasePoolSize: CONNECTIONS,
      notificationCoalesceMs: 1,
      logLevel: 'error',
    })
    const review = DBOS.registerWorkflow(
      async ({ doc }) => {
        mailbox.say(DBOS.workflowID ?? '')
        const verdict = await DBOS.recv(TOPIC, TIMEOUT_SECONDS)
        return { doc, approved: verdict?.approved ?? false }
      },
      { name: 'review' },
    )
    await DBOS.launch()
    return {
      trigger: async (draft) => {
        const handle = await DBOS.startWorkflow(review)(draft)
        return { result: () => handle.getResult() }
      },
      complete: (id, verdict) => DBOS.send(id, verdict, TOPIC),
      asked: () => mailbox.next(),
      parked: turn,
      close: () => DBOS.shutdown(),
    }
  },
}
