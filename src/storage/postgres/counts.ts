import type { RunStatus, TokenStatus } from '../../contract/records.ts'
import type { CountStore, StatusCount, StatusCounts } from '../../contract/storage.ts'
import { idRange } from '../made-id.ts'
import type { PostgresSession } from './session.ts'
import type { CallKind } from './turns.ts'

type CountAnswer = Readonly<Record<string, readonly [count: number, isMore: boolean]>>

const RUNS: CallKind = { name: 'count_runs', isRepeatable: true, isSingle: true, mayLag: true }
const TOKENS: CallKind = { name: 'count_tokens', isRepeatable: true, isSingle: true, mayLag: true }

/** Counts of a Postgres storage. */
export function postgresCounts({ ask }: PostgresSession): CountStore {
  return {
    async runs({ status, taskIds, tags, queue, from, to }, atMost) {
      const filter = { statuses: status, task_ids: taskIds, tags, queue, ...idRange('runs', { from, to }) }
      return countsOf<RunStatus>(await ask(RUNS, { ...filter, count: atMost + 1 }))
    },
    async tokens({ status, tags, from, to }, atMost) {
      const filter = { statuses: status, tags, ...idRange('tokens', { from, to }) }
      return countsOf<TokenStatus>(await ask(TOKENS, { ...filter, count: atMost + 1 }))
    },
  }
}

function countsOf<Status extends string>(answer: unknown): StatusCounts<Status> {
  const counts = Object.entries(answer as CountAnswer).map(
    ([status, [count, isMore]]): readonly [string, StatusCount] => [status, { count, isMore }],
  )
  // The function answers by the statuses of its table.
  return Object.fromEntries(counts) as unknown as StatusCounts<Status>
}
