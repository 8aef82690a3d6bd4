import type { Storage } from 'waitpoint'
import type { AdapterTools } from 'waitpoint/testing'

interface Wait {
  readonly tokenId: string
  readonly runId: string
  readonly owner: string
}

/** Who waits for what, as an adapter keeps it beside its records. It survives the process. */
export class WaitList {
  readonly #disk: Map<string, unknown>

  constructor({ disk }: AdapterTools) {
    this.#disk = disk
  }

  of(tokenId: string): readonly Wait[] {
    return this.#waits.filter((wait) => wait.tokenId === tokenId)
  }

  add(wait: Wait): void {
    this.#disk.set('waits', [...this.#waits, wait])
  }

  remove(isGone: (wait: Wait) => boolean): void {
    this.#disk.set(
      'waits',
      this.#waits.filter((wait) => !isGone(wait)),
    )
  }

  get #waits(): readonly Wait[] {
    // Only this class writes it.
    return (this.#disk.get('waits') ?? []) as readonly Wait[]
  }
}

/** A storage that keeps such a list: of every wait that is registered, until it is released or its run is claimed. */
export function listing(storage: Storage, list: WaitList): Storage {
  const { runs, tokens } = storage
  return {
    ...storage,
    runs: {
      ...runs,
      claim: async (request) => {
        const claimed = await runs.claim(request)
        list.remove(({ runId }) => claimed.runs.some(({ id }) => id === runId))
        return claimed
      },
    },
    tokens: {
      ...tokens,
      await: async (request) => {
        const { tokenId, runId, by: owner } = request
        const awaited = await tokens.await(request)
        if (awaited.outcome === 'registered') list.add({ tokenId, runId, owner })
        return awaited
      },
      release: async (waits) => {
        await tokens.release(waits)
        list.remove((gone) =>
          waits.some(({ tokenId, runId }) => tokenId === gone.tokenId && runId === gone.runId),
        )
      },
    },
  }
}
