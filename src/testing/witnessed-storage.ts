import type { RunRecord, TokenRecord } from '../contract/records.ts'
import type { RunStore, RunUpdated, Storage, TokenStore } from '../contract/storage.ts'
import { chain } from '../primitives/awaitable.ts'
import { currentScope } from '../core/run-scope.ts'
import { isFinal } from '../core/run-status.ts'
import { captureOrigin } from './origin.ts'
import type { Witness } from './witness.ts'
import { wrapStorage } from './wrapped-storage.ts'

/** The same storage, with a witness of what passes: what is made where, who waits for what, what a run asked for last. */
export function witnessedStorage(storage: Storage, witness: Witness): Storage {
  const passing = wrapStorage(storage, (name, operation) => (...args) => {
    const scope = currentScope()
    if (scope !== undefined) witness.passed(scope.id, name)
    return operation(...args)
  })
  return {
    ...passing,
    runs: { ...passing.runs, ...witnessedRuns(passing.runs, witness) },
    tokens: { ...passing.tokens, ...witnessedTokens(passing.tokens, witness) },
    tick: (request) =>
      chain(passing.tick(request), (result) => {
        for (const { id } of result.settled) witness.tokenSettled(id)
        for (const updated of result.expired) seeRun(witness, updated)
        return result
      }),
  }
}

function witnessedRuns(runs: RunStore, witness: Witness): Pick<RunStore, 'insert' | 'update' | 'claim'> {
  return {
    insert(request) {
      const origin = captureOrigin()
      return chain(runs.insert(request), (inserted) => {
        if (!inserted.isCached) witness.runCreated(inserted.record, origin)
        return inserted
      })
    },
    update: (request) =>
      chain(runs.update(request), (updated) => {
        if (updated !== undefined) seeRun(witness, updated)
        return updated
      }),
    claim: (request) =>
      chain(runs.claim(request), (claimed) => {
        for (const { id } of claimed.runs) {
          witness.waitsDropped(id)
          witness.passed(id, 'runs.claim')
        }
        for (const updated of claimed.ended) seeRun(witness, updated)
        return claimed
      }),
  }
}

function witnessedTokens(
  tokens: TokenStore,
  witness: Witness,
): Pick<TokenStore, 'insert' | 'get' | 'await' | 'settle' | 'release'> {
  return {
    insert(request) {
      const origin = captureOrigin()
      return chain(tokens.insert(request), (inserted) => {
        const { record, isCached } = inserted
        if (!isCached && record.status === 'WAITING')
          witness.tokenCreated(record, request.isTimeoutDefault === true, origin)
        return inserted
      })
    },
    get: (id, now) =>
      chain(tokens.get(id, now), (token) => {
        if (token !== undefined) seeToken(witness, token)
        return token
      }),
    await: (request) =>
      chain(tokens.await(request), (awaited) => {
        if (awaited.outcome === 'registered') witness.waitRegistered(request)
        return awaited
      }),
    settle: (request) =>
      chain(tokens.settle(request), (settled) => {
        if (settled !== undefined) seeToken(witness, settled.record)
        return settled
      }),
    release: (waits) =>
      chain(tokens.release(waits), () => {
        for (const wait of waits) witness.waitReleased(wait)
      }),
  }
}

function seeToken(witness: Witness, { id, status }: TokenRecord): void {
  if (status !== 'WAITING') witness.tokenSettled(id)
}

/** Whoever waited for a run that has ended waits no more. */
function seeRun(
  witness: Witness,
  { record, ready }: { readonly record: RunRecord } & Partial<RunUpdated>,
): void {
  if (!isFinal(record.status)) return
  witness.runEnded(record.id)
  for (const wait of ready ?? []) witness.waitReleased(wait)
}
