import type { RunRecord } from '../../../../src/contract/records.ts'
import type { RunInsert, RunInserted } from '../../../../src/contract/storage.ts'
import { turn } from '../../../support/turn.ts'
import type { Break, Memory } from './broken-storage.ts'

type Inserted = RunInserted | 'stale'

/** With an insert that is done otherwise. */
function inserting(change: (memory: Memory) => (request: RunInsert) => Inserted | Promise<Inserted>): Break {
  return (memory) => ({ runs: { insert: change(memory) } })
}

export const brokenMarks: Readonly<Record<string, Break>> = {
  // The last mark, not the highest.
  'runs.marks/highest-of-each-scope': (memory) => {
    const marks = new Map<string, number>()
    return {
      runs: {
        insert(request) {
          const { record, mark } = request
          if (record.key !== undefined && mark !== undefined) marks.set(record.key.scope, mark)
          return memory.runs.insert(request)
        },
        marks: (scopes) => scopes.map((scope) => marks.get(scope)),
      },
    }
  },
  'runs.marks/moved-by-a-cached-insert': inserting(
    (memory) => (request) =>
      memory.runs.insert(holderOf(memory, request) === undefined ? request : { ...request, mark: undefined }),
  ),
  // As if it were read from the keys of the runs that are there.
  'runs.marks/outlive-their-runs': (memory) => ({
    runs: {
      marks(scopes) {
        const { records } = memory.runs.list({}, { limit: 1_000 })
        const isKept = (scope: string): boolean => records.some(({ key }) => key?.scope === scope)
        return memory.runs.marks(scopes).map((mark, at) => (isKept(scopes[at] ?? '') ? mark : undefined))
      },
    },
  }),
  // Whether the key is held is looked at a turn before the run is stored.
  'runs.marks/of-inserts-at-once': inserting((memory) => async (request) => {
    const { fence, mark } = request
    if (mark === undefined || fence !== undefined) return memory.runs.insert(request)
    const isHeld = holderOf(memory, request) !== undefined
    await turn()
    const answer = memory.runs.insert(request)
    return answer === 'stale' ? answer : { ...answer, isCached: isHeld }
  }),
  'runs.insert/mark-holds-its-key': inserting((memory) => (request) => {
    const holder = holderOf(memory, request)
    const isExpired = holder !== undefined && request.now >= (holder.key?.expiresAt ?? Infinity)
    return memory.runs.insert(isExpired ? { ...request, mark: undefined } : request)
  }),
}

function holderOf({ runs }: Memory, { record: { key } }: RunInsert): RunRecord | undefined {
  const { records } = runs.list({}, { limit: 1_000 })
  return records.find(
    (one) => key !== undefined && one.key?.scope === key.scope && one.key.value === key.value,
  )
}
