import { codeOf } from './errors.ts'
import { CONNECT_MS, type OwnClient, type PostgresPool } from './pool.ts'
import { afterReal, withinReal } from '../real-timer.ts'

interface SilenceWatchOptions {
  /** How long a connection may be silent while an answer is awaited, before the server is asked whether it works on it. */
  readonly silentMs: number
  /** Asks the server over other connections than those that are watched, and not for ever. */
  readonly elsewhere: Pick<PostgresPool, 'query'>
}

/** A backend: its process, and since when it is there, because a server that is started anew counts its processes anew. */
interface Backend {
  readonly pid: number
  readonly started: string | null
}

/** What is known of one connection. */
interface Watched {
  readonly backend: Backend
  /** How many bytes had come at the last look, at which an answer was awaited. */
  bytes: number | undefined
  /** At the last look the server waited for this process, as this process does for the server. */
  isDeadlocked: boolean
}

/** The server does not know the backend any more; or it waits for this process; or it works. */
type Finding = 'gone' | 'waits' | 'works'

/** The second look at a connection that two ends wait at is to come sooner. */
const SECOND_LOOK_SHARE = 1 / 3
/** How long the server may take to end one backend. */
const END_MS = 500

/** What `pg` says of it. */
const CONNECT_TIMEOUT = 'Connection terminated due to connection timeout'

const BACKEND = `SELECT pid, extract(epoch FROM backend_start)::text AS started FROM pg_stat_activity WHERE pid = pg_backend_pid()`

/**
 * What backends do. Those that have waited for this process at the last look too are ended: nothing that they were sent can be done any
 * later. A replica knows nothing of the backends of its primary.
 */
const FINDINGS = `SELECT asked.pid, CASE
    WHEN known.pid IS NULL THEN 'gone'
    WHEN known.wait_event IS NULL OR known.wait_event NOT IN ('ClientRead', 'ClientWrite') THEN 'works'
    WHEN asked.is_second AND pg_terminate_backend(known.pid, ${END_MS}) THEN 'gone'
    ELSE 'waits' END AS finding
  FROM unnest($1::int[], $2::text[], $3::boolean[]) AS asked(pid, started, is_second)
  LEFT JOIN pg_stat_activity AS known
    ON known.pid = asked.pid AND extract(epoch FROM known.backend_start)::text = asked.started
  WHERE NOT pg_is_in_recovery()`

/**
 * Finds connections that have fallen silent: nothing comes over them any more, and no error either. How long an answer takes says
 * nothing, because a statement may take any time. So the server is asked over another connection. One whose backend is gone is
 * closed. So is one at which both ends wait for each other, at two looks in a row: the server is made to end its backend
 * first. What was asked over it ends as over a connection that is cut. While the server cannot be asked, nothing is decided.
 */
export class SilenceWatch {
  readonly #options: SilenceWatchOptions
  readonly #watched = new Map<OwnClient, Watched>()
  #cancel: (() => void) | undefined
  #isPlanned = false
  #isClosed = false

  constructor(options: SilenceWatchOptions) {
    this.#options = options
  }

  /** Asks which backend works for a new connection. It is not watched if something in between shares backends. */
  async meet(client: OwnClient): Promise<void> {
    const { rows } = await withinReal(CONNECT_MS, client.query(BACKEND)).catch(toConnectError)
    const [backend] = rows as readonly Backend[]
    if (backend === undefined || backend.started === null || backend.pid !== client.processID) return
    this.#watched.set(client, { backend, bytes: undefined, isDeadlocked: false })
    client.on('end', () => void this.#watched.delete(client))
    // It was lent before it was asked.
    this.lent()
  }

  /** Something may be asked now. Hot: one timer for all that is asked meanwhile. */
  lent(): void {
    if (!this.#isPlanned) this.#plan(this.#options.silentMs)
  }

  close(): void {
    this.#isClosed = true
    this.#cancel?.()
  }

  #plan(ms: number): void {
    if (this.#isClosed) return
    this.#isPlanned = true
    this.#cancel = afterReal(ms, () => void this.#look())
  }

  async #look(): Promise<void> {
    const silent: OwnClient[] = []
    let isAwaiting = false
    for (const [client, watched] of this.#watched) {
      if (look(client, watched)) silent.push(client)
      if (watched.bytes !== undefined) isAwaiting = true
    }
    const isDecided = silent.length === 0 || (await this.#decide(silent))
    this.#isPlanned = false
    const { silentMs } = this.#options
    if (isAwaiting) this.#plan(isDecided ? silentMs : silentMs * SECOND_LOOK_SHARE)
  }

  /** Resolves with whether none of them has to be looked at once more. */
  async #decide(silent: readonly OwnClient[]): Promise<boolean> {
    const all = silent.flatMap((client) => this.#watched.get(client) ?? [])
    const findings = await this.#ask(all)
    let [isDecided, isOneGone] = [true, false]
    for (const client of silent) {
      const watched = this.#watched.get(client)
      if (watched === undefined || !isAwaited(client, watched)) continue
      const finding = findings.get(watched.backend.pid)
      watched.isDeadlocked = finding === 'waits'
      if (finding === 'waits') isDecided = false
      if (finding !== 'gone') continue
      isOneGone = true
      client.connection?.stream?.destroy()
    }
    if (isOneGone) await this.#closeIdle()
    return isDecided
  }

  /** Connections over which nothing is asked now may be as silent. They are opened again when they are needed. */
  async #closeIdle(): Promise<void> {
    const idle = [...this.#watched].filter(([{ readyForQuery }]) => readyForQuery === true)
    for (const [{ connection }] of idle) connection?.stream?.destroy()
    // A server that does not hear of it would keep their backends for hours.
    if (idle.length > 0) await this.#ask(idle.map(([, watched]) => ({ ...watched, isDeadlocked: true })))
  }

  async #ask(watched: readonly Watched[]): Promise<ReadonlyMap<number, Finding>> {
    const values = [
      watched.map(({ backend }) => backend.pid),
      watched.map(({ backend }) => backend.started),
      watched.map(({ isDeadlocked }) => isDeadlocked),
    ]
    try {
      const { rows } = await this.#options.elsewhere.query(FINDINGS, values)
      const found = rows as readonly { readonly pid: number; readonly finding: Finding }[]
      return new Map(found.map(({ pid, finding }) => [pid, finding]))
    } catch {
      // It may be that only the other connections can be used.
      return new Map()
    }
  }
}

/** A connection that falls silent before it is used was none. */
function toConnectError(cause: unknown): never {
  throw codeOf(cause) === undefined ? new Error(CONNECT_TIMEOUT, { cause }) : cause
}

/** Looks at a connection: whether an answer has been awaited since the last look at least, and nothing has come. */
function look(client: OwnClient, watched: Watched): boolean {
  const isSilent = isAwaited(client, watched)
  if (!isSilent) watched.isDeadlocked = false
  const { stream } = client.connection ?? {}
  const isAwaiting = client.readyForQuery === false && stream?.writableLength === 0
  watched.bytes = isAwaiting ? stream.bytesRead : undefined
  return isSilent
}

function isAwaited({ readyForQuery, connection }: OwnClient, { bytes }: Watched): boolean {
  return readyForQuery === false && bytes !== undefined && connection?.stream?.bytesRead === bytes
}
