import type { Storage, TickRequest, TickResult } from '../../../../src/contract/storage.ts'
import { openMemory, type SynchronousMemory } from '../../../storage/storage-fixture.ts'

export type Memory = SynchronousMemory

type Stores = 'runs' | 'tokens' | 'chunks' | 'settings'

/** What is done differently. */
export type Differently = Partial<Omit<Storage, Stores>> & {
  readonly [Store in Stores]?: Partial<Storage[Store]>
}

/** A memory storage that breaks one law. */
export type Break = (memory: Memory) => Differently

export interface BrokenStorage {
  readonly breaks: Break
  /** What happens at a crash. Default: nothing is lost. */
  readonly crash?: (storage: Storage) => Storage
}

export function openBroken(breaks: Break): Storage {
  const memory = openMemory()
  const { runs, tokens, chunks, settings, ...others } = breaks(memory)
  return {
    ...memory,
    ...others,
    runs: { ...memory.runs, ...runs },
    tokens: { ...memory.tokens, ...tokens },
    chunks: { ...memory.chunks, ...chunks },
    settings: { ...memory.settings, ...settings },
  }
}

/** With a tick that answers otherwise. */
export function tickLike(change: (ticked: TickResult, request: TickRequest) => Partial<TickResult>): Break {
  return (memory) => ({
    tick(request) {
      const ticked = memory.tick(request)
      return { ...ticked, ...change(ticked, request) }
    },
  })
}
