import { AsyncResource } from 'node:async_hooks'
import { chain, isPromise } from '../../primitives/awaitable.ts'
import { ProcessCrashedError } from './mortal-iterable.ts'
import type { Process } from './process.ts'
import type { World } from './world.ts'

/** Methods that have no effect in the outside world: subscriptions to events, and what is prepared or quoted. */
const WITHIN: ReadonlySet<string> = new Set([
  'addListener',
  'emit',
  'escapeIdentifier',
  'escapeLiteral',
  'off',
  'on',
  'once',
  'removeListener',
  'constructor',
  'toString',
  'valueOf',
  'toJSON',
  'then',
])
/** Methods whose answer is a client too: a connection, a statement, a transaction. */
const HANDING: ReadonlySet<string> = new Set([
  'acquire',
  'begin',
  'connect',
  'getConnection',
  'prepare',
  'transaction',
])
const LOOK = /^\s*(select|pragma|explain|values)\b/i
const BEGINS = /^\s*(begin|start\s+transaction)\b/i
const ENDS = /^\s*(commit|end|rollback)\b(?!\s+to\b)/i

const MOST_SQL = 60

interface Called {
  readonly label: string
  /** The process of the calling code; `undefined` for the body. */
  readonly process: Process | undefined
  /** The SQL text, if it has one. */
  readonly sql: string | undefined
}

type Method = (...args: unknown[]) => unknown
/** A client as its methods by name. */
type Methods = Record<PropertyKey, unknown>

/**
 * A client of something outside, such as a database, whose every call is a step: other events may come before and after it,
 * and a crash of the process that calls too. A transaction that is open at a crash is rolled back. The calls of a
 * synchronous client take effect at once, and a crash of one is thrown.
 */
export class OutsideClient {
  readonly #world: World
  readonly #name: string
  readonly #isSync: boolean
  readonly #open = new Map<Process, () => void>()
  #root: object | undefined
  /** The transaction of a callback: other calls of the client wait for its end, as they share its connection. */
  #transaction: Promise<unknown> | undefined

  constructor(world: World, { name, isSync }: { readonly name: string; readonly isSync: boolean }) {
    this.#world = world
    this.#name = name
    this.#isSync = isSync
  }

  /** The client with its methods as steps. `sql`: that of a prepared statement. */
  of<Client extends object>(client: Client, sql?: string): Client {
    const methods = new Map<PropertyKey, Method>()
    this.#root ??= client
    return new Proxy(client, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key, target)
        if (typeof value !== 'function') return value
        // Every function can be called with any arguments.
        const method = value as Method
        if (typeof key !== 'string' || WITHIN.has(key)) return method.bind(target)
        const known = methods.get(key)
        if (known !== undefined) return known
        const step = this.#method(target, key, { method, sql })
        methods.set(key, step)
        return step
      },
    })
  }

  #method(target: object, key: string, { method, sql }: { method: Method; sql: string | undefined }): Method {
    return (...args) => {
      const [first] = args
      const text = sql ?? textOf(first)
      const { process, label } = this.#world.calling(`${this.#name}.${key}${quoted(text)}`)
      const called = { process, label, sql: text }
      if (!this.#isSync) return this.#ask(target, { key, method, args, called })
      if (key === 'prepare') return this.of(method.call(target, ...args) as object, text)
      if (key === 'transaction') return this.#syncTransaction(method.call(target, ...args))
      return this.#act(called, () => method.call(target, ...args))
    }
  }

  /** A transaction of better-sqlite3 is a function, with variants as its properties. */
  #syncTransaction(made: unknown): unknown {
    if (typeof made !== 'function') return made
    return new Proxy(made, {
      apply: (target: Method, self, args: unknown[]) => {
        this.#assertAlive(this.#world.calling(`${this.#name}.transaction`).process)
        return target.apply(self, args)
      },
    })
  }

  #act({ label, process, sql }: Called, effect: () => unknown): unknown {
    this.#assertAlive(process)
    const isCommit = sql === undefined || !LOOK.test(sql)
    const fate = process === undefined || !isCommit ? 'lives' : this.#world.fateAt(label, process)
    if (fate === 'lives') {
      const answer = effect()
      if (process !== undefined && sql !== undefined) this.#followSync(sql, process)
      return answer
    }
    if (fate === 'after') effect()
    if (process !== undefined) this.#world.crash(process.name)
    this.#rollBack()
    throw new ProcessCrashedError()
  }

  #assertAlive(process: Process | undefined): void {
    if (process?.isDead === true) throw new ProcessCrashedError()
  }

  async #ask(
    target: object,
    { key, method, args, called }: { key: string; method: Method; args: readonly unknown[]; called: Called },
  ): Promise<unknown> {
    const { label, process, sql } = called
    if (process?.isDead === true) return new Promise<never>(() => undefined)
    const isTransaction = args.some((arg) => typeof arg === 'function')
    let isOver = false
    const given = args.map((arg) =>
      typeof arg === 'function' ? this.#callback(arg as Method, { process, isOver: () => isOver }) : arg,
    )
    const isCommit = process !== undefined && !LOOK.test(sql ?? '')
    const isBlocked = (): boolean => this.#isTaken(process)
    const about = { label, process, isCommit, mayFail: false, isBlocked }
    const answer = await this.#world.boundaries.call(about, () => {
      const asked = method.call(target, ...given)
      if (isTransaction && isPromise(asked)) {
        this.#hold(asked)
        asked.finally(() => (isOver = true)).catch(ignore)
      }
      if (process !== undefined && sql !== undefined) this.#follow(sql, { process, target, method })
      return HANDING.has(key) ? chain(asked, (handed) => this.#handed(handed, process)) : asked
    })
    return answer
  }

  /** A connection, with steps of its own. */
  #handed(handed: unknown, process: Process | undefined): unknown {
    if (typeof handed !== 'object' || handed === null) return handed
    if (process !== undefined && 'release' in handed) releaseAtDeath(handed, process)
    return new OutsideClient(this.#world, { name: this.#name, isSync: false }).of(handed)
  }

  /** Whether the connection is in a transaction that the call is not part of. */
  #isTaken(process: Process | undefined): boolean {
    return this.#transaction !== undefined || [...this.#open.keys()].some((other) => other !== process)
  }

  #hold(transaction: Promise<unknown>): void {
    const over = transaction.then(ignore, ignore).then(() => {
      if (this.#transaction === over) this.#transaction = undefined
    })
    this.#transaction = over
  }

  /** The code of a transaction. The client waits for it; if its process dies, the client rolls back. */
  #callback(
    code: Method,
    { process, isOver }: { readonly process: Process | undefined; readonly isOver: () => boolean },
  ): Method {
    // The client calls it from a context of its own.
    const inContext = AsyncResource.bind(code)
    return async (...args) => {
      // A listener, such as that of a notification.
      if (isOver()) return inContext(...args)
      const own = new OutsideClient(this.#world, { name: this.#name, isSync: false })
      const given = args.map((arg) => (typeof arg === 'object' && arg !== null ? own.of(arg) : arg))
      return this.#world.boundaries.meanwhile(() => {
        const ended = Promise.resolve(inContext(...given))
        if (process === undefined) return ended
        const died = process.died.promise.then(() => {
          throw new ProcessCrashedError()
        })
        died.catch(ignore)
        return Promise.race([ended, died])
      })
    }
  }

  /** A transaction that is begun by its text is rolled back by the method that began it. */
  #follow(
    sql: string,
    { process, target, method }: { process: Process; target: object; method: Method },
  ): void {
    if (ENDS.test(sql)) this.#open.delete(process)
    if (!BEGINS.test(sql)) return
    this.#undoAtDeath(process, () => {
      const done = Promise.resolve(method.call(target, 'ROLLBACK'))
      void this.#world.boundaries.external(done.then(ignore, ignore))
    })
  }

  #followSync(sql: string, process: Process): void {
    if (ENDS.test(sql)) this.#open.delete(process)
    if (BEGINS.test(sql)) this.#undoAtDeath(process, () => this.#rollBack())
  }

  #undoAtDeath(process: Process, undo: () => void): void {
    this.#open.set(process, undo)
    void process.died.promise.then(() => {
      this.#open.get(process)?.()
      this.#open.delete(process)
    })
  }

  /** Rolls back what a process of this database left open. */
  #rollBack(): void {
    const database = this.#root as Methods
    const isOpen = database['inTransaction'] === true || database['isTransaction'] === true
    const exec = database['exec']
    if (isOpen && typeof exec === 'function') exec.call(database, 'ROLLBACK')
  }
}

/** The connection of a dead process is destroyed, so that the server rolls back what is open. */
function releaseAtDeath(connection: Methods, process: Process): void {
  let isReleased = false
  const release = connection['release'] as Method
  connection['release'] = (...args: unknown[]) => {
    if (isReleased) return undefined
    isReleased = true
    return release.call(connection, ...args)
  }
  void process.died.promise.then(() => isReleased || release.call(connection, true))
}

/** Whether the methods of a client answer at once, as those of a SQLite database do. */
export function isSynchronous(client: object): boolean {
  return 'prepare' in client && 'exec' in client
}

/** The beginning of an SQL text, for a label. */
function quoted(sql: string | undefined): string {
  if (sql === undefined) return ''
  const line = sql.trim().replace(/\s+/g, ' ')
  return ` ${line.length <= MOST_SQL ? line : `${line.slice(0, MOST_SQL)}…`}`
}

function textOf(given: unknown): string | undefined {
  if (typeof given === 'string') return given
  if (typeof given !== 'object' || given === null) return undefined
  const text = 'text' in given ? given.text : 'sql' in given ? given.sql : undefined
  return typeof text === 'string' ? text : undefined
}

function ignore(): void {
  // Told to the code that awaits it.
}
