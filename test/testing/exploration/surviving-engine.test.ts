import { describe, expect, it } from 'vitest'
import { task } from 'waitpoint'
import type { Body } from 'waitpoint/testing'
import { exploreAll } from './bodies.ts'

const double = task({ id: 'double', run: (n: number) => 2 * n })

describe('the engine of a body', () => {
  it('makes everything once, however often a crash cuts its calls off', async () => {
    const body: Body = async (t) => {
      const { runs: batch } = await t.engine.tasks.batchTrigger<typeof double>('double', [
        { payload: 1 },
        { payload: 2 },
      ])
      const token = await t.engine.wait.createToken({ tags: ['mine'] })
      const byId = await t.engine.tasks.trigger<typeof double>('double', 3)
      const outputs = await Promise.all([...batch, byId].map(async (run) => run.result()))
      expect(outputs).toEqual([2, 4, 6])
      const tokens: string[] = []
      for await (const { id } of t.engine.wait.listTokens()) tokens.push(id)
      expect(tokens).toEqual([token.id])
      const runs = await t.engine.runs.list({ limit: 2 })
      expect(runs.data).toHaveLength(2)
      const { data: rest } = await t.engine.runs.list({ after: runs.pagination.next ?? '' })
      expect(rest).toHaveLength(1)
    }
    await exploreAll(body, { tasks: [double], crashes: 'every-commit', maxDeviations: 1 })
  })

  it('goes on telling its listeners, and being the default, after a crash', async () => {
    const body: Body = async (t) => {
      const ended: string[] = []
      const stop = t.engine.on('run', (run) => {
        if (run.isCompleted) ended.push(run.id)
      })
      const undo = t.engine.makeDefault()
      await t.engine.ready()
      t.crash()
      const run = await double.trigger(4)
      expect(await t.engine.runs.poll(run)).toMatchObject({ output: 8 })
      await t.clock.sleep(1)
      expect(ended).toEqual([run.id])
      stop()
      undo()
      expect(t.engine.stats().attempts).toBe(0)
    }
    await exploreAll(body, { tasks: [double], maxDeviations: 0 })
  })

  it('makes a call again that a fault of the storage failed', async () => {
    const body: Body = async (t) => {
      const token = await t.engine.wait.createToken()
      expect(await t.engine.wait.completeToken(token, 1)).toMatchObject({ status: 'COMPLETED' })
      expect(await t.engine.wait.retrieveToken(token)).toMatchObject({ output: 1 })
    }
    const { complete } = await exploreAll(body, { faults: ['error', 'lost', 'late'], maxDeviations: 1 })
    expect(complete).toBe(true)
  })
})
