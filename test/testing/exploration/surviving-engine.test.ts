import { describe, expect, it } from 'vitest'
import { metadata, StreamInterruptedError, task, wait } from 'waitpoint'
import { type Body, type Choose, type Decider, ProcessCrashedError } from 'waitpoint/testing'
import { exploreAll } from './bodies.ts'

async function* letters(): AsyncGenerator<string> {
  yield* ['a', 'b']
}

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

  it('makes a call again as one call, however much time has passed since', async () => {
    const nap = task({ id: 'nap', run: async (_payload: null) => wait.for({ hours: 2 }) })
    const body: Body = async (t) => {
      await t.engine.trigger(nap, null)
      await t.engine.wait.createToken({ timeout: '1d' })
      const { data: runs } = await t.engine.runs.list()
      const { data: tokens } = await t.engine.wait.listTokens({ limit: 10 })
      expect([runs.length, tokens.filter(({ runId }) => runId === undefined).length]).toEqual([1, 1])
      t.sometimes('hours later', t.clock.now() >= Date.UTC(2000, 0, 1, 2))
    }
    for (const call of ['body/runs.insert', 'body/tokens.insert']) {
      // Its answer is lost in a crash, everything else goes before its repetition, and another crash before that.
      const crashes = new Map([
        [`${call}#1`, 'after'],
        [`${call}#2`, 'before'],
      ])
      const choose: Choose = ({ kind, at, options }) => {
        if (kind === 'crash') return Math.max(options.indexOf(crashes.get(at) ?? ''), 0)
        return at === `${call}#2` ? options.length - 1 : 0
      }
      let isLeft = true
      const decider: Decider = {
        isExhaustive: true,
        begin: () => (isLeft ? ((isLeft = false), choose) : undefined),
      }
      await exploreAll(body, { tasks: [nap], crashes: 'every-commit', decider })
    }
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

  it('may be left unused, beside the one elsewhere', async () => {
    const body: Body = async (t) => {
      const { id } = await t.elsewhere.wait.createToken()
      await t.elsewhere.wait.completeToken(id, 1)
    }
    expect(await exploreAll(body, { faults: ['error', 'lost', 'late'] })).toMatchObject({ complete: true })
  })

  it('makes calls from elsewhere again that a fault of the storage failed', async () => {
    const body: Body = async (t) => {
      const { id } = await t.engine.wait.createToken({ timeout: '1h' })
      await t.elsewhere.wait.completeToken(id, 1)
      const { data } = await t.elsewhere.wait.listTokens()
      expect(data.map((token) => token.id)).toEqual([id])
    }
    const { complete } = await exploreAll(body, { faults: ['error', 'lost', 'late'], maxDeviations: 1 })
    expect(complete).toBe(true)
  })

  it('ends the read of a stream when its process dies, so that the body can read on', async () => {
    const write = task({
      id: 'write',
      run: async (_payload: null) => {
        for await (const _chunk of await metadata.stream('draft', letters())) await wait.for({ seconds: 1 })
      },
    })
    const body: Body = async (t) => {
      const run = await t.engine.trigger(write, null)
      const draft = t.engine.streams.define<string>({ id: 'draft' })
      for (const read of [() => draft.read(run), () => t.engine.streams.read(run, 'draft')]) {
        try {
          for await (const chunk of read()) expect(['a', 'b']).toContain(chunk)
        } catch (error) {
          if (!(error instanceof ProcessCrashedError || error instanceof StreamInterruptedError)) throw error
          t.sometimes('the reader saw the crash', error instanceof ProcessCrashedError)
        }
      }
      await run.result()
    }
    const options = { tasks: [write], crashes: 'every-commit', maxDeviations: 1 } as const
    expect(await exploreAll(body, options)).toMatchObject({ complete: true })
  })

  describe('with a task that waits', () => {
    const order = task({
      id: 'order',
      run: async (_payload: null) => {
        const token = await wait.createToken({ timeout: '1h', tags: ['order'] })
        return wait.forToken<string>(token).unwrap()
      },
    })
    const body: Body = async (t) => {
      const run = await t.engine.trigger(order, null)
      await t.complete({ tag: 'order' }, 'yes', { at: '+10m' })
      const outcome = await run.outcome()
      // The time may be up.
      if (!outcome.ok) expect(outcome.error.cause).toMatchObject({ name: 'WaitpointTimeoutError' })
    }

    it('hides every fault of the storage from the task and from the body', async () => {
      const options = { tasks: [order], faults: ['error'], maxDeviations: 2 } as const
      expect(await exploreAll(body, options)).toMatchObject({ complete: true })
    })

    it('finds no fault in it with several faults and crashes either', async () => {
      const options = { tasks: [order], faults: ['error', 'lost', 'late'], crashes: 'every-commit' } as const
      const report = await exploreAll(body, { ...options, decider: 'random', budget: { runs: 300 } })
      expect(report.runs).toBe(300)
    })

    it('lets the body return while the engine asks its storage again', async () => {
      const leaving: Body = async (t) => {
        await t.engine.trigger(order, null)
        await t.complete({ tag: 'order' }, 'yes', { at: '+10m' })
      }
      const options = { tasks: [order], faults: ['error', 'lost'], maxDeviations: 1 } as const
      expect(await exploreAll(leaving, options)).toMatchObject({ complete: true })
    })
  })
})
