import type { RunRecord, TokenRecord } from '../../../../src/contract/records.ts'
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

/** The token by which the place of a request is bound. */
function boundBy({ tokens }: Memory, { bind, now }: RunInsert): TokenRecord | undefined {
  return bind && tokens.list({ kind: 'BINDING', key: bind.key }, { limit: 1 }, now).records[0]
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
  'runs.insert/push-binds': pushing(
    ({ runs }) =>
      (request) =>
        runs.insert({ ...request, bind: undefined }),
  ),
  // One that is trailing counts again.
  'runs.insert/push-is-bound': pushing((memory) => (request) => {
    const isAgain = boundBy(memory, request) !== undefined && request.push.change !== undefined
    return memory.runs.insert(isAgain ? { ...request, bind: undefined } : request)
  }),
  'runs.insert/push-binds-by-its-fence': pushing(
    ({ runs }) =>
      (request) =>
        runs.insert({ ...request, fence: undefined }),
  ),
  // Its token is there, and prune does not know what it means.
  'prune/keeps-what-is-bound': pushing((memory) => (request) => {
    const { bind, by, now } = request
    if (bind === undefined || boundBy(memory, request) !== undefined) return memory.runs.insert(request)
    const answer = memory.runs.insert({ ...request, bind: undefined })
    if (answer === 'stale') return answer
    const record = { ...bind, outputJson: JSON.stringify(answer.record.id) }
    memory.tokens.insert({ record, by, now })
    return answer
  }),
  // A place that was not bound a turn ago counts, whatever came in between.
  'overlap/of-a-place-that-is-bound': pushing((memory) => async (request) => {
    const before = boundBy(memory, request)
    await turn()
    const isLate = before === undefined && boundBy(memory, request) !== undefined
    return memory.runs.insert(isLate ? { ...request, bind: undefined } : request)
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
