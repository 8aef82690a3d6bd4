import type { RunRecord } from '../../../../src/contract/records.ts'
import type { Inserted, RunInsert, RunPush } from '../../../../src/contract/storage.ts'
import type { Break, Memory } from './broken-storage.ts'
import { turn } from '../../../support/turn.ts'

type Pushing = RunInsert & { readonly push: RunPush }
type Answer = Inserted<RunRecord> | 'stale'

/** With pushes that are done otherwise. */
function pushing(change: (memory: Memory) => (request: Pushing) => Answer | Promise<Answer>): Break {
  return (memory) => {
    const pushed = change(memory)
    return {
      runs: {
        insert: (request) =>
          request.push === undefined
            ? memory.runs.insert(request)
            : pushed({ ...request, push: request.push }),
      },
    }
  }
}

/** The run that was stored last with the key of a request. */
function lastOf({ runs }: Memory, { record }: RunInsert): RunRecord | undefined {
  const { key } = record
  return runs
    .list({}, { limit: 100 })
    .records.filter((one) => one.key?.scope === key?.scope && one.key?.value === key?.value)
    .sort((one, other) => other.createdAt - one.createdAt)[0]
}

function moved(memory: Memory, { id }: RunRecord, { push, by, now }: Pushing): RunRecord | undefined {
  const change = { ...push.change, wakeAt: push.wakeAt }
  return memory.runs.update({ id, expected: { status: ['DELAYED'] }, change, by, now })?.record
}

export const brokenPushes: Readonly<Record<string, Break>> = {
  'runs.insert/push-puts-off': pushing(
    ({ runs }) =>
      (request) =>
        runs.insert({ ...request, push: undefined }),
  ),
  'runs.insert/push-never-brings-forward': pushing((memory) => (request) => {
    const answer = memory.runs.insert(request)
    if (answer === 'stale' || !answer.isCached) return answer
    return { ...answer, record: moved(memory, answer.record, request) ?? answer.record }
  }),
  'runs.insert/push-replaces-what-it-names': pushing(
    ({ runs }) =>
      (request) =>
        runs.insert({ ...request, push: { ...request.push, change: undefined } }),
  ),
  'runs.insert/push-raises-the-epoch': pushing((memory) => (request) => {
    const answer = memory.runs.insert(request)
    if (answer === 'stale' || !answer.isCached) return answer
    const { id, epoch } = answer.record
    const { by, now } = request
    const change = { epoch: epoch - 1 }
    const updated = memory.runs.update({ id, expected: { status: ['DELAYED'] }, change, by, now })
    return { ...answer, record: updated?.record ?? answer.record }
  }),
  'runs.insert/push-has-an-end': pushing(
    ({ runs }) =>
      (request) =>
        runs.insert({ ...request, push: { ...request.push, withinMs: undefined } }),
  ),
  // A run between two attempts is DELAYED, too.
  'runs.insert/push-comes-too-late': pushing((memory) => (request) => {
    const last = lastOf(memory, request)
    return last?.status === 'DELAYED' && last.attempt > 0
      ? { record: last, isCached: true }
      : memory.runs.insert(request)
  }),
  'runs.insert/push-made-again': pushing((memory) => (request) => {
    const own = memory.runs.get(request.record.id)
    if (own === undefined) return memory.runs.insert(request)
    return { record: moved(memory, own, request) ?? own, isCached: true }
  }),
  // What could be put off a turn ago is answered so, whatever came in between.
  'overlap/of-a-run-that-is-put-off': pushing((memory) => async (request) => {
    const before = lastOf(memory, request)
    await turn()
    const answer = memory.runs.insert(request)
    if (before === undefined || answer === 'stale' || answer.isCached) return answer
    const { status, attempt, wakeAt = 0, createdAt } = before
    const isEarly = status === 'DELAYED' && attempt === 0 && request.now < wakeAt
    const isWithin = request.push.wakeAt <= createdAt + (request.push.withinMs ?? Infinity)
    return isEarly && isWithin ? { record: before, isCached: true } : answer
  }),
  // The first one of a key is stored a turn after no other was found.
  'overlap/of-the-first-of-a-key': pushing((memory) => async (request) => {
    if (lastOf(memory, request) !== undefined) return memory.runs.insert(request)
    await turn()
    return memory.runs.insert({ ...request, push: undefined })
  }),
}
