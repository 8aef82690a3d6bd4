import { describe, expect, it } from 'vitest'
import {
  createEngine,
  type Engine,
  memoryStorage,
  question,
  type Storage,
  task,
  type Token,
  wait,
  type WithdrawTokenOptions,
} from 'waitpoint'
import { createTestEngine, testClock } from 'waitpoint/testing'
import { StorageUnavailableError } from 'waitpoint/storage'
import type { TokenChange, TokenSettle } from '../../../src/contract/storage.ts'
import { SETTLE_TOKEN } from '../../../src/core/host/storage-calls.ts'
import { projectStorage } from '../../support/abandon.ts'

const ANN = { id: 'ann', name: 'Ann' }
const HOUR_MS = 3_600_000

const ask = task({
  id: 'ask',
  run: async (token: string) => {
    const answer = await wait.forToken<string>(token)
    return answer.ok ? answer.output : (answer.error.withdrawn?.reason ?? 'no answer')
  },
})

describe('wait.withdrawToken', () => {
  it('ends the wait, and tells the run and all who look who did it and why', async () => {
    await using t = await createTestEngine({ tasks: [ask] })
    const { id } = await t.engine.wait.createToken({ message: 'Refund?', timeout: '2d' })
    const run = await t.engine.trigger(ask, id)
    const withdrawn = { ...ANN, via: 'call', reason: 'The order was canceled.' }
    expect(await t.engine.wait.withdrawToken(id, { reason: withdrawn.reason, by: ANN })).toEqual({
      success: true,
      status: 'TIMED_OUT',
      by: withdrawn,
    })
    expect(await run.result()).toBe(withdrawn.reason)
    const now = new Date(t.clock.now())
    const token = await t.engine.wait.retrieveToken(id)
    expect(token).toMatchObject({ status: 'TIMED_OUT', withdrawn, timeoutAt: now, completedAt: now })
    expect(token).not.toHaveProperty('answeredBy')
    expect(token.error).toMatchObject({ code: 'ERR_TOKEN_TIMED_OUT', withdrawn })
    expect(token.error?.message).toContain('was withdrawn')
    expect((await t.engine.wait.listTokens()).data).toMatchObject([{ id, withdrawn }])
    const late = { success: false, status: 'TIMED_OUT', by: withdrawn }
    expect(await t.engine.wait.completeToken(id, 'yes', { by: { id: 'bob' } })).toEqual(late)
    expect(await t.engine.wait.withdrawToken(id, { reason: 'again' })).toEqual(late)
  })

  it('says the way alone where no one is named, and nothing of a deadline that has passed', async () => {
    await using t = await createTestEngine({ tasks: [] })
    const { id } = await t.engine.wait.createToken({ timeout: '1h' })
    const other = await t.engine.wait.createToken({ timeout: '1h' })
    await t.engine.wait.withdrawToken(id)
    await t.clock.advance('1h')
    expect(await t.engine.wait.withdrawToken(other)).toEqual({ success: false, status: 'TIMED_OUT' })
    expect((await t.engine.wait.retrieveToken(id)).withdrawn).toEqual({ via: 'call' })
    expect(await t.engine.wait.retrieveToken(other)).not.toHaveProperty('withdrawn')
  })

  it('leaves an answer that came first', async () => {
    await using t = await createTestEngine({ tasks: [] })
    const { id } = await t.engine.wait.createToken()
    await t.engine.wait.completeToken(id, 'yes', { by: ANN })
    const by = { ...ANN, via: 'call' }
    expect(await t.engine.wait.withdrawToken(id)).toEqual({ success: false, status: 'COMPLETED', by })
    expect(await t.engine.wait.retrieveToken(id)).toMatchObject({ output: 'yes', answeredBy: by })
  })

  it.each<[string, WithdrawTokenOptions]>([
    ['a reason that is no text', { reason: 1 as never }],
    ['a reason of more than 1,000 characters', { reason: 'x'.repeat(1_001) }],
    ['one who has no id', { by: { name: 'Ann' } as never }],
    ['an option that is none', { why: 'late' } as never],
  ])('refuses %s, and the token waits on', async (_, options) => {
    await using t = await createTestEngine({ tasks: [] })
    const { id } = await t.engine.wait.createToken()
    await expect(t.engine.wait.withdrawToken(id, options)).rejects.toThrow()
    expect((await t.engine.wait.retrieveToken(id)).status).toBe('WAITING')
  })

  it('is refused by a storage that cannot do it', async () => {
    const { timesOut: _, ...storage } = memoryStorage()
    await using engine = createEngine({ tasks: [], storage })
    const { id } = await engine.wait.createToken()
    await expect(engine.wait.withdrawToken(id)).rejects.toThrow(TypeError)
    expect((await engine.wait.retrieveToken(id)).status).toBe('WAITING')
  })

  it('is recognized when it is made again after a lost answer, at a later instant', async () => {
    const storage = memoryStorage()
    await using engine = createEngine({ tasks: [], storage })
    const { id } = await engine.wait.createToken()
    const now = Date.now()
    const settle = (answeredJson: string) => ({
      id,
      outputJson: undefined,
      answeredJson,
      isTimeOut: true,
      by: 'e',
      now,
    })
    await storage.tokens.settle(settle('"ann"'))
    const again = { ...settle('"ann"'), now: now + 5 }
    expect(await SETTLE_TOKEN.again?.(storage, again)).toMatchObject({ won: true })
    expect(await SETTLE_TOKEN.again?.(storage, settle('"bob"'))).toMatchObject({ won: false })
  })
})

describe('wait.extendToken', () => {
  it('to an earlier instant tells engines that know the later one, also if the one that calls is gone by then', async () => {
    const [clock, storage] = [testClock({ mode: 'manual' }), projectStorage()]
    await using worker = createEngine({ tasks: [ask], clock, storage, leaseMs: 24 * HOUR_MS })
    const { id } = await worker.wait.createToken({ timeout: '8h' })
    const run = await worker.trigger(ask, id)
    const other = createEngine({ clock, storage, execute: false, leaseMs: 24 * HOUR_MS })
    await other.ready()
    await clock.settle()
    await other.wait.extendToken(id, '1h')
    await other.close()
    await clock.advance('1h')
    expect((await worker.runs.retrieve(run)).status).toBe('COMPLETED')
  })

  it.each([
    ['later', '1h', '3h'],
    ['earlier', '3h', '1h'],
  ])('times the wait out at a %s deadline, and neither before nor after', async (_, from, to) => {
    await using t = await createTestEngine({ tasks: [ask], clock: { mode: 'manual' } })
    const { id } = await t.engine.wait.createToken({ message: 'Refund?', timeout: from })
    const run = await t.engine.trigger(ask, id)
    await t.clock.settle()
    expect(await t.engine.wait.extendToken(id, to)).toEqual({ success: true, status: 'WAITING' })
    const timeoutAt = new Date(t.clock.now() + (to === '3h' ? 3 : 1) * HOUR_MS)
    await t.clock.advance(timeoutAt.getTime() - t.clock.now() - 1)
    expect((await t.engine.runs.retrieve(run)).isWaiting).toBe(true)
    expect(await t.engine.wait.retrieveToken(id)).toMatchObject({ status: 'WAITING', timeoutAt })
    await t.clock.advance(1)
    expect(await run.result()).toBe('no answer')
    expect((await t.engine.wait.retrieveToken(id)).completedAt).toEqual(timeoutAt)
  })

  it.each([
    ['later', '1h', '3h'],
    ['earlier', '3h', '1h'],
  ])('moves the wait of a run in another engine to a %s deadline', async (_, from, to) => {
    const clock = testClock({ mode: 'manual' })
    const storage = projectStorage()
    await using engine = createEngine({ tasks: [ask], storage, clock })
    await using elsewhere = createEngine({ execute: false, storage, clock })
    const { id } = await engine.wait.createToken({ timeout: from })
    const run = await engine.trigger(ask, id)
    await clock.settle()
    await elsewhere.wait.extendToken(id, to)
    await clock.advance('59m')
    expect((await engine.runs.retrieve(run)).isWaiting).toBe(true)
    await clock.advance(to === '3h' ? '2h' : '0s')
    expect((await engine.runs.retrieve(run)).isWaiting).toBe(true)
    await clock.advance('1m')
    expect(await run.result()).toBe('no answer')
  })

  it('is met by the engine that waits when the one that moved the deadline is gone', async () => {
    const clock = testClock({ mode: 'manual' })
    const storage = projectStorage()
    await using engine = createEngine({ tasks: [ask], storage, clock })
    const { id } = await engine.wait.createToken({ timeout: '3h' })
    const run = await engine.trigger(ask, id)
    const elsewhere = createEngine({ execute: false, storage, clock })
    await elsewhere.ready()
    await clock.settle()
    await elsewhere.wait.extendToken(id, '1h')
    await elsewhere.close()
    await clock.advance('1h')
    expect(await run.result()).toBe('no answer')
  })

  it('changes nothing of a settled token, and refuses what is no deadline', async () => {
    await using t = await createTestEngine({ tasks: [] })
    const { id } = await t.engine.wait.createToken({ timeout: '1h' })
    const { timeoutAt } = await t.engine.wait.retrieveToken(id)
    for (const wrong of ['soon', new Date(t.clock.now() - 1), undefined as never])
      await expect(t.engine.wait.extendToken(id, wrong)).rejects.toThrow('timeout')
    await t.engine.wait.completeToken(id, 'yes', { by: ANN })
    const by = { ...ANN, via: 'call' }
    expect(await t.engine.wait.extendToken(id, '9h')).toEqual({ success: false, status: 'COMPLETED', by })
    expect((await t.engine.wait.retrieveToken(id)).timeoutAt).toEqual(timeoutAt)
  })
})

describe('wait.reassignToken', () => {
  it('refuses the old approver from then on, and takes the answer of the new one', async () => {
    await using t = await createTestEngine({ tasks: [] })
    const asked = { message: 'Refund?', choices: ['yes', 'no'], data: { order: 7 } }
    const { id } = await t.engine.wait.createToken({ ...asked, approvers: ['bob'] })
    expect(await t.engine.wait.reassignToken(id, ['role:lead'])).toEqual({ success: true, status: 'WAITING' })
    expect((await t.engine.wait.retrieveToken(id)).question).toEqual({ ...asked, approvers: ['role:lead'] })
    const bob = t.engine.wait.completeToken(id, 'yes', { by: { id: 'bob' } })
    await expect(bob).rejects.toMatchObject({ code: 'ERR_NOT_APPROVER' })
    const lead = { by: { ...ANN, roles: ['role:lead'] } }
    await expect(t.engine.wait.completeToken(id, 'maybe', lead)).rejects.toMatchObject({
      code: 'ERR_OUTPUT_INVALID',
    })
    expect(await t.engine.wait.completeToken(id, 'yes', lead)).toMatchObject({ success: true })
  })

  it('is refused for one who is no approver at that moment, and nothing changes', async () => {
    await using t = await createTestEngine({ tasks: [] })
    const { id } = await t.engine.wait.createToken({ choices: ['yes', 'no'], approvers: ['ann', 'bob'] })
    // Both were approvers when they asked. The first change removes the other one.
    const [first, second] = await Promise.allSettled([
      t.engine.wait.reassignToken(id, ['bob'], { by: { id: 'bob' } }),
      t.engine.wait.reassignToken(id, ['ann'], { by: ANN }),
    ])
    expect(first).toMatchObject({ value: { success: true } })
    expect(second).toMatchObject({ reason: { code: 'ERR_NOT_APPROVER' } })
    await expect(t.engine.wait.reassignToken(id, ['ann'], { by: {} as never })).rejects.toThrow('by')
    await expect(t.engine.wait.reassignToken(id, ['ann'], { to: 1 } as never)).rejects.toThrow('"to"')
    expect((await t.engine.wait.retrieveToken(id)).question?.approvers).toEqual(['bob'])
  })

  it('gives approvers to a token that had none', async () => {
    await using t = await createTestEngine({ tasks: [ask] })
    const { id } = await t.engine.wait.createToken()
    const run = await t.engine.trigger(ask, id)
    await t.engine.wait.reassignToken(id, ['ann'])
    await expect(t.engine.wait.completeToken(id, 'yes')).rejects.toMatchObject({ code: 'ERR_NOT_APPROVER' })
    await t.engine.wait.completeToken(id, 'yes', { by: ANN })
    expect(await run.result()).toBe('yes')
  })

  it.each<[string, unknown]>([
    ['no approver', []],
    ['approvers that are no list', 'ann'],
    ['approvers that are equal', ['ann', 'ann']],
  ])('refuses %s, and nothing changes', async (_, approvers) => {
    await using t = await createTestEngine({ tasks: [] })
    const { id } = await t.engine.wait.createToken({ approvers: ['bob'] })
    await expect(t.engine.wait.reassignToken(id, approvers as never)).rejects.toThrow('approvers')
    expect((await t.engine.wait.retrieveToken(id)).question).toEqual({ approvers: ['bob'] })
  })
})

describe('a change of a token', () => {
  const changes: readonly (readonly [string, (engine: Engine, id: string) => Promise<unknown>])[] = [
    ['withdrawToken', (engine, id) => engine.wait.withdrawToken(id)],
    ['extendToken', (engine, id) => engine.wait.extendToken(id, '9h')],
    ['reassignToken', (engine, id) => engine.wait.reassignToken(id, ['ann'])],
  ]

  it.each(changes)('is told to those that look: %s', async (_, change) => {
    await using t = await createTestEngine({ tasks: [] })
    const { id } = await t.engine.wait.createToken({ message: 'Refund?', timeout: '1h' })
    const told: Token[] = []
    t.engine.on('token', (token) => told.push(token))
    const lists = t.engine.wait.subscribeToTokens()[Symbol.asyncIterator]()
    const [before] = ((await lists.next()) as IteratorYieldResult<readonly Token[]>).value
    await change(t.engine, id)
    const [after] = ((await lists.next()) as IteratorYieldResult<readonly Token[]>).value
    expect(after).not.toEqual(before)
    expect(told).toMatchObject([{ id }])
    const now = await t.engine.wait.retrieveToken(id)
    expect(told[0]).toMatchObject({ status: now.status, timeoutAt: now.timeoutAt })
    await lists.return?.()
  })

  it.each(changes)('rejects for a token that there is not: %s', async (_, change) => {
    await using t = await createTestEngine({ tasks: [] })
    for (const id of ['waitpoint_unknown', 'run_1', ''])
      await expect(change(t.engine, id)).rejects.toThrow(/token/)
  })

  it.each(changes)('loses to the deadline: %s', async (_, change) => {
    await using t = await createTestEngine({ tasks: [ask], clock: { mode: 'manual' } })
    const { id } = await t.engine.wait.createToken({ message: 'Refund?', timeout: '1h' })
    const run = await t.engine.trigger(ask, id)
    await t.clock.advance('1h')
    expect(await change(t.engine, id)).toEqual({ success: false, status: 'TIMED_OUT' })
    expect(await run.result()).toBe('no answer')
  })

  it('is made by a definition, in a run and outside of one', async () => {
    const refund = question({ id: 'refund', message: 'Refund?', timeout: '1h' })
    const desk = task({
      id: 'desk',
      run: async () => {
        const token = await refund.create()
        await refund.extend(token, '2h')
        await refund.reassign(token, ['ann'])
        await refund.withdraw(token, { reason: 'late' })
        const answer = await refund.wait(token)
        return answer.ok ? 'answered' : answer.error.withdrawn
      },
    })
    await using t = await createTestEngine({ tasks: [desk] })
    expect(await (await t.engine.trigger(desk)).result()).toEqual({ via: 'call', reason: 'late' })
    const [token] = (await t.engine.wait.listTokens()).data
    expect(token?.question).toMatchObject({ approvers: ['ann'] })
  })

  it.each(changes)(
    'has no effect once its attempt has lost the run to another engine: %s',
    async (_, change) => {
      const storage = projectStorage()
      const clock = testClock()
      const late = task({
        id: 'late',
        run: async (id: string, { ctx }) => {
          const { epoch = 0 } = (await storage.runs.get(ctx.run.id)) ?? {}
          const expected = { status: ['EXECUTING'], epoch } as const
          const taken = { status: 'EXECUTING', epoch: epoch + 1 } as const
          await storage.runs.update({
            id: ctx.run.id,
            expected,
            change: taken,
            by: 'another',
            now: clock.now(),
          })
          await change(engine, id)
        },
      })
      await using engine = createEngine({ tasks: [late], storage, clock })
      const { id } = await engine.wait.createToken({ message: 'Refund?', timeout: '1h' })
      const before = await engine.wait.retrieveToken(id)
      await engine.trigger(late, id)
      await clock.settle()
      expect(await engine.wait.retrieveToken(id)).toEqual(before)
    },
  )

  describe('of a run, made again because its answer was lost', () => {
    type Change = (engine: Engine, id: string) => Promise<unknown>
    const withdraw: Change = (engine, id) => engine.wait.withdrawToken(id)
    const extend: Change = (engine, id) => engine.wait.extendToken(id, '9h')
    const reassign: Change = (engine, id) => engine.wait.reassignToken(id, ['bob'])
    const byOthers: Change = async (engine, id) => {
      await engine.wait.extendToken(id, '2h')
      await engine.wait.reassignToken(id, ['cleo'])
    }
    const nothing: Change = () => Promise.resolve()
    const changed = { success: true, status: 'WAITING' }
    const withdrawn = { success: true, status: 'TIMED_OUT', by: { via: 'call' } }

    it.each<
      [string, Change, { isMade: boolean; then: Change; told: object; hours: number; approver: string }]
    >([
      ['extends', extend, { isMade: true, then: byOthers, told: changed, hours: 2, approver: 'cleo' }],
      ['extends', extend, { isMade: true, then: nothing, told: changed, hours: 9, approver: 'ann' }],
      ['extends', extend, { isMade: false, then: reassign, told: changed, hours: 9, approver: 'bob' }],
      ['reassigns', reassign, { isMade: true, then: byOthers, told: changed, hours: 2, approver: 'cleo' }],
      ['reassigns', reassign, { isMade: true, then: nothing, told: changed, hours: 1, approver: 'bob' }],
      ['reassigns', reassign, { isMade: false, then: extend, told: changed, hours: 9, approver: 'bob' }],
      ['withdraws', withdraw, { isMade: true, then: withdraw, told: withdrawn, hours: 0, approver: 'ann' }],
      [
        'withdraws',
        withdraw,
        { isMade: false, then: withdraw, told: { ...withdrawn, success: false }, hours: 0, approver: 'ann' },
      ],
    ])('%s once, and takes no change of others for its own', async (_, change, lost) => {
      const memory = memoryStorage()
      let isLost = false
      function losing<Request extends TokenChange | TokenSettle, Answer>(
        make: (request: Request) => Answer | Promise<Answer>,
      ): (request: Request) => Promise<Answer> {
        return async (request) => {
          if (isLost || request.fence === undefined || request.question === undefined) return make(request)
          isLost = true
          if (lost.isMade) await make(request)
          await lost.then(engine, request.id)
          throw new StorageUnavailableError('gone', { mayBeDone: true })
        }
      }
      const tokens = { ...memory.tokens }
      tokens.change = losing((request) => memory.tokens.change(request))
      tokens.settle = losing((request) => memory.tokens.settle(request))
      const desk = task({ id: 'desk', run: async (id: string) => change(engine, id) })
      await using engine = createEngine({ tasks: [desk], storage: { ...memory, tokens }, clock: testClock() })
      const { id } = await engine.wait.createToken({ approvers: ['ann'], timeout: '1h' })
      expect(await (await engine.trigger(desk, id)).result()).toEqual(lost.told)
      const { createdAt, timeoutAt, question: asked } = await engine.wait.retrieveToken(id)
      expect(asked?.approvers).toEqual([lost.approver])
      expect(Math.round((timeoutAt.getTime() - createdAt.getTime()) / HOUR_MS)).toBe(lost.hours)
    })
  })

  it('names the question of the token, which it has read', async () => {
    const memory = memoryStorage()
    const asked: (string | undefined)[] = []
    const storage: Storage = {
      ...memory,
      tokens: {
        ...memory.tokens,
        change: (request) => {
          asked.push(request.question)
          return memory.tokens.change(request)
        },
      },
    }
    await using engine = createEngine({ tasks: [], storage })
    const { id } = await engine.wait.createToken({ message: 'Refund?' })
    await engine.wait.reassignToken(id, ['ann'])
    await engine.wait.extendToken(id, '1h')
    expect(asked).toEqual(['{"message":"Refund?"}', '{"message":"Refund?","approvers":["ann"]}'])
  })
})
