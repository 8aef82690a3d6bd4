import { afterAll, describe, expect, it } from 'vitest'
import { createEngine, systemClock, task, wait } from 'waitpoint'
import { type PostgresPool, postgresStorage } from 'waitpoint/postgres'
import { freshSchema, testPool } from './postgres-schemas.ts'

const LEASE_MS = 3_000
const PARKED = 20
const COUNTED = 6

const ask = task({ id: 'ask', run: (id: string) => wait.forToken(id) })

interface Sent {
  readonly text: string
  readonly at: number
}

/** Keeps the last statements, and when each was sent. */
class StatementLog {
  readonly #clock = systemClock()
  #last: readonly Sent[] = []
  #look: (() => void) | undefined

  watch(pool: PostgresPool): PostgresPool {
    return {
      query: (text, values) => {
        this.#last = [...this.#last, { text, at: this.#clock.now() }].slice(-COUNTED)
        this.#look?.()
        return pool.query(text, values)
      },
      connect: () => pool.connect(),
    }
  }

  /** Resolves once it is so of the last ones. */
  async until(isSo: (last: readonly Sent[]) => boolean): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#look = () => {
        if (this.#last.length === COUNTED && isSo(this.#last)) resolve()
      }
    })
  }
}

/** Whether these are what is asked at rest: nothing but ticks, one in a third of a lease. */
function isAtRest(sent: readonly Sent[]): boolean {
  const elapsedMs = (sent.at(-1)?.at ?? 0) - (sent[0]?.at ?? 0)
  // The first may be late where the others are not.
  return sent.every(({ text }) => text.includes('.tick(')) && sent.length - 2 <= elapsedMs / (LEASE_MS / 3)
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
    // However long it takes until all are parked; a lease that is lost on the way is got again.
    await log.until(isAtRest)
    const { data } = await other.runs.list({ status: 'WAITING', limit: 100 })
    expect(data).toHaveLength(PARKED)
  })
})
