import { describe, expect, it } from 'vitest'
import { type CreateTokenOptions, type Engine, idempotencyKeys, type RunTools } from 'waitpoint'
import { createTestEngine, type TestClock } from 'waitpoint/testing'
import { bodyTask, rejection } from '../../support/body-task.ts'
import { microtasksUntil } from '../../support/turn.ts'

const START = Date.UTC(2000, 0, 1)
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

const manual = { clock: { mode: 'manual' } } as const

/** What `body` returns or throws in a run of its own; the value does not have to be JSON. */
async function inRun<T>(body: (tools: RunTools, engine: Engine) => Promise<T>): Promise<T> {
  let outcome: { value: T } | { error: unknown } | undefined
  const only = bodyTask(async (tools) => {
    outcome = await body(tools, t.engine).then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    )
  })
  await using t = await createTestEngine({ tasks: [only] })
  await (await t.engine.trigger(only, null)).result()
  if (outcome === undefined) throw new Error('Cannot read the outcome: the task did not run')
  if ('error' in outcome) throw outcome.error
  return outcome.value
}

describe('createToken', () => {
  it('creates a token that waits for ten minutes', async () => {
    await using t = await createTestEngine(manual)
    const token = await t.engine.wait.createToken()
    expect(Object.keys(token).sort()).toEqual(['id', 'isCached', 'link', 'publicAccessToken', 'url'])
    expect(token.id).toMatch(/^waitpoint_[0-9a-z]{26}$/)
    expect(token.isCached).toBe(false)
    const stored = await t.engine.wait.retrieveToken(token)
    expect(stored).toEqual({
      id: token.id,
      status: 'WAITING',
      url: token.url,
      tags: [],
      createdAt: new Date(START),
      timeoutAt: new Date(START + 10 * MINUTE_MS),
      waitingRuns: [],
    })
  })

  it.each([
    ['90s', 90_000],
    ['1h30m', 90 * MINUTE_MS],
    ['1.5h', 90 * MINUTE_MS],
    ['2 days', 48 * HOUR_MS],
    [1, 1],
    [0, 0],
    [new Date(START + 5), 5],
    [new Date(START), 0],
    ['2000-01-01T00:00:00.007Z', 7],
    ['2000-01-02', 24 * HOUR_MS],
  ])('reads the timeout %j', async (timeout, expectedMs) => {
    await using t = await createTestEngine(manual)
    const { timeoutAt } = await t.engine.wait.retrieveToken(await t.engine.wait.createToken({ timeout }))
    expect(timeoutAt.getTime() - START).toBe(expectedMs)
  })

  it.each<[string, CreateTokenOptions, RegExp]>([
    ['unreadable', { timeout: 'soon' }, /Cannot read timeout "soon"/],
    ['empty', { timeout: '' }, /Cannot read timeout ""/],
    ['bare numeric', { timeout: '10' }, /Cannot read timeout "10"/],
    ['negative', { timeout: -1 }, /Cannot read timeout -1/],
    ['negative in words', { timeout: '-1h' }, /Cannot read timeout "-1h"/],
    ['endless', { timeout: Infinity }, /Cannot read timeout Infinity/],
    ['not a number', { timeout: Number.NaN }, /Cannot read timeout NaN/],
    ['invalid date', { timeout: new Date(Number.NaN) }, /Cannot read timeout "Invalid Date"/],
    ['too far', { timeout: '300000 years' }, /Cannot use timeout "300000 years": no date is that far ahead/],
    [
      'past',
      { timeout: new Date(START - 1) },
      /Cannot use timeout "1999-12-31T23:59:59.999Z": it is in the past/,
    ],
    ['past in words', { timeout: '1999-12-31' }, /Cannot use timeout "1999-12-31": it is in the past/],
    ['TTL', { idempotencyKey: 'k', idempotencyKeyTTL: '10' }, /Cannot read idempotencyKeyTTL "10"/],
    ['TTL without a key', { idempotencyKeyTTL: 'later' }, /Cannot read idempotencyKeyTTL "later"/],
    [
      'far TTL',
      { idempotencyKey: 'k', idempotencyKeyTTL: '300000 years' },
      /Cannot use idempotencyKeyTTL "300000 years": no date is that far ahead/,
    ],
    ['empty key', { idempotencyKey: '' }, /Cannot use idempotencyKey ""/],
    ['long key', { idempotencyKey: 'k'.repeat(2_049) }, /must be a string of 1 to 2048 characters/],
    ['empty tag', { tags: [''] }, /Cannot use tag ""/],
    ['many tags', { tags: Array.from({ length: 11 }, String) }, /Cannot use 11 tags: at most 10/],
  ])('refuses what it cannot use, before anything has changed: %s', async (_what, options, message) => {
    await using t = await createTestEngine(manual)
    const error = await rejection(t.engine.wait.createToken(options))
    expect(error).toBeInstanceOf(RangeError)
    expect((error as Error).message).toMatch(message)
    expect(await t.engine.wait.listTokens()).toMatchObject({ data: [] })
  })

  it.each([
    ['timeout', { timeout: {} }],
    ['timeout', { timeout: true }],
  ])('refuses a %s of a wrong type: %j', async (_what, options) => {
    await using t = await createTestEngine(manual)
    expect(await rejection(t.engine.wait.createToken(options as never))).toBeInstanceOf(TypeError)
  })

  it('refuses in a run as it does outside', async () => {
    await expect(inRun(({ wait }) => wait.createToken({ timeout: new Date(START - 1) }))).rejects.toThrow(
      RangeError,
    )
    await expect(
      inRun(({ wait }) => wait.createToken({ timeout: '1999-01-01', idempotencyKey: 'k' })),
    ).rejects.toThrow(/in the past/)
  })

  it('keeps its tags, one or several', async () => {
    await using t = await createTestEngine(manual)
    const tagsOf = async (tags: string | string[]): Promise<unknown> =>
      (await t.engine.wait.retrieveToken(await t.engine.wait.createToken({ tags }))).tags
    expect(await tagsOf('review')).toEqual(['review'])
    expect(await tagsOf(['review', 'doc:1'])).toEqual(['review', 'doc:1'])
  })
})

describe('createToken with an idempotency key', () => {
  it('answers the token that has the key, in whatever state, and changes nothing on it', async () => {
    await using t = await createTestEngine(manual)
    const { wait } = t.engine
    const create = (timeout: string): ReturnType<typeof wait.createToken> =>
      wait.createToken({ idempotencyKey: 'order 1', timeout, tags: [timeout] })
    const first = await create('5m')
    const before = await wait.retrieveToken(first)
    expect(before.idempotencyKey).toBe('order 1')
    expect(before.idempotencyKeyExpiresAt).toEqual(new Date(START + HOUR_MS))
    expect(await create('20m')).toMatchObject({ id: first.id, isCached: true, url: first.url })
    expect(await wait.retrieveToken(first)).toEqual(before)

    await t.clock.advance('5m')
    const late = await create('20m')
    expect(late).toMatchObject({ id: first.id, isCached: true })
    expect(await wait.retrieveToken(late)).toMatchObject({ status: 'TIMED_OUT', tags: ['5m'] })

    const other = await wait.createToken({ idempotencyKey: 'order 2' })
    expect(other.id).not.toBe(first.id)
    await wait.completeToken(other, { paid: true })
    const again = await wait.createToken({ idempotencyKey: 'order 2' })
    expect(again).toMatchObject({ id: other.id, isCached: true })
    expect(await wait.retrieveToken(again)).toMatchObject({ status: 'COMPLETED', output: { paid: true } })
  })

  it('answers a new token once the key has expired; the old one keeps its id', async () => {
    await using t = await createTestEngine(manual)
    const { wait } = t.engine
    const options = { idempotencyKey: 'k', idempotencyKeyTTL: '1m', timeout: '1h' } as const
    const old = await wait.createToken(options)
    await t.clock.advance(MINUTE_MS - 1)
    expect(await wait.createToken(options)).toMatchObject({ id: old.id, isCached: true })
    await t.clock.advance(1)
    const young = await wait.createToken(options)
    expect(young.isCached).toBe(false)
    expect(young.id).not.toBe(old.id)
    expect(await wait.createToken(options)).toMatchObject({ id: young.id, isCached: true })
    expect(await wait.completeToken(old, 'old')).toEqual({ success: true, status: 'COMPLETED' })
    expect(await wait.retrieveToken(old)).toMatchObject({ id: old.id, output: 'old', idempotencyKey: 'k' })
    expect(await wait.retrieveToken(young)).toMatchObject({ status: 'WAITING' })
  })

  it('answers the token although its fixed deadline is past by now', async () => {
    await using t = await createTestEngine(manual)
    const options = { idempotencyKey: 'k', timeout: new Date(START + MINUTE_MS) }
    const { id } = await t.engine.wait.createToken(options)
    await t.clock.advance('2m')
    expect(await t.engine.wait.createToken(options)).toMatchObject({ id, isCached: true })
    expect(await t.engine.wait.retrieveToken(id)).toMatchObject({ status: 'TIMED_OUT' })
    await t.clock.advance('1h')
    expect(await rejection(t.engine.wait.createToken(options))).toBeInstanceOf(RangeError)
  })

  it('lets exactly one of two calls at once create the token', async () => {
    await using t = await createTestEngine(manual)
    const tokens = await Promise.all(
      Array.from({ length: 5 }, () => t.engine.wait.createToken({ idempotencyKey: 'k' })),
    )
    expect(new Set(tokens.map(({ id }) => id)).size).toBe(1)
    expect(tokens.filter(({ isCached }) => !isCached)).toHaveLength(1)
  })

  it('takes a TTL of nothing: the key has expired when it is used', async () => {
    await using t = await createTestEngine(manual)
    const options = { idempotencyKey: 'k', idempotencyKeyTTL: 0 }
    const [one, other] = [await t.engine.wait.createToken(options), await t.engine.wait.createToken(options)]
    expect(one.id).not.toBe(other.id)
  })

  it('is one key for a whole storage, in runs and outside; idempotencyKeys narrows it', async () => {
    const seen: string[] = []
    const only = bodyTask(async ({ wait }) => {
      const own = await idempotencyKeys.create('k')
      seen.push((await wait.createToken({ idempotencyKey: 'k' })).id)
      seen.push((await wait.createToken({ idempotencyKey: own })).id)
      seen.push((await wait.createToken({ idempotencyKey: own })).id)
    })
    await using t = await createTestEngine({ tasks: [only] })
    const { id } = await t.engine.wait.createToken({ idempotencyKey: 'k' })
    for (const _ of [1, 2]) await (await t.engine.trigger(only, null)).result()
    expect(seen[0]).toBe(id)
    expect(seen[3]).toBe(id)
    expect(seen[1]).toBe(seen[2])
    expect(seen[4]).toBe(seen[5])
    expect(new Set(seen).size).toBe(3)
  })

  it('is not the key of a sleep or of a binding', async () => {
    const ids = await inRun(async ({ wait }) => {
      const token = await wait.createToken()
      await wait.completeToken(token)
      await wait.for({ seconds: 1, idempotencyKey: 'k' })
      await wait.forToken(token, { idempotencyKey: 'k' })
      const own = await wait.createToken({ idempotencyKey: 'k' })
      return [token.id, own.id, own.isCached]
    })
    expect(ids[1]).not.toBe(ids[0])
    expect(ids[2]).toBe(false)
  })
})

describe('completeToken', () => {
  it.each([
    ['an object', { approved: true, by: { name: 'Ada' } }],
    ['a list', [1, 'two', null]],
    ['a string', 'yes'],
    ['an empty string', ''],
    ['a number', 0],
    ['false', false],
    ['null', null],
    ['something with `then`', { then: 'this' }],
  ])('stores any JSON: %s', async (_name, output) => {
    await using t = await createTestEngine(manual)
    const token = await t.engine.wait.createToken()
    await t.engine.wait.completeToken(token, output)
    expect(await t.engine.wait.retrieveToken(token)).toMatchObject({ status: 'COMPLETED', output })
  })

  it('does not need an output', async () => {
    await using t = await createTestEngine(manual)
    const token = await t.engine.wait.createToken()
    expect(await t.engine.wait.completeToken(token.id)).toEqual({ success: true, status: 'COMPLETED' })
    expect(await t.engine.wait.retrieveToken(token)).not.toHaveProperty('output')
  })

  it('changes nothing on a settled token, and says what it is: the first completion wins', async () => {
    await using t = await createTestEngine(manual)
    const token = await t.engine.wait.createToken()
    expect(await t.engine.wait.completeToken(token, 'first')).toEqual({ success: true, status: 'COMPLETED' })
    const settled = await t.engine.wait.retrieveToken(token)
    await t.clock.advance('1s')
    expect(await t.engine.wait.completeToken(token, 'second')).toEqual({
      success: false,
      status: 'COMPLETED',
    })
    expect(await t.engine.wait.retrieveToken(token)).toEqual(settled)
    expect(settled).toMatchObject({ output: 'first', completedAt: new Date(START) })
  })

  const cycle: Record<string, unknown> = { list: [] }
  ;(cycle['list'] as unknown[]).push({ cycle })

  it.each([
    ['a bigint', { items: [{ price: 1n }] }, '$.items[0].price'],
    ['a function', { a: { 'b c': () => 1 } }, '$.a["b c"]'],
    ['a cycle', cycle, '$.list[0].cycle'],
    ['not a number', [Number.NaN], '$[0]'],
    ['a symbol', Symbol('s'), '$'],
    ['a map', { seen: new Map() }, '$.seen'],
    ['undefined in a list', [1, undefined], '$[1]'],
  ])('refuses an output that is not JSON, with its path: %s', async (_name, output, path) => {
    await using t = await createTestEngine(manual)
    const token = await t.engine.wait.createToken()
    const error = await rejection(t.engine.wait.completeToken(token, output))
    expect(error).toMatchObject({ code: 'ERR_NOT_SERIALIZABLE' })
    expect((error as Error).message).toContain(`the output of token "${token.id}": ${path} is not JSON`)
    expect(await t.engine.wait.retrieveToken(token)).toMatchObject({ status: 'WAITING' })
  })

  it('refuses a token that does not exist', async () => {
    await using t = await createTestEngine(manual)
    for (const call of [
      t.engine.wait.completeToken('waitpoint_unknown', {}),
      t.engine.wait.retrieveToken('waitpoint_unknown'),
    ]) {
      expect(await rejection(call)).toMatchObject({
        code: 'ERR_TOKEN_NOT_FOUND',
        message: 'Cannot find token "waitpoint_unknown": there is none with this id',
      })
    }
    for (const reference of ['', null, undefined, 5, {}]) {
      expect(await rejection(t.engine.wait.completeToken(reference as never))).toBeInstanceOf(TypeError)
    }
  })

  it('neither completes nor shows what only a run may settle', async () => {
    const sleeper = bodyTask(({ wait }) => wait.for({ hours: 1 }))
    await using t = await createTestEngine({ tasks: [sleeper], ...manual })
    const run = await t.engine.trigger(sleeper, null)
    await t.clock.settle()
    const { waitingOn } = await t.engine.runs.retrieve(run.id)
    expect(waitingOn).toMatchObject([{ kind: 'SLEEP', timeoutAt: new Date(START + HOUR_MS) }])
    for (const id of [waitingOn[0]!.id, `run:${run.id}`]) {
      expect(await rejection(t.engine.wait.completeToken(id, 'wake up'))).toMatchObject({
        code: 'ERR_TOKEN_NOT_FOUND',
      })
      expect(await rejection(t.engine.wait.retrieveToken(id))).toMatchObject({ code: 'ERR_TOKEN_NOT_FOUND' })
    }
    await t.clock.settle()
    expect(await t.engine.runs.retrieve(run.id)).toMatchObject({ status: 'WAITING', waitingOn })
  })
})

describe('a deadline', () => {
  /** Moves the clock without a turn in which the timer of the deadline could fire. */
  async function jumpTo(clock: TestClock, instant: number): Promise<{ readonly fired: Promise<void> }> {
    const fired = clock.jump(instant - clock.now())
    await microtasksUntil(() => clock.now() >= instant)
    return { fired }
  }

  it.each([
    [-1, { success: true, status: 'COMPLETED' }],
    [0, { success: false, status: 'TIMED_OUT' }],
    [1, { success: false, status: 'TIMED_OUT' }],
  ])('%i ms after it, a completion answers %j, before the timer has fired', async (offsetMs, expected) => {
    await using t = await createTestEngine(manual)
    const { wait } = t.engine
    const token = await wait.createToken({ timeout: '1m' })
    const { fired } = await jumpTo(t.clock, START + MINUTE_MS + offsetMs)
    const [completed, seen] = await Promise.all([
      wait.completeToken(token, 'answer'),
      wait.retrieveToken(token),
    ])
    expect(completed).toEqual(expected)
    expect(seen.status).toBe(expected.status)
    expect(seen.completedAt).toEqual(new Date(START + MINUTE_MS + Math.min(offsetMs, 0)))
    await fired
    await t.clock.advance('30m')
    expect(await wait.retrieveToken(token)).toEqual(seen)
  })

  it('is written by the first read that meets it, and never changed afterwards', async () => {
    await using t = await createTestEngine(manual)
    const { wait } = t.engine
    const tokens = await Promise.all([1, 2, 3].map(() => wait.createToken({ timeout: '1m' })))
    const { fired } = await jumpTo(t.clock, START + 2 * MINUTE_MS)
    const timedOut = { status: 'TIMED_OUT', completedAt: new Date(START + MINUTE_MS) }
    const [retrieved, waiting, all] = await Promise.all([
      wait.retrieveToken(tokens[0]!),
      wait.listTokens({ status: 'WAITING' }),
      wait.listTokens(),
    ])
    expect(retrieved).toMatchObject(timedOut)
    expect(retrieved.error).toMatchObject({ name: 'WaitpointTimeoutError', code: 'ERR_TOKEN_TIMED_OUT' })
    expect(retrieved).not.toHaveProperty('output')
    expect(waiting.data).toEqual([])
    expect(all.data).toMatchObject([timedOut, timedOut, timedOut])
    const late = await Promise.all(tokens.map((token) => wait.completeToken(token, 'late')))
    expect(late).toEqual(tokens.map(() => ({ success: false, status: 'TIMED_OUT' })))
    await fired
    for (const token of tokens) expect(await wait.retrieveToken(token)).toMatchObject(timedOut)
  })

  it('that is now makes a token that has timed out already', async () => {
    await using t = await createTestEngine(manual)
    const token = await t.engine.wait.createToken({ timeout: 0 })
    expect(await t.engine.wait.completeToken(token, 1)).toEqual({ success: false, status: 'TIMED_OUT' })
    expect(await t.engine.wait.retrieveToken(token)).toMatchObject({ completedAt: new Date(START) })
  })

  it.each([
    [-1, { ok: true, output: 'answer' }],
    [0, { ok: false }],
  ])('releases a run that is parked: answered %i ms after it', async (offsetMs, expected) => {
    let seen: unknown
    const only = bodyTask(async ({ wait }) => {
      seen = await wait.forToken(token)
    })
    await using t = await createTestEngine({ tasks: [only], ...manual })
    const token = await t.engine.wait.createToken({ timeout: '1m' })
    const run = await t.engine.trigger(only, null)
    await t.clock.settle()
    const { fired } = await jumpTo(t.clock, START + MINUTE_MS + offsetMs)
    await t.engine.wait.completeToken(token, 'answer')
    await fired
    await run.result()
    expect(seen).toMatchObject(expected)
  })

  it('gives a result that can be the output of a task, and be kept in its metadata', async () => {
    const child = bodyTask(() => Promise.reject(new Error('no')), { id: 'child', retry: { maxAttempts: 1 } })
    const ask = bodyTask(async ({ wait, metadata }) => {
      const token = await wait.createToken({ timeout: '1m' })
      metadata.set('child', await child.triggerAndWait(null))
      return wait.forToken(token)
    })
    await using t = await createTestEngine({ tasks: [ask, child] })
    const run = await t.engine.trigger(ask, null)
    const error = {
      name: 'WaitpointTimeoutError',
      message: expect.stringContaining(' timed out at ') as string,
      code: 'ERR_TOKEN_TIMED_OUT',
    }
    expect(await run.result()).toEqual({ ok: false, error })
    const { metadata, output } = await t.engine.runs.retrieve(run)
    expect(output).toEqual({ ok: false, error })
    const failed = { name: 'RunFailedError', code: 'ERR_RUN_FAILED' }
    expect(metadata).toMatchObject({ child: { ok: false, taskIdentifier: 'child', error: failed } })
  })

  it('decides among waits: one that begins past it is answered at once', async () => {
    const seen: unknown[] = []
    const only = bodyTask(async ({ wait }) => {
      const token = await wait.createToken({ timeout: '1m' })
      await wait.for({ minutes: 1 })
      seen.push((await wait.forToken(token)).ok, t.clock.now() - START)
    })
    await using t = await createTestEngine({ tasks: [only] })
    await (await t.engine.trigger(only, null)).result()
    expect(seen).toEqual([false, MINUTE_MS])
  })
})

describe('a key on forToken', () => {
  it('is bound to the token of the first call: a later one waits for that token, whatever it is given', async () => {
    const outputs = await inRun(async ({ wait }) => {
      const [one, other] = [await wait.createToken(), await wait.createToken()]
      await wait.completeToken(one, 'one')
      await wait.completeToken(other, 'other')
      const options = { idempotencyKey: 'k' }
      return [
        await wait.forToken(one, options).unwrap(),
        await wait.forToken(other, options).unwrap(),
        await wait.forToken(other).unwrap(),
      ]
    })
    expect(outputs).toEqual(['one', 'one', 'other'])
  })

  it('is free again after its TTL', async () => {
    const outputs = await inRun(async ({ wait }) => {
      const [one, other] = [
        await wait.createToken({ timeout: '2h' }),
        await wait.createToken({ timeout: '2h' }),
      ]
      await wait.completeToken(one, 'one')
      await wait.completeToken(other, 'other')
      const options = { idempotencyKey: 'k', idempotencyKeyTTL: '1m' }
      const before = await wait.forToken(one, options).unwrap()
      await wait.for({ minutes: 1 })
      return [before, await wait.forToken(other, options).unwrap()]
    })
    expect(outputs).toEqual(['one', 'other'])
  })

  it('skips a wait on a retry, where a wait without one starts anew', async () => {
    const seen: unknown[] = []
    const only = bodyTask(
      async ({ wait, ctx }) => {
        const fresh = await wait.createToken()
        const key = await idempotencyKeys.create('approval')
        const bound = wait.forToken<string>(fresh, { idempotencyKey: key })
        if (ctx.attempt.number === 1) await wait.completeToken(fresh, 'first attempt')
        seen.push(fresh.id, await bound.unwrap())
        if (ctx.attempt.number === 1) throw new Error('again')
      },
      { retry: { maxAttempts: 2 } },
    )
    await using t = await createTestEngine({ tasks: [only] })
    await (await t.engine.trigger(only, null)).result()
    expect([seen[1], seen[3]]).toEqual(['first attempt', 'first attempt'])
    expect(seen[0]).not.toBe(seen[2])
  })

  it('is not bound to a token that does not exist', async () => {
    const seen = await inRun(async ({ wait }) => {
      const options = { idempotencyKey: 'k' }
      const error = await rejection(wait.forToken('waitpoint_unknown', options))
      const token = await wait.createToken()
      await wait.completeToken(token, 'found')
      return [error, await wait.forToken(token, options).unwrap()]
    })
    expect(seen).toMatchObject([{ code: 'ERR_TOKEN_NOT_FOUND' }, 'found'])
  })

  it('is checked like any other', async () => {
    await expect(inRun(({ wait }) => wait.forToken('waitpoint_1', { idempotencyKey: '' }))).rejects.toThrow(
      /Cannot use idempotencyKey ""/,
    )
    await expect(
      inRun(async ({ wait }) => wait.forToken(await wait.createToken(), { idempotencyKey: '' })),
    ).rejects.toThrow(/Cannot use idempotencyKey ""/)
    await expect(
      inRun(async ({ wait }) =>
        wait.forToken(await wait.createToken(), { idempotencyKey: 'k', idempotencyKeyTTL: 'x' }),
      ),
    ).rejects.toThrow(/Cannot read idempotencyKeyTTL "x"/)
  })
})

describe('wait.for and wait.until', () => {
  it('pause the run for exactly that long', async () => {
    const instants: number[] = []
    const only = bodyTask(async ({ wait }) => {
      instants.push(t.clock.now() - START)
      await wait.for({ seconds: 1.5 })
      instants.push(t.clock.now() - START)
      await wait.until({ date: new Date(START + HOUR_MS) })
      instants.push(t.clock.now() - START)
      await wait.until({ date: new Date(START) })
      await wait.for({ hours: -1 })
      instants.push(t.clock.now() - START)
    })
    await using t = await createTestEngine({ tasks: [only] })
    await (await t.engine.trigger(only, null)).result()
    expect(instants).toEqual([0, 1_500, HOUR_MS, HOUR_MS])
  })

  it('answer a promise of nothing', async () => {
    const naps = inRun<unknown[]>(({ wait }) =>
      Promise.all([wait.for({ seconds: 0 }), wait.until({ date: new Date(START) })]),
    )
    expect(await naps).toEqual([undefined, undefined])
  })

  it('are skipped when their key has been slept on', async () => {
    const elapsed = await inRun(async ({ wait }, engine) => {
      await wait.for({ minutes: 5, idempotencyKey: 'nap', idempotencyKeyTTL: '1d' })
      await wait.for({ hours: 5, idempotencyKey: 'nap' })
      await wait.until({ date: new Date(START + 9 * HOUR_MS), idempotencyKey: 'nap' })
      const token = await engine.wait.createToken()
      return (await engine.wait.retrieveToken(token)).createdAt.getTime() - START
    })
    expect(elapsed).toBe(5 * MINUTE_MS)
  })

  it('refuse what they cannot read, and dates in the past only if told so', async () => {
    await expect(inRun(({ wait }) => wait.for({}))).rejects.toThrow(/give one of seconds, minutes/)
    await expect(inRun(({ wait }) => wait.for({ hours: Number.NaN }))).rejects.toThrow(
      /Cannot wait for NaN hours/,
    )
    await expect(inRun(({ wait }) => wait.for({ years: 1e6 }))).rejects.toThrow(/no date is that far ahead/)
    await expect(inRun(({ wait }) => wait.until({ date: new Date(Number.NaN) }))).rejects.toThrow(
      /must be a valid Date/,
    )
    await expect(inRun(({ wait }) => wait.until({ date: 'tomorrow' as never }))).rejects.toThrow(RangeError)
    await expect(
      inRun(({ wait }) => wait.until({ date: new Date(START - 1), throwIfInThePast: true })),
    ).rejects.toThrow(/Cannot wait until 1999-12-31T23:59:59.999Z: it is in the past/)
  })

  it('are not among the tokens of listTokens', async () => {
    const listed = await inRun(async ({ wait }) => {
      await wait.for({ seconds: 1 })
      const token = await wait.createToken({ idempotencyKey: 'k' })
      await wait.completeToken(token)
      await wait.forToken(token, { idempotencyKey: 'k' })
      return [token.id, ...(await wait.listTokens()).data.map(({ id }) => id)]
    })
    expect(listed).toEqual([listed[0], listed[0]])
  })

  it('reject outside of a run', async () => {
    await using t = await createTestEngine()
    expect(await rejection(t.engine.wait.for({ seconds: 1 }))).toMatchObject({ code: 'ERR_NOT_IN_RUN' })
    expect(await rejection(t.engine.wait.until({ date: new Date() }))).toMatchObject({
      code: 'ERR_NOT_IN_RUN',
    })
  })
})

describe('after close()', () => {
  it('every call rejects with ERR_ENGINE_CLOSED', async () => {
    const t = await createTestEngine(manual)
    const { wait } = t.engine
    const { id } = await wait.createToken()
    await t.close()
    const calls = [
      wait.createToken(),
      wait.forToken(id),
      wait.forToken(id).unwrap(),
      wait.completeToken(id),
      wait.retrieveToken(id),
      wait.listTokens(),
      wait.for({ seconds: 1 }),
      wait.until({ date: new Date(START) }),
      t.engine.ready(),
      (async () => {
        for await (const _ of wait.listTokens()) throw new Error('a token')
      })(),
    ]
    for (const call of calls) expect(await rejection(call)).toMatchObject({ code: 'ERR_ENGINE_CLOSED' })
  })

  it('rejects later calls of a task with ERR_ENGINE_CLOSED, as it has its waits', async () => {
    const errors: unknown[] = []
    const only = bodyTask(async ({ wait }) => {
      const { id } = await wait.createToken()
      errors.push(await rejection(wait.forToken(id)))
      errors.push(await rejection(wait.createToken()), await rejection(wait.forToken(id).unwrap()))
      errors.push(await rejection(wait.completeToken(id)))
    })
    const t = await createTestEngine({ tasks: [only], ...manual })
    await t.engine.trigger(only, null)
    await t.clock.settle()
    await t.close()
    await t.clock.settle()
    expect(errors).toHaveLength(4)
    for (const error of errors) expect(error).toMatchObject({ code: 'ERR_ENGINE_CLOSED' })
  })
})
