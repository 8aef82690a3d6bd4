import { describe, expect, it } from 'vitest'
import { createTestEngine } from 'waitpoint/testing'
import {
  batch,
  idempotencyKeys,
  metadata,
  queues,
  runs,
  schedules,
  streams,
  tags,
  task,
  tasks,
  wait,
} from 'waitpoint/sdk'

const echo = task({ id: 'echo', run: async (payload: unknown) => payload })
const REQUEST = { retry: { maxAttempts: 1 }, additionalHeaders: { a: 'b' } }

/** Every call that takes options of its request, with them. */
const calls: Readonly<Record<string, (request: object) => unknown>> = {
  'task.trigger': (request) => echo.trigger(1, {}, request),
  'task.batchTrigger': (request) => echo.batchTrigger([{ payload: 1 }], {}, request),
  'task.triggerAndWait': (request) => echo.triggerAndWait(1, {}, request),
  'tasks.trigger': (request) => tasks.trigger<typeof echo>('echo', 1, {}, request),
  'tasks.batchTrigger': (request) => tasks.batchTrigger<typeof echo>('echo', [], {}, request),
  'tasks.triggerAndWait': (request) => tasks.triggerAndWait<typeof echo>('echo', 1, {}, request),
  'tasks.batchTriggerAndWait': (request) => tasks.batchTriggerAndWait<typeof echo>('echo', [], {}, request),
  'batch.trigger': (request) => batch.trigger([], {}, request),
  'batch.triggerAndWait': (request) => batch.triggerAndWait([], {}, request),
  'batch.triggerByTask': (request) => batch.triggerByTask([], {}, request),
  'batch.triggerByTaskAndWait': (request) => batch.triggerByTaskAndWait([], {}, request),
  'batch.retrieve': (request) => batch.retrieve('batch_empty', request),
  'runs.retrieve': (request) => runs.retrieve('run_x', request),
  'runs.poll': (request) => runs.poll('run_x', {}, request),
  'runs.list': (request) => runs.list({}, request),
  'runs.list of a project': (request) => runs.list('proj_x', {}, request),
  'runs.cancel': (request) => runs.cancel('run_x', request),
  'runs.replay': (request) => runs.replay('run_x', {}, request),
  'runs.reschedule': (request) => runs.reschedule('run_x', { delay: '1h' }, request),
  'wait.createToken': (request) => wait.createToken({}, request),
  'wait.completeToken': (request) => wait.completeToken('waitpoint_x', 1, request),
  'wait.retrieveToken': (request) => wait.retrieveToken('waitpoint_x', request),
  'wait.listTokens': (request) => wait.listTokens({}, request),
  'queues.list': (request) => queues.list({}, request),
  'queues.retrieve': (request) => queues.retrieve('q', request),
  'queues.pause': (request) => queues.pause('q', request),
  'queues.resume': (request) => queues.resume('q', request),
  'queues.overrideConcurrencyLimit': (request) => queues.overrideConcurrencyLimit('q', 1, request),
  'queues.resetConcurrencyLimit': (request) => queues.resetConcurrencyLimit('q', request),
  'schedules.create': (request) =>
    schedules.create({ task: 'echo', cron: '@daily', deduplicationKey: 'k' }, request),
  'schedules.retrieve': (request) => schedules.retrieve('sched_x', request),
  'schedules.update': (request) => schedules.update('sched_x', { task: 'echo', cron: '@daily' }, request),
  'schedules.del': (request) => schedules.del('sched_x', request),
  'schedules.activate': (request) => schedules.activate('sched_x', request),
  'schedules.deactivate': (request) => schedules.deactivate('sched_x', request),
  'schedules.list': (request) => schedules.list({}, request),
  'tags.add': (request) => tags.add('a', request),
  'idempotencyKeys.reset': (request) => idempotencyKeys.reset('echo', 'k', { scope: 'global' }, request),
  'metadata.flush': (request) => metadata.flush(request),
  'metadata.refresh': (request) => metadata.refresh(request),
  'streams.append': (request) => streams.append('s', 'a', { requestOptions: request }),
}

async function failure(call: (request: object) => unknown, request: object): Promise<unknown> {
  try {
    await call(request)
    return undefined
  } catch (error) {
    return error
  }
}

describe('the options of a request', () => {
  it.each(Object.entries(calls))('are taken by %s, and refused if they are misspelt', async (_name, call) => {
    await using t = await createTestEngine({ tasks: [echo] })
    t.engine.makeDefault()
    const misspelt = await failure(call, { additionalHeader: {} })
    expect(misspelt).toBeInstanceOf(TypeError)
    expect(String(misspelt)).toContain('no option "additionalHeader"')
    expect((await t.engine.runs.list()).data).toEqual([])
    expect(String(await failure(call, REQUEST))).not.toContain('no option')
  })

  it('may stand where other options may', async () => {
    await using t = await createTestEngine({ tasks: [echo] })
    t.engine.makeDefault()
    const { id } = await echo.trigger(1)
    await runs.poll(id)
    expect((await runs.list('proj_x', REQUEST as object)).data).toHaveLength(1)
    const again = await runs.replay(id, REQUEST)
    expect(await runs.poll(again.id)).toMatchObject({ output: 1 })
  })
})
