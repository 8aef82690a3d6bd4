import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Approvals, Draft, Review, Verdict } from '../bare/approvals.ts'
import { turn } from '../turn.ts'
import { FirstPass } from './first-pass.ts'
import { importPeer, peerDatabase } from './installed.ts'
import type { Peer } from './peer.ts'
import { Polling } from './polling.ts'

type Payload = Draft & { readonly id: string }

interface Step {
  waitForSignal(options: {
    readonly signal: string
    readonly timeout: string
  }): Promise<{ readonly data: Verdict } | null>
}

interface Handle {
  /** Not in its types. Its default is one second. */
  resultPollIntervalMs: number
  result(): Promise<Review>
}

interface OpenWorkflow {
  defineWorkflow(
    spec: { readonly name: string },
    review: (call: { readonly input: Payload; readonly step: Step }) => Promise<Review>,
  ): { run(input: Payload): Promise<Handle> }
  newWorker(options: { readonly concurrency: number }): { tick(): Promise<number> }
  sendSignal(options: {
    readonly signal: string
    readonly data: Verdict
  }): Promise<{ readonly workflowRunIds: readonly string[] }>
}

interface Backend {
  stop(): Promise<void>
}

interface ClientModule {
  readonly OpenWorkflow: new (options: { readonly backend: Backend }) => OpenWorkflow
}

interface SqliteModule {
  readonly BackendSqlite: { connect(path: string): Backend }
}

interface PostgresModule {
  readonly BackendPostgres: {
    connect(url: string, options: { readonly schema: string }): Promise<Backend>
  }
}

const POLL_MS = 2
/** Every slot queries the database by itself, so more slots than runs only add cost. */
const MOST_SLOTS = 100

/** OpenWorkflow with an in-memory database, its only form in memory. */
export const openWorkflowInMemory: Peer = {
  name: 'OpenWorkflow, SQLite in memory',
  packageName: 'openworkflow',
  place: 'memory',
  leastNode: 22,
  async open(atOnce) {
    const { BackendSqlite } = await importPeer<SqliteModule>('openworkflow/sqlite')
    return openOn(BackendSqlite.connect(':memory:'), atOnce)
  },
}

/** OpenWorkflow on a file. */
export const openWorkflowOnFile: Peer = {
  name: 'OpenWorkflow, SQLite file',
  packageName: 'openworkflow',
  place: 'file',
  leastNode: 22,
  async open(atOnce) {
    const { BackendSqlite } = await importPeer<SqliteModule>('openworkflow/sqlite')
    const folder = mkdtempSync(join(tmpdir(), 'waitpoint-peer-'))
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
    return openOn(BackendSqlite.connect(join(folder, 'runs.db')), atOnce)
  },
}

/** OpenWorkflow on a server, in a schema of its own. */
export const openWorkflowOnPostgres: Peer = {
  name: 'OpenWorkflow, Postgres',
  packageName: 'openworkflow',
  place: 'Postgres',
  leastNode: 20,
  async open(atOnce) {
    const { BackendPostgres } = await importPeer<PostgresModule>('openworkflow/postgres')
    const schema = `openworkflow_${process.pid}`
    return openOn(await BackendPostgres.connect(peerDatabase('postgres'), { schema }), atOnce)
  },
}

async function openOn(backend: Backend, atOnce: number): Promise<Approvals> {
  const { OpenWorkflow } = await importPeer<ClientModule>('openworkflow')
  const client = new OpenWorkflow({ backend })
  const firstPass = new FirstPass()
  const review = client.defineWorkflow({ name: 'review' }, async ({ input: { id, doc }, step }) => {
    firstPass.say(id, id)
    const signal = await step.waitForSignal({ signal: id, timeout: '1h' })
    firstPass.forget(id)
    return { doc, approved: signal?.data.approved ?? false }
  })
  const worker = client.newWorker({ concurrency: Math.min(atOnce, MOST_SLOTS) })
  const polling = new Polling(POLL_MS, async () => (await worker.tick()) > 0)
  let runs = 0
  return {
    trigger: async (draft) => {
      const handle = await review.run({ id: String((runs += 1)), ...draft })
      handle.resultPollIntervalMs = POLL_MS
      return handle
    },
    complete: async (signal, data) => {
      // A signal without a waiter is dropped, so it is repeated.
      while ((await client.sendSignal({ signal, data })).workflowRunIds.length === 0) await turn()
    },
    asked: () => firstPass.next(),
    parked: turn,
    close: async () => {
      await polling.stop()
      await backend.stop()
    },
  }
}
