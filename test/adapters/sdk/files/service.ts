import { logger, task } from '@trigger.dev/sdk'

/** A class of the application, whose methods are what tasks do. */
class Ledger {
  readonly #entries: Map<string, number>
  readonly #log: typeof logger

  constructor({ log = logger }: { log?: typeof logger } = {}) {
    this.#entries = new Map()
    this.#log = log
  }

  async book({ account, cents }: { account: string; cents: number }): Promise<number> {
    const sum = (this.#entries.get(account) ?? 0) + cents
    if (sum < 0) throw new RangeError(`${account} would be at ${sum}`)
    this.#entries.set(account, sum)
    this.#log.debug('Booked', { account, cents })
    return sum
  }
}

const ledger = new Ledger()

export const book = task({
  id: 'book',
  run: (payload: Parameters<Ledger['book']>[0]) => ledger.book(payload),
})
