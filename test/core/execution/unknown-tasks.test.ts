import { describe, expect, it } from 'vitest'
import { createEngine, task } from 'waitpoint'
import { createTestEngine, testClock } from 'waitpoint/testing'
import { projectStorage } from '../../support/abandon.ts'

const known = task({ id: 'known', run: async () => 'done' })
const forgotten = task({ id: 'forgotten', run: async () => 'found' })

describe('reportUnknownTasks', () => {
  it('leaves a stored run of an unknown task where it is, and says so', async () => {
    const [clock, storage] = [testClock(), projectStorage()]
    await using web = await createTestEngine({ tasks: [forgotten, known], clock, storage })
    const run = await web.engine.trigger(forgotten, undefined, { delay: '1h' })
    await web.engine.trigger(known, undefined, { delay: '1h' })
    await web.close()

    const worker = createEngine({ tasks: [known], clock, storage })
    const errors: unknown[] = []
    worker.on('error', ({ error, runId }) => errors.push([(error as { code: string }).code, runId]))
    await worker.ready()
    await clock.advance('2h')
    expect(errors).toEqual([['ERR_TASK_NOT_FOUND', run.id]])
    expect((await worker.runs.retrieve(run)).isQueued).toBe(true)
    await worker.close()

    await using other = await createTestEngine({ tasks: [forgotten], clock, storage })
    await clock.settle()
    expect((await other.engine.runs.retrieve(run)).output).toBe('found')
  })
})
