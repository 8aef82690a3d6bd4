import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createEngine, task, wait } from 'waitpoint'
import { createDeferred } from '../../src/primitives/deferred.ts'
import { type PostgresOptions, readPostgresOptions } from '../../src/storage/postgres/options.ts'
import { postgresStorageOf } from '../../src/storage/postgres/postgres.ts'
import { pauseReal } from '../../src/storage/real-timer.ts'
import { rejection } from '../support/body-task.ts'
import { buildProgram, ended, startProgram } from './kill/killed-process.ts'
import { untilBlocked } from './postgres/blocked.ts'
import { connectPostgres, postgresUrl } from './postgres/client.ts'
import { FreshSchema } from './postgres/fresh-schema.ts'
import { liveOwners } from './postgres/leases.ts'
import { type Fate, Wire } from './postgres/wire.ts'
import { testPool } from './postgres-schemas.ts'

const ask = task({ id: 'ask', run: async (token: string) => wait.forToken<string>(token).unwrap() })

/** Longer than a test: no lease is renewed, and none is lost. */
const leaseMs = 3_600_000
/** How long an engine that closes waits, in tests. */
const leaveMs = 200
/** A `close` that waits until TCP gives up is a failure long before that. */
const LIMIT_MS = 300_000
/** An opening that makes its tables asks more than so many questions, and is answered. */
const FEWEST = 25
/** A thing that is sent in the middle of that. What comes before has a limit of its own: a connection is made. */
const IN_MIGRATION = 20
/** So many openings are tried at once. */
const AT_ONCE = 12

type Given = (url: string) => PostgresOptions

/** A wire that falls silent for good with the thing of this number that is sent over it; with -1, before all. */
class FadingWire implements AsyncDisposable {
  readonly silent = createDeferred<void>()
  readonly #wire: Wire

  static async to(at: number): Promise<FadingWire> {
    let sent = -1
    const fading: FadingWire = new FadingWire(
      await Wire.to(postgresUrl(), {
        fate: () => {
          if ((sent += 1) < at) return 'passes'
          fading.#fall()
          return 'falls silent'
        },
      }),
    )
    if (at < 0) fading.#fall()
    return fading
  }

  private constructor(wire: Wire) {
    this.#wire = wire
  }

  get url(): string {
    return this.#wire.url
  }

  #fall(): void {
    this.#wire.silence({ isForAll: true })
    this.silent.resolve()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#wire[Symbol.asyncDispose]()
  }
}

/** Opens an engine over such a wire, and closes it once that is silent. Resolves with whether it was still opening; the opening is rejected then. */
async function closeOpening(given: Given, at: number): Promise<boolean> {
  await using schema = new FreshSchema()
  await using wire = await FadingWire.to(at)
  const source = readPostgresOptions({ ...given(wire.url), schema: schema.schema })
  const engine = createEngine({ tasks: [ask], storage: postgresStorageOf({ ...source, leaveMs }), leaseMs })
  const ready = engine.ready().then(
    () => undefined,
    (error: unknown) => error,
  )
  await Promise.race([wire.silent.promise, ready])
  await engine.close()
  const refusal = await ready
  if (refusal !== undefined) expect(refusal).toBeInstanceOf(Error)
  return refusal !== undefined
}

describe('close, while the engine opens', () => {
  let program = ''
  beforeAll(async () => void (program = await buildProgram('closing')))
  afterAll(() => rmSync(program, { force: true }))

  it.each<[string, Given]>([
    ['a pool of its own', (connectionString) => ({ connectionString })],
    ['a pool of its own, without LISTEN', (connectionString) => ({ connectionString, listen: false })],
    [
      'a pool of the caller',
      (connectionString) => {
        const pool = testPool(6, { connectionString })
        pool.on('error', () => undefined)
        return { pool }
      },
    ],
  ])(
    'ends although everything falls silent, whenever that is: on %s',
    async (_, given) => {
      let next = -1
      let isOver = false
      const someAfterEachOther = async (): Promise<void> => {
        while (!isOver) if (!(await closeOpening(given, next++))) isOver = true
      }
      await Promise.all(Array.from({ length: AT_ONCE }, someAfterEachOther))
      expect(next).toBeGreaterThan(FEWEST)
    },
    LIMIT_MS,
  )

  it(
    'ends, and then so does the process',
    async () => {
      await using schema = new FreshSchema()
      await using wire = await FadingWire.to(IN_MIGRATION)
      const child = startProgram([program, schema.place(wire.url), 'opening'])
      const printed = ended(child)
      await wire.silent.promise
      child.stdin?.write('close')
      expect(await printed).toBe('readyclosed')
    },
    LIMIT_MS,
  )

  it(
    'ends for all engines of a storage, and one that comes later opens it',
    async () => {
      await using schema = new FreshSchema()
      let fate: Fate = 'passes'
      const silent = createDeferred<void>()
      await using wire = await Wire.to(postgresUrl(), {
        fate: () => {
          if (fate === 'falls silent') silent.resolve()
          return fate
        },
      })
      // Nothing looks for connections that are silent.
      const options = { connectionString: wire.url, schema: schema.schema, listen: false }
      const storage = postgresStorageOf({ ...readPostgresOptions(options), leaveMs })
      fate = 'falls silent'
      const engines = [1, 2].map(() => createEngine({ tasks: [ask], storage, leaseMs }))
      const refused = engines.map((engine) => rejection(engine.ready()))
      await silent.promise
      fate = 'passes'
      await Promise.all(engines.map((engine) => engine.close()))
      for (const error of await Promise.all(refused)) expect(error).toBeInstanceOf(Error)
      await using later = createEngine({ tasks: [ask], storage, leaseMs })
      expect((await later.runs.list()).data).toEqual([])
    },
    LIMIT_MS,
  )

  it(
    'leaves what other engines of the storage do',
    async () => {
      await using schema = new FreshSchema()
      await using wire = await Wire.to(postgresUrl())
      await using direct = await connectPostgres()
      const options = { connectionString: wire.url, schema: schema.schema }
      const storage = postgresStorageOf({ ...readPostgresOptions(options), leaveMs })
      await using first = createEngine({ tasks: [ask], storage, leaseMs })
      await first.ready()
      await direct.query(`BEGIN; LOCK TABLE ${schema.schema}.owners`)
      const second = createEngine({ tasks: [ask], storage, leaseMs })
      const opening = second.ready().then(
        () => undefined,
        () => undefined,
      )
      await untilBlocked(schema.schema)
      await second.close()
      const token = await first.wait.createToken()
      await direct.query('COMMIT')
      await opening
      const run = await first.trigger(ask, token.id)
      await first.wait.completeToken(token, 'yes')
      expect(await run.result()).toBe('yes')
      while ((await liveOwners(schema.place())) > 1) await pauseReal(5)
    },
    LIMIT_MS,
  )
})
