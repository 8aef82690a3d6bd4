import { afterAll, describe, it } from 'vitest'
import type { Storage } from 'waitpoint'
import { type PostgresPool, postgresStorage } from 'waitpoint/postgres'
import { storageConformance } from 'waitpoint/testing'
import { emptySchema } from '../../src/testing/storages/schema-lender.ts'
import { freshSchema, testPool } from './postgres-schemas.ts'

type Query = PostgresPool['query']

/** A program of a hundred steps takes some thousand statements. */
const MODEL_TIMEOUT_MS = 900_000

/** A pool whose process dies: what was sent is carried out, and then nothing more. */
class MortalPool implements PostgresPool {
  readonly #pool: PostgresPool
  readonly #underWay = new Set<Promise<unknown>>()
  #isDead = false

  constructor(pool: PostgresPool) {
    this.#pool = pool
  }

  readonly query: Query = (text, values) => {
    if (this.#isDead) return new Promise(() => undefined)
    const answer = this.#pool.query(text, values)
    this.#underWay.add(answer)
    const done = (): boolean => this.#underWay.delete(answer)
    answer.then(done, done)
    return answer
  }

  connect: PostgresPool['connect'] = () => this.#pool.connect()

  async die(): Promise<void> {
    this.#isDead = true
    await Promise.allSettled(this.#underWay)
  }
}

describe('a Postgres storage', () => {
  const pool = testPool()
  afterAll(() => pool.end())
  const places = new WeakMap<object, { readonly schema: string; readonly mortal: MortalPool }>()

  /** Schemas that were used: to empty one is cheaper than to make one, and its statements are planned. */
  const free: string[] = []

  function openOn(schema: string): Storage & AsyncDisposable {
    const mortal = new MortalPool(pool)
    const storage = {
      ...postgresStorage({ pool: mortal, schema, listen: false, pollMs: 60_000 }),
      async [Symbol.asyncDispose]() {
        await emptySchema(pool, schema)
        free.push(schema)
      },
    }
    places.set(storage, { schema, mortal })
    return storage
  }

  const open = async (): Promise<Storage> => openOn(free.pop() ?? (await freshSchema(pool)))
  const { cases } = storageConformance(open, {
    async crash(storage) {
      const place = places.get(storage)
      await place?.mortal.die()
      return openOn(place?.schema ?? '')
    },
    capabilities: { boundedHistory: false },
  })

  it.each(cases)('keeps $id', ({ run }) => run(), MODEL_TIMEOUT_MS)
})
