import {
  runs,
  task,
  type AnyRealtimeRun,
  type AnyRetrieveRunResult,
  type RealtimeRun,
  type RetrieveRunResult,
} from '@trigger.dev/sdk'

export const job = task({
  id: 'dashboard-job',
  run: async ({ fails }: { fails: boolean }) => {
    if (fails) throw new Error('on purpose')
    return { isFine: true }
  },
})

/** As a component gets it from a hook. */
export function label(run: RealtimeRun<typeof job>): string {
  return run.status === 'COMPLETED' ? `fine: ${run.output?.isFine}` : run.status.toLowerCase()
}

/** A run that is over without an output, whatever ended it. */
function isLost({ status }: AnyRealtimeRun | AnyRetrieveRunResult): boolean {
  switch (status) {
    case 'CRASHED':
    case 'SYSTEM_FAILURE':
    case 'FAILED':
    case 'TIMED_OUT':
      return true
    default:
      return status === 'EXPIRED'
  }
}

/** As the page of an application, with all statuses that there are. */
export async function overview(id: string) {
  const run: RetrieveRunResult<typeof job> = await runs.retrieve<typeof job>(id)
  const lost = await runs.list({ status: ['FAILED', 'CRASHED', 'SYSTEM_FAILURE'], limit: 5 })
  const crashed = await runs.list({ status: 'CRASHED', period: '1d' })
  const begun = await runs.list({ status: ['DEQUEUED', 'EXECUTING'], taskIdentifier: 'dashboard-job' })
  const tests = await runs.list({ isTest: true })
  return {
    isLost: isLost(run),
    payload: run.payload?.fails,
    counts: [lost.data.length, crashed.data.length, begun.data.length, tests.data.length],
  }
}

/** Which runs of a batch are over: what a page asks while it waits for all of them. */
export async function overOf(payloads: { fails: boolean }[]) {
  const { batchId } = await job.batchTrigger(payloads.map((payload) => ({ payload })))
  const over = async (): Promise<number> => {
    const { data } = await runs.list({ batch: batchId, status: ['COMPLETED', 'FAILED'], isTest: false })
    return data.length
  }
  return { batchId, over }
}
