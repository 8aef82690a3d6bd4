import { describe, expect, it } from 'vitest'
import { metadata, once, RunCanceledError, task, wait } from 'waitpoint'
import { createTestEngine, type TestEngine, testClock } from 'waitpoint/testing'
import { createDeferred } from '../../src/primitives/deferred.ts'
import { projectStorage } from '../support/abandon.ts'
import { awayStorage } from '../support/away-storage.ts'
import { steeredStorage } from '../support/steered-storage.ts'
import { turn, until } from '../support/turn.ts'

interface Log {
  readonly lines: string[]
}

/** A request that is withdrawn while it waits for an answer, and that cleans up after itself. */
function purchase(log: Log): ReturnType<typeof makePurchase> {
  return makePurchase(log)
}

function makePurchase({ lines }: Log) {
  const check = task({
    id: 'check',
    run: async (_payload: null, { signal }) => {
      try {
        await wait.for({ days: 1 })
      } catch (error) {
        lines.push(`check: ${(error as Error).name}, aborted: ${signal.aborted}`)
        throw error
      }
    },
  })
  const buy = task({
    id: 'buy',
    retry: { maxAttempts: 3 },
    onFailure: () => void lines.push('failed'),
    catchError: () => void lines.push('caught'),
    run: async (_payload: null, { signal }) => {
      const token = await wait.createToken({ timeout: '7d', tags: 'approval' })
      metadata.set('asked', true)
      try {
        await Promise.all([wait.forToken(token).unwrap(), check.triggerAndWait(null)])
        lines.push('approved')
      } catch (error) {
        lines.push(
          `buy: ${error instanceof RunCanceledError ? 'canceled' : 'failed'}, aborted: ${signal.aborted}`,
        )
        await once('refund', () => void lines.push('refund')).catch(() => lines.push('no refund'))
        throw error
      }
    },
  })
  return { buy, check }
}

async function open(log: Log): Promise<TestEngine & { readonly id: string; readonly tokenId: string }> {
  const tasks = purchase(log)
  const t = await createTestEngine({ tasks: [tasks.buy, tasks.check], clock: { mode: 'manual' } })
  const { id } = await t.engine.trigger(tasks.buy, null)
  await t.clock.settle()
  const [token] = (await t.engine.wait.listTokens({ tags: ['approval'] })).data
  return { ...t, id, tokenId: token!.id }
}

describe('a run that is canceled while it waits', () => {
  it('ends at once, with the child it waits for, and hears of it where it waits', async () => {
    const log: Log = { lines: [] }
    await using t = await open(log)
    expect((await t.engine.runs.retrieve(t.id)).waitingOn).toHaveLength(2)
    await t.engine.runs.cancel(t.id)
    expect(await t.engine.runs.retrieve(t.id)).toMatchObject({
      status: 'CANCELED',
      metadata: { asked: true },
      waitingOn: [],
    })
    const [child] = (await t.engine.runs.list({ taskIdentifier: 'check' })).data
    expect(child!.status).toBe('CANCELED')
    await t.clock.settle()
    expect([...log.lines].sort()).toEqual([
      'buy: canceled, aborted: true',
      'check: RunCanceledError, aborted: true',
      'no refund',
    ])
    expect(t.engine.stats()).toMatchObject({ attempts: 0, executing: 0, waits: 0 })
  })

  it('is not woken by an answer that comes later; the token takes it all the same', async () => {
    const log: Log = { lines: [] }
    await using t = await open(log)
    await t.engine.runs.cancel(t.id)
    expect(await t.engine.wait.completeToken(t.tokenId, 'too late')).toEqual({
      success: true,
      status: 'COMPLETED',
    })
    await t.clock.advance('8d')
    expect(log.lines).not.toContain('approved')
    expect((await t.engine.runs.retrieve(t.id).catch(() => undefined))?.status ?? 'CANCELED').toBe('CANCELED')
  })

  it('does not hear of an answer that came first either, if it had no slot yet', async () => {
    const log: Log = { lines: [] }
    await using t = await open(log)
    await Promise.all([t.engine.wait.completeToken(t.tokenId), t.engine.runs.cancel(t.id)])
    await t.clock.settle()
    expect((await t.engine.runs.retrieve(t.id)).status).toBe('CANCELED')
    expect(log.lines).not.toContain('approved')
  })

  it('is not tried again, and its hooks do not run', async () => {
    const log: Log = { lines: [] }
    await using t = await open(log)
    await t.engine.runs.cancel(t.id)
    await t.clock.advance('30m')
    expect(await t.engine.runs.retrieve(t.id)).toMatchObject({ status: 'CANCELED', attemptCount: 1 })
    expect(log.lines).not.toContain('failed')
    expect(log.lines).not.toContain('caught')
  })

  it('can be replayed', async () => {
    const log: Log = { lines: [] }
    await using t = await open(log)
    await t.engine.runs.cancel(t.id)
    const again = await t.engine.runs.replay(t.id)
    await t.clock.settle()
    const [token] = (await t.engine.wait.listTokens({ tags: ['approval'], status: 'WAITING' })).data.filter(
      ({ id }) => id !== t.tokenId,
    )
    await t.engine.wait.completeToken(token!)
    await t.clock.advance('1d')
    expect((await t.engine.runs.poll(again)).status).toBe('COMPLETED')
    expect(log.lines).toContain('approved')
  })

  it('leaves no child behind, at whatever moment it is canceled', async () => {
    const nap = task({ id: 'nap', run: (_payload: null, tools) => tools.wait.for({ minutes: 1 }) })
    const parent = task({
      id: 'parent',
      run: async (_payload: null) => {
        await Promise.all([nap.triggerAndWait(null), nap.batchTriggerAndWait([{ payload: null }])])
      },
    })
    for (let turns = 0; turns < 40; turns += 1) {
      await using t = await createTestEngine({ tasks: [parent, nap], clock: { mode: 'manual' } })
      const { id } = await t.engine.trigger(parent, null)
      for (let turn = 0; turn < turns; turn += 1) await Promise.resolve()
      await t.engine.runs.cancel(id)
      await t.clock.settle()
      const children = (await t.engine.runs.list({ taskIdentifier: 'nap' })).data.map(({ status }) => status)
      expect(
        children.filter((status) => status !== 'CANCELED'),
        `after ${turns} turns`,
      ).toEqual([])
      expect(t.engine.stats(), `after ${turns} turns`).toMatchObject({ attempts: 0, executing: 0, waits: 0 })
    }
  })

  it('leaves no child behind that storage took while it was away', async () => {
    const nap = task({ id: 'nap', run: (_payload: null, tools) => tools.wait.for({ minutes: 1 }) })
    const gate = createDeferred<undefined>()
    let isBegun = false
    const parent = task({
      id: 'parent',
      run: async (_payload: null) => {
        isBegun = true
        await gate.promise
        return nap.triggerAndWait(null).unwrap()
      },
    })
    const server = awayStorage(projectStorage())
    const clock = { mode: 'manual' } as const
    await using t = await createTestEngine({ tasks: [parent, nap], storage: server.storage, clock })
    const { id } = await t.engine.trigger(parent, null)
    await until(() => isBegun)
    server.goAway('answers are lost')
    gate.resolve(undefined)
    await until(() => server.failed.includes('runs.insert'))
    await turn()
    server.comeBack()
    await t.engine.runs.cancel(id)
    await t.clock.settle()
    const [child] = (await t.engine.runs.list({ taskIdentifier: 'nap' })).data
    expect(child!.status).toBe('CANCELED')
  })

  it('leaves no child behind that was just being stored', async () => {
    const nap = task({ id: 'nap', run: (_payload: null, tools) => tools.wait.for({ minutes: 1 }) })
    const gate = createDeferred<undefined>()
    const parent = task({
      id: 'parent',
      run: (_payload: null) => gate.promise.then(() => nap.triggerAndWait(null).unwrap()),
    })
    const steered = steeredStorage(projectStorage())
    await using t = await createTestEngine({
      tasks: [parent, nap],
      storage: steered.storage,
      clock: { mode: 'manual', ioGraceMs: 10 },
    })
    const { id } = await t.engine.trigger(parent, null)
    const answer = steered.holdAnswer('runs.insert')
    gate.resolve(undefined)
    await t.clock.settle().catch(() => undefined)
    await t.engine.runs.cancel(id)
    answer()
    await t.clock.settle()
    const [child] = (await t.engine.runs.list({ taskIdentifier: 'nap' })).data
    expect(child!.status).toBe('CANCELED')
    expect(t.engine.stats()).toMatchObject({ attempts: 0, executing: 0, waits: 0 })
  })

  it.each(['the same engine', 'another engine'])(
    'leaves no child behind that it began to wait for while %s canceled it',
    async (who) => {
      const nap = task({ id: 'nap', run: (_payload: null, tools) => tools.wait.for({ minutes: 1 }) })
      const gate = createDeferred<undefined>()
      const parent = task({
        id: 'parent',
        run: (_payload: null) => gate.promise.then(() => nap.triggerAndWait(null).unwrap()),
      })
      const storage = projectStorage()
      const steered = steeredStorage(storage)
      await using clock = testClock({ mode: 'manual' })
      const here = who === 'the same engine' ? steered.storage : storage
      await using t = await createTestEngine({ tasks: [parent, nap], storage: here, clock })
      await using other = await createTestEngine({ storage: steered.storage, clock, seed: 2 })
      const { id } = await t.engine.trigger(parent, null)
      await until(() => t.engine.stats().executing === 1)
      const release = steered.holdCall('runs.update')
      const { engine } = who === 'the same engine' ? t : other
      const canceled = engine.runs.cancel(id)
      await until(() => steered.calls.includes('runs.update'))
      gate.resolve(undefined)
      await until(() => t.engine.stats().waits === 2)
      release()
      await canceled
      await clock.settle()
      expect((await t.engine.runs.list()).data.map(({ status }) => status)).toEqual(['CANCELED', 'CANCELED'])
      expect(t.engine.stats()).toMatchObject({ attempts: 0, executing: 0, waits: 0 })
    },
  )
})
