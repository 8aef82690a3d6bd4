import { createDeferred } from '../../primitives/deferred.ts'
import type { PostgresMessage, PostgresPool, PostgresPoolClient } from './pool.ts'
import { isCut } from './errors.ts'
import { quoted } from './schema.ts'
import { afterReal, withinReal } from '../real-timer.ts'

interface ListenerOptions {
  readonly channel: string
  /** Marks a connection as one that listens, for as long as it lives. */
  readonly markSql: string
  /** Asks whether others listen: the column `others`. */
  readonly others: () => { readonly text: string; readonly values: unknown[] }
  /** Lends the connection that listens, for as long as it lives. */
  readonly listening: PostgresPool
  /** Another way to the server, over which the first is tested. */
  readonly speaking: PostgresPool
  /** How often it is asked whether it is still there. */
  readonly checkMs: number
  readonly hear: (payload: string) => void
  /** Others may listen that were not told of anything while none was known. */
  readonly joined: () => void
  /** Messages may have been lost. */
  readonly missed: () => void
}

const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 5_000
/** How long a message to oneself may take at the start, once the server has answered. */
const PATIENCE_MS = 3_000
/** How long a connection that listens may take to answer. */
const ANSWER_MS = 5_000
/** With it a connection tries whether it hears, and all others learn that there is one more. */
const TEST = 'test'

/** The outcome of a message that a connection sent to itself. */
type TestOutcome = 'heard' | 'silent' | 'lost'

const REASONS: Readonly<Record<Exclude<TestOutcome, 'heard'>, string>> = {
  silent:
    'a message over LISTEN did not come through; there may be a pooler in between: give `listen` the connection ' +
    'string of the server itself, or `false` to look every `pollMs`',
  lost: 'the connection that listens was lost while it was tested',
}

/**
 * A connection that listens to the messages of other processes, and is replaced when it breaks. It knows whether it is alone: a
 * process marks its connection before it listens, and greets all others after. A process that has been alone hears the greeting
 * at once, and answers that anything may have changed.
 */
export class PostgresListener {
  readonly #options: ListenerOptions
  #client: PostgresPoolClient | undefined
  #cancelRetry: (() => void) | undefined
  #cancelCheck: (() => void) | undefined
  #pauseMs = FIRST_PAUSE_MS
  #tested: ((outcome: TestOutcome) => void) | undefined
  #isClosed = false
  #isAlone = false
  /** How many others have said that they listen. */
  #greetings = 0

  constructor(options: ListenerOptions) {
    this.#options = options
  }

  /** Whether no other process listens: then none needs to be told. */
  get isAlone(): boolean {
    return this.#isAlone
  }

  /**
   * Listens, and sees whether a message comes through.
   *
   * @throws Error that says what to do, when none does.
   */
  async open(): Promise<void> {
    try {
      await this.#connect()
      await this.#hearItself()
      await this.look()
    } catch (error) {
      // A pool waits at its end for what it has lent, and nothing else knows of the connection.
      this.close()
      throw error
    }
    this.#settleIn()
  }

  async #hearItself(): Promise<void> {
    const { channel, speaking } = this.#options
    const { promise, resolve } = createDeferred<TestOutcome>()
    this.#tested = resolve
    await speaking.query('SELECT pg_notify($1, $2)', [channel, TEST])
    // A server tells what was notified before it answers: a process that stood still meanwhile has it with the answer.
    if (this.#client === undefined) resolve('lost')
    else await withinReal(ANSWER_MS, this.#client.query('SELECT 1'))
    const cancel = afterReal(PATIENCE_MS, () => resolve('silent'))
    try {
      const outcome = await promise
      if (outcome !== 'heard') throw new Error(REASONS[outcome])
    } finally {
      cancel()
      this.#tested = undefined
    }
  }

  /** Asks whether it is alone. An answer from before another has greeted it does not count. */
  async look(): Promise<boolean> {
    const client = this.#client
    if (client === undefined) return false
    const greetings = this.#greetings
    const { text, values } = this.#options.others()
    const rows = await withinReal(ANSWER_MS, client.query(text, values)).then(
      (answer) => answer.rows,
      (error: unknown) => {
        if (isCut(error)) throw error
        // The role may not ask, or the schema is gone: others may listen.
        return []
      },
    )
    if (this.#client === client && this.#greetings === greetings)
      this.#setAlone((rows as readonly { readonly others: boolean }[])[0]?.others === false)
    return this.#isAlone
  }

  #setAlone(isAlone: boolean): void {
    const wasAlone = this.#isAlone
    this.#isAlone = isAlone
    if (wasAlone && !isAlone && !this.#isClosed) this.#options.joined()
  }

  close(): void {
    this.#isClosed = true
    this.#cancelRetry?.()
    this.#release()
  }

  async #connect(): Promise<void> {
    const { channel, listening, markSql } = this.#options
    const client = await listening.connect()
    if (this.#isClosed) {
      client.release()
      return
    }
    this.#client = client
    client.on('notification', this.#notified)
    client.on('error', this.#broken)
    client.on('end', this.#broken)
    await withinReal(ANSWER_MS, client.query(markSql))
    await withinReal(ANSWER_MS, client.query(`LISTEN ${quoted(channel)}`))
  }

  readonly #notified = ({ channel, payload = '' }: PostgresMessage): void => {
    if (channel !== this.#options.channel) return
    if (payload !== TEST) return this.#options.hear(payload)
    if (this.#tested !== undefined) this.#tested('heard')
    else {
      this.#greetings += 1
      this.#setAlone(false)
    }
  }

  readonly #broken = (): void => {
    if (this.#client === undefined) return
    this.#release()
    this.#retry()
  }

  #retry(): void {
    // A connection that breaks while it begins to listen says so twice.
    if (this.#isClosed || this.#cancelRetry !== undefined) return
    this.#cancelRetry = afterReal(this.#pauseMs, () => {
      this.#cancelRetry = undefined
      this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS)
      this.#connectAgain().then(() => this.#connected(), this.#failed)
    })
  }

  async #connectAgain(): Promise<void> {
    await this.#connect()
    const { channel } = this.#options
    const greeting = this.#client?.query('SELECT pg_notify($1, $2)', [channel, TEST])
    if (greeting !== undefined) await withinReal(ANSWER_MS, greeting)
  }

  #connected(): void {
    this.#pauseMs = FIRST_PAUSE_MS
    this.#settleIn()
    this.#options.missed()
  }

  /** Listening does not keep the process alive; waiting for the test message does. */
  #settleIn(): void {
    this.#client?.unref?.()
    this.#check()
  }

  /** A connection can be lost without an error: one that does not answer is replaced. */
  #check(): void {
    this.#cancelCheck = afterReal(this.#options.checkMs, () => {
      const client = this.#client
      if (client === undefined) return
      const isCurrent = (): boolean => this.#client === client
      this.look().then(
        () => isCurrent() && this.#check(),
        () => isCurrent() && this.#broken(),
      )
    })
  }

  readonly #failed = (): void => {
    this.#release()
    this.#retry()
  }

  #release(): void {
    this.#cancelCheck?.()
    const client = this.#client
    this.#client = undefined
    if (client === undefined) return
    this.#setAlone(false)
    this.#tested?.('lost')
    client.removeListener('notification', this.#notified)
    client.removeListener('end', this.#broken)
    // It still tells how it ended: there may be no other listener.
    client.release(true)
  }
}
