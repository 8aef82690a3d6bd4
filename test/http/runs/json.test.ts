import { describe, expect, it } from 'vitest'
import type { RetrievedRun } from 'waitpoint'
import type { RunRecord } from '../../../src/contract/records.ts'
import { viewRetrievedRun } from '../../../src/core/views/run.ts'
import type { ReadableRun } from '../../../src/http/runs/access.ts'
import { retrievedRunJson, runJson, runResultJson } from '../../../src/http/runs/json.ts'

function runWith(status: RunRecord['status'], more: Partial<RunRecord> = {}): RetrievedRun {
  return readWith(status, more).run
}

function readWith(status: RunRecord['status'], more: Partial<RunRecord> = {}): ReadableRun {
  const record: RunRecord = {
    id: 'run_1',
    taskId: 't',
    status,
    attempt: 1,
    policyAttempt: 1,
    interruptions: 0,
    epoch: 1,
    slot: false,
    returned: false,
    rootId: 'run_1',
    tags: [],
    streams: [],
    queue: 't',
    createdAt: 0,
    updatedAt: 0,
    ...more,
  }
  return { run: viewRetrievedRun(record), record }
}

describe('retrievedRunJson', () => {
  it.each([
    ['QUEUED', ['isQueued']],
    ['DELAYED', ['isQueued']],
    ['PENDING_VERSION', ['isQueued']],
    ['EXECUTING', ['isExecuting']],
    ['WAITING', ['isWaiting']],
    ['COMPLETED', ['isCompleted', 'isSuccess']],
    ['FAILED', ['isCompleted', 'isFailed']],
    ['CRASHED', ['isCompleted', 'isFailed']],
    ['CANCELED', ['isCompleted', 'isFailed', 'isCancelled']],
    ['TIMED_OUT', ['isCompleted']],
    ['EXPIRED', ['isCompleted']],
  ] as const)(
    'says of %s what the service says, but that it has completed when it has ended',
    (status, expected) => {
      for (const json of [retrievedRunJson(runWith(status)), runJson(runWith(status))]) {
        const set = Object.entries(json).flatMap(([name, value]) =>
          name.startsWith('is') && value === true ? [name] : [],
        )
        expect(set.sort()).toEqual([...expected].sort())
      }
    },
  )

  it.each([
    ['2025-07-16', 'PENDING_VERSION'],
    ['2024-01-01', 'WAITING_FOR_DEPLOY'],
    [undefined, 'WAITING_FOR_DEPLOY'],
  ])('tells clients of version %s of the API that a run waits for fitting code: %s', (version, status) => {
    const run = runWith('PENDING_VERSION')
    for (const json of [retrievedRunJson(run, version), runJson(run, version)])
      expect(json).toMatchObject({ status })
    expect(runJson(runWith('WAITING'), version)).toMatchObject({ status: 'WAITING' })
  })

  it('is deeper for a child', () => {
    expect(retrievedRunJson(runWith('QUEUED', { parentId: 'run_0', rootId: 'run_0' }))).toMatchObject({
      depth: 1,
      parentId: 'run_0',
    })
  })
})

describe('runResultJson', () => {
  const resultOf = (...run: Parameters<typeof readWith>): object | undefined =>
    runResultJson(readWith(...run), { skipColumns: new Set() })

  it('is there when the run has ended, with or without an output', () => {
    expect(resultOf('EXECUTING')).toBeUndefined()
    expect(JSON.parse(JSON.stringify(resultOf('COMPLETED')))).toEqual({
      ok: true,
      id: 'run_1',
      taskIdentifier: 't',
      outputType: 'application/json',
    })
    expect(resultOf('COMPLETED', { outputJson: 'null' })).toMatchObject({ output: 'null' })
    expect(resultOf('EXPIRED')).toMatchObject({ ok: false, error: { type: 'BUILT_IN_ERROR' } })
  })
})
