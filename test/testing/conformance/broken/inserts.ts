import type { RunRecord, TokenRecord } from '../../../../src/contract/records.ts'
import type { Inserted, RunInsert, TokenInsert } from '../../../../src/contract/storage.ts'
import type { Break } from './broken-storage.ts'

type Insert = (request: TokenInsert | RunInsert) => Inserted<TokenRecord | RunRecord> | 'stale'

function inserting(store: 'tokens' | 'runs', change: (insert: Insert) => Insert): Break {
  return (memory) => {
    const insert = change(memory[store].insert as Insert)
    return { [store]: { insert } }
  }
}

function keyedByValueOnly(insert: Insert): Insert {
  const held = new Map<string, TokenRecord | RunRecord>()
  return (request) => {
    const { key } = request.record
    const holder = key && held.get(key.value)
    if (holder !== undefined && request.now < (holder.key?.expiresAt ?? Infinity))
      return { record: holder, isCached: true }
    const answer = insert(request)
    if (key !== undefined && answer !== 'stale') held.set(key.value, answer.record)
    return answer
  }
}

/** Claims new runs whatever stands before them, as far as `mayClaim` lets it. */
function claimingAtOnce(mayClaim: (record: RunRecord) => boolean): Break {
  return (memory) => ({
    claimsNew: true,
    runs: {
      insert(request) {
        const inserted = memory.runs.insert(request)
        const { record, claim, by, now } = request
        if (claim === undefined || inserted === 'stale' || !mayClaim(record)) return inserted
        const { runs } = memory.runs.claim({
          by,
          now,
          number: claim.number + 0.5,
          taskIds: claim.taskIds,
          versions: new Map([[record.taskId, claim.version ?? '']]),
          limit: 100,
          queueLimits: new Map(),
          maxInterruptions: 10,
        })
        const run = runs.find(({ id }) => id === record.id)
        return run === undefined ? inserted : { record: run, isCached: false, isClaimed: true }
      },
    },
  })
}

function insertsOf(store: 'tokens' | 'runs'): Readonly<Record<string, Break>> {
  const change = (request: TokenInsert | RunInsert, fields: Partial<TokenRecord>) =>
    ({ ...request, record: { ...request.record, ...fields } }) as TokenInsert | RunInsert
  return {
    [`${store}.insert/stored-as-given`]: inserting(
      store,
      (insert) => (request) => insert(change(request, { tags: [] })),
    ),
    [`${store}.insert/unexpired-key-answers-its-holder`]: inserting(store, (insert) => (request) => {
      const answer = insert(request)
      return answer === 'stale' ? answer : { ...answer, isCached: false }
    }),
    [`${store}.insert/expired-key-is-taken-over`]: inserting(
      store,
      (insert) => (request) => insert({ ...request, now: request.now - 1 }),
    ),
    [`${store}.insert/key-without-end`]: inserting(store, (insert) => (request) => {
      const { key, createdAt } = request.record
      if (key === undefined || key.expiresAt !== undefined) return insert(request)
      return insert(change(request, { key: { ...key, expiresAt: createdAt + 86_400_000 } }))
    }),
    [`${store}.insert/keys-have-scopes`]: inserting(store, keyedByValueOnly),
    [`${store}.insert/stale-fence`]: inserting(
      store,
      (insert) => (request) => insert({ ...request, fence: undefined }),
    ),
  }
}

export const brokenInserts: Readonly<Record<string, Break>> = {
  'time/no-own-clock': (memory) => ({
    tokens: { settle: (request) => memory.tokens.settle({ ...request, now: Date.now() }) },
  }),
  'settings.getOrInsert/first-candidate-stays': () => ({
    settings: { getOrInsert: (_name, candidate) => candidate },
  }),
  ...insertsOf('tokens'),
  'runs.insert/instead-of-its-holder': inserting('runs', (insert) => (request) => {
    if (!('instead' in request) || request.instead === undefined) return insert(request)
    // As if any holder gave it up.
    const { record, isCached } = insert({ ...request, instead: undefined }) as Inserted<RunRecord>
    return isCached ? insert({ ...request, instead: record.id }) : { record, isCached }
  }),
  'runs.insert/claims-for-its-caller': () => ({ claimsNew: true }),
  'runs.insert/claims-nothing-out-of-turn': claimingAtOnce(({ queue }) => queue !== 'mail'),
  'runs.insert/claims-nothing-of-a-set-queue': claimingAtOnce(() => true),
  'tokens.insert/past-deadline-is-taken': (memory) => ({
    tokens: {
      insert(request) {
        const inserted = memory.tokens.insert(request)
        memory.tokens.get(request.record.id, request.now)
        return inserted
      },
    },
  }),
  'tokens.insert/holder-past-its-deadline': (memory) => ({
    tokens: {
      insert(request) {
        const inserted = memory.tokens.insert(request)
        if (inserted === 'stale' || inserted.settledNow !== true) return inserted
        return { ...inserted, record: { ...inserted.record, status: 'WAITING', completedAt: undefined } }
      },
    },
  }),
  ...insertsOf('runs'),
}
