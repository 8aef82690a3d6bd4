import type { RunRecord } from '../../../../src/contract/records.ts'
import type { RunAsked } from '../../../../src/contract/storage.ts'
import type { Break, Memory } from './broken-storage.ts'

/** With other things asked for. */
function askedLike(change: (asked: RunAsked, runId: string, memory: Memory) => Partial<RunAsked>): Break {
  return (memory) => ({
    runs: {
      asked(id) {
        const asked = memory.runs.asked(id)
        return { ...asked, ...change(asked, id, memory) }
      },
    },
  })
}

/** Runs with a key of a scope, be it one that expires or not, the oldest first. */
function keyedRuns(memory: Memory, scope: string): readonly RunRecord[] {
  const { records } = memory.runs.list({}, { limit: 100 })
  return records.filter(({ key }) => key?.scope === scope).reverse()
}

export const brokenAsked: Readonly<Record<string, Break>> = {
  'runs.asked/all-kinds': askedLike(({ tokens }) => ({
    tokens: tokens.filter(({ kind }) => kind !== 'BINDING'),
  })),
  'runs.asked/own-keys-only': askedLike((_, id, memory) => ({ runs: keyedRuns(memory, id) })),
  'runs.asked/oldest-first': askedLike(({ tokens }) => ({
    tokens: [...tokens].sort((one, other) => (one.id < other.id ? -1 : 1)),
  })),
  'runs.asked/unknown-run': askedLike((asked, id, memory) =>
    memory.runs.get(id) === undefined ? { runs: keyedRuns(memory, id) } : asked,
  ),
}
