import type { RunRecord, TokenRecord } from '../../contract/records.ts'
import type { RunUpdated, Storage } from '../../contract/storage.ts'
import { callingAttempt } from '../../core/inside.ts'
import { isFinal } from '../../contract/run-states.ts'
import { isTimeoutDefault } from './given-timeouts.ts'
import type { Origin } from './origin.ts'
import { warnOfRealTime } from './real-time.ts'
import { seen } from './seen-answer.ts'
import type { Witness } from './witness.ts'
import { type Operations, withOperations, wrapStorage } from '../storages/wrapped.ts'

/** The storage with a witness that records origins, waits and the last call of each run. */
export function witnessedStorage(storage: Storage, witness: Witness): Storage {
  const { runs, tokens } = storage
  const watched: Operations = {
    'runs.insert': (request) => {
      const origin = witness.origins.ofRecord()
      return seen(runs.insert(request), (inserted) => {
        if (inserted === 'stale' || inserted.isCached) return
        const { record } = inserted
        witness.runCreated(record, origin)
        if (record.status === 'DELAYED') lookAtTime(record.wakeAt, record, origin)
      })
    },
    'runs.update': (request) =>
      seen(runs.update(request), (updated) => {
        if (updated !== undefined) seeRun(witness, updated)
      }),
    'runs.claim': (request) =>
      seen(runs.claim(request), (claimed) => {
        // A muster gives it no run.
        if (request.limit === 0) return
        for (const { id } of claimed.runs) {
          witness.waitsDropped(id)
          witness.passed(id, 'runs.claim')
        }
        for (const updated of claimed.ended) seeRun(witness, updated)
      }),
    'tokens.insert': (request) => {
      const origin = witness.origins.ofRecord()
      return seen(tokens.insert(request), (inserted) => {
        if (inserted === 'stale') return
        const { record, isCached } = inserted
        if (!isCached) lookAtTime(record.timeoutAt, record, origin)
        if (isCached) seeToken(witness, record)
        else if (record.status === 'WAITING') witness.tokenCreated(record, isTimeoutDefault(), origin)
      })
    },
    'tokens.get': (id, now, extras) =>
      seen(tokens.get(id, now, extras), (read) => {
        if (read !== undefined) seeToken(witness, read.record)
      }),
    'tokens.list': (filter, page, now) =>
      seen(tokens.list(filter, page, now), ({ settled }) => {
        for (const token of settled) seeToken(witness, token)
      }),
    'tokens.await': (request) =>
      seen(tokens.await(request), (awaited) => {
        if (awaited.outcome === 'registered') witness.waitRegistered(request)
      }),
    'tokens.settle': (request) =>
      seen(tokens.settle(request), (settled) => {
        if (settled !== undefined && settled !== 'stale') seeToken(witness, settled.record)
      }),
    'tokens.change': (request) =>
      seen(tokens.change(request), (changed) => {
        if (changed === undefined || changed === 'stale') return
        if (changed.changed) witness.tokenChanged(changed.record)
        else seeToken(witness, changed.record)
      }),
    'tokens.release': (waits) =>
      seen(tokens.release(waits), () => {
        for (const wait of waits) witness.waitReleased(wait)
      }),
    tick: (request) =>
      seen(storage.tick(request), (result) => {
        for (const { id } of result.settled) witness.tokenSettled(id)
        for (const updated of result.expired) seeRun(witness, updated)
      }),
  }
  return wrapStorage(withOperations(storage, watched), (name, operation) => (...args) => {
    const attempt = callingAttempt()
    if (attempt !== undefined) witness.passed(attempt.id, name)
    return operation(...args)
  })
}

function lookAtTime(
  at: number | undefined,
  { createdAt }: { readonly createdAt: number },
  origin: Origin,
): void {
  if (at !== undefined) warnOfRealTime({ at, now: createdAt, origin })
}

function seeToken(witness: Witness, { id, status }: TokenRecord): void {
  if (status !== 'WAITING') witness.tokenSettled(id)
}

/** Removes the waits for a run that has ended. */
function seeRun(
  witness: Witness,
  { record, ready }: { readonly record: RunRecord } & Partial<RunUpdated>,
): void {
  if (!isFinal(record.status)) return
  witness.runEnded(record.id)
  for (const wait of ready ?? []) witness.waitReleased(wait)
}
