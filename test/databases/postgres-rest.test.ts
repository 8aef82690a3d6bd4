import { afterAll, describe, expect, it } from 'vitest'
import { createEngine, systemClock, task, wait } from 'waitpoint'
import { type PostgresPool, postgresStorage } from 'waitpoint/postgres'
import { freshSchema, testPool } from './postgres-schemas.ts'

/** Far longer than a busy machine keeps a process waiting. */
const LEASE_MS = 3_000
const PARKED = 20
const COUNTED = 6

const ask = task({ id: 'ask', run: (id: string) => wait.forToken(id) })

/** Keeps when each statement was sent, and says when there are enough. */
class StatementLog {
  readonly #clock = systemClock()
  #sent: { readonly text: string; readonly at: number }[] = []
  #enough: (() => void) | undefined

  watch(pool: PostgresPool): PostgresPool {
    return {
      query: (text, values) => {
        this.#sent.push({ text, at: this.#clock.now() })
        if (this.#sent.length === COUNTED) this.#enough?.()
        return pool.query(text, values)
      },
      connect: () => pool.connect(),
    }
  }

  /** The next statements, from now on. */
  async next(): Promise<readonly { readonly text: string; readonly at: number }[]> {
    this.#sent = []
    await new Promise<void>((resolve) => (this.#enough = resolve))
    return this.#sent
  }
}

describe('workers at rest', () => {
  const pool = testPool(10)
  afterAll(() => pool.end())
  it('ask one thing in a third of a lease, however many runs are parked', async () => {
    const schema = await freshSchema(pool)
    const log = new StatementLog()
    const open = (used: PostgresPool): ReturnType<typeof createEngine> =>
      createEngine({ tasks: [ask], leaseMs: LEASE_MS, storage: postgresStorage({ pool: used, schema }) })
    await using other = open(pool)
    await using worker = open(log.watch(pool))
    await other.ready()
    await worker.ready()
    for (let run = 0; run < PARKED; run++) {
      const token = await worker.wait.createToken()
      await worker.trigger(ask, token.id)
    }
    // What is still going on is over by then.
    await log.next()
    const sent = await log.next()
    expect(sent.filter(({ text }) => !text.includes('.tick('))).toEqual([])
    const elapsedMs = (sent.at(-1)?.at ?? 0) - (sent[0]?.at ?? 0)
    // The first may be late where the others are not.
    expect(sent.length - 2).toBeLessThanOrEqual(elapsedMs / (LEASE_MS / 3))
  })
})
