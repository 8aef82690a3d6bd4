import { readFile } from 'node:fs/promises'
import { setImmediate as macrotask } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { task, wait } from 'waitpoint'
import {
  type Body,
  ExplorationError,
  explore,
  type ExploreOptions,
  fifo,
  parseTrace,
  replay as replayOf,
} from 'waitpoint/testing'
import { createHandler } from 'waitpoint/http'
import { rejection } from '../support/body-task.ts'
import { allAnswer, askAll, exploreAll } from './exploration/bodies.ts'
import { checkThenAct } from './planted/check-then-act.ts'
import { repeatedCharge } from './planted/repeated-charge.ts'

async function failure(body: Body, options?: ExploreOptions): Promise<ExplorationError> {
  const error = await rejection(exploreAll(body, options))
  if (error instanceof ExplorationError) return error
  throw error
}

/** A body that comes in pieces, each some turns of the event loop after the other. */
function slowly(pieces: readonly string[]): ReadableStream<Uint8Array> {
  const left = [...pieces]
  return new ReadableStream({
    async pull(controller) {
      for (let turn = 0; turn < 5; turn++) await macrotask()
      const piece = left.shift()
      if (piece === undefined) controller.close()
      else controller.enqueue(new TextEncoder().encode(piece))
    },
  })
}

describe('explore', () => {
  it('lets time pass while a run awaits the result of another one', async () => {
    const nap = task({ id: 'nap', run: async () => wait.for({ hours: 1 }) })
    const outer = task({ id: 'outer', run: async () => (await nap.trigger(null)).result() })
    const report = await exploreAll(
      async (t) => {
        const run = await t.engine.trigger(outer, null)
        await run.result()
      },
      { tasks: [nap, outer], maxDeviations: 1 },
    )
    expect(report.complete).toBe(true)
  })

  afterEach(() => void vi.unstubAllEnvs())

  it('is complete after some thousand schedules for three tokens at once, with a crash before and after every write', async () => {
    const report = await exploreAll(allAnswer(['ada', 'bob', 'cy']), {
      maxDeviations: 2,
      crashes: 'every-commit',
    })
    expect(report).toMatchObject({ complete: true, deepest: 2 })
    expect(report.runs).toBeGreaterThan(2_000)
    // That is seconds, on any machine that has not better things to do.
    expect(report.runs).toBeLessThan(5_000)
  })

  it('says that it is not complete when a budget cut it, or when it was left to chance', async () => {
    const body = allAnswer(['ada'])
    expect(await exploreAll(body, { budget: { runs: 10 } })).toMatchObject({
      runs: 10,
      complete: false,
      deepest: 1,
    })
    const random = await exploreAll(body, { decider: 'random', budget: { runs: 20 } })
    expect(random).toMatchObject({ runs: 20, complete: false })
    const byPriority = await exploreAll(body, { decider: 'pct', budget: { runs: 20 } })
    expect(byPriority).toMatchObject({ runs: 20, complete: false })
    expect(await exploreAll(body, { decider: fifo() })).toMatchObject({ runs: 1, complete: false })
  })

  it.each([
    ['null', null, 'Cannot use the options of explore null: it must be an object'],
    ['a misspelt option', { crash: 'every-commit' }, 'there is no option "crash"; use maxDeviations, budget'],
    ['an option of another tool', { fakeGlobals: true }, 'there is no option "fakeGlobals"; use '],
    ['a storage of its own', { storage: {} }, 'there is no option "storage"; use '],
    ['crashes that are a flag', { crashes: true }, 'crashes true: use "never" or "every-commit"'],
    [
      'misspelt crashes',
      { crashes: 'every_commit' },
      'crashes "every_commit": use "never" or "every-commit"',
    ],
    ['faults that are no list', { faults: 'error' }, 'Cannot use faults "error": it must be a list'],
    ['an unknown fault', { faults: ['error', 'oops'] }, 'fault "oops": use "error" or "lost" or "late"'],
    ['an unknown decider', { decider: 'rand' }, 'decider "rand": use "enumerate" or "random" or "pct"'],
    ['a decider that is none', { decider: {} }, 'it must be an object with begin'],
    ['less than no deviations', { maxDeviations: -1 }, 'maxDeviations -1: it must be a whole number from 0'],
    ['a seed that is no number', { seed: NaN }, 'Cannot use seed NaN: it must be a number or a string'],
    ['a replay that is no text', { replay: 1 }, 'replay 1: it must be the line that a failure printed'],
    ['a budget that is a number', { budget: 10 }, 'Cannot use budget 10: it must be an object'],
    ['a misspelt budget', { budget: { schedules: 10 } }, 'there is no option "schedules"; use runs, ms'],
    ['a budget of no schedule', { budget: { runs: 0 } }, 'budget.runs 0: it must be a whole number from 1'],
    [
      'a budget of no time',
      { budget: { ms: 0 } },
      'budget.ms 0: it must be a number of milliseconds above 0',
    ],
    ['an adapter that is no function', { adapter: 1 }, 'Cannot use adapter 1: it must be a function'],
    ['no steps', { maxSteps: 0 }, 'Cannot use maxSteps 0: it must be a whole number from 1'],
    ['a wrong option of the engine', { concurrency: 0 }, 'concurrency 0: it must be a whole number from 1'],
  ])('refuses options that cannot be used, before it runs the body: %s', async (_name, options, message) => {
    let runs = 0
    const body: Body = () => Promise.resolve((runs += 1))
    await expect(explore(body, options as never)).rejects.toThrow(message)
    expect(runs).toBe(0)
    await expect(explore('body' as never)).rejects.toThrow(
      'Cannot explore "body": the body must be a function',
    )
  })

  it('says what became of every wait, and in how many schedules', async () => {
    const { runs, waits } = await exploreAll(allAnswer(['ada']), { maxDeviations: 2 })
    const { COMPLETED = 0, TIMED_OUT = 0 } = waits['review.token'] ?? {}
    expect(TIMED_OUT).toBeGreaterThan(0)
    expect(COMPLETED + TIMED_OUT).toBe(runs)
  })

  it('tells a failure in the words of the test, with the line that replays it', async () => {
    const error = await failure(checkThenAct.body)
    expect(error.code).toBe('ERR_EXPLORATION_FAILED')
    expect(error.message).toMatchInlineSnapshot(`
      "Schedule 2 fails: the order was shipped and refunded

        0ms       the test triggers order
        0ms       order starts
        0ms       order creates its token [order], time-out 1h
        0ms       order waits for its token [order]
        59m       the test has slept 59m
      ▶ 1h        the deadline of the token [order] of order passes, before the test looks at the token [order] of order
        1h        the test looks at the token [order] of order: it is WAITING
        1h        the test: ship
        1h        order goes on
        1h        the test completes the token [order] of order: too late, it is TIMED_OUT
        1h        order: refund
        1h        order ends

      ▶ departs from the usual order, first in, first out (1 departure).
      Replay: WAITPOINT_REPLAY='v1|next@body/tokens.get#1>time/deadline of token order.token#1'
      Every storage call: WAITPOINT_STORY=storage
      As a page: WAITPOINT_STORY_DIR=stories"
    `)
    expect(error.cause).toMatchObject({ message: 'the order was shipped and refunded' })
  })

  it('tells every storage call when it is asked to', async () => {
    vi.stubEnv('WAITPOINT_STORY', 'storage')
    expect((await failure(checkThenAct.body)).message).toMatchInlineSnapshot(`
      "Schedule 2 fails: the order was shipped and refunded

        0ms       body/runs.insert#1   (ready: engine/runs.claim#1)
        0ms       engine/runs.claim#1
        0ms       order/tokens.insert#1   (ready: engine/runs.claim#2)
        … 2 more, in order
        0ms       time/parking#1   (ready: time/body slept 59m#1)
        0ms       order/runs.park#1   (ready: time/body slept 59m#1)
        59m       time/body slept 59m#1
      ▶ 1h        time/deadline of token order.token#1, before body/tokens.get#1   (ready: body/tokens.get#1)
        1h        body/tokens.get#1   (ready: engine/tick#1)
        1h        engine/tick#1   (ready: body/ship#1)
        1h        body/ship#1   (ready: order/runs.resume#1)
        … 1 more, in order
        1h        body/tokens.settle#1   (ready: order/refund#1)
        1h        order/refund#1
        1h        order/runs.update#1

      ▶ departs from the usual order, first in, first out (1 departure).
      Replay: WAITPOINT_REPLAY='v1|next@body/tokens.get#1>time/deadline of token order.token#1'
      As a page: WAITPOINT_STORY_DIR=stories"
    `)
    vi.stubEnv('WAITPOINT_STORY', 'words of wisdom')
    expect(await rejection(exploreAll(checkThenAct.body))).toMatchObject({
      message: 'Cannot use WAITPOINT_STORY "words of wisdom": use "words" or "storage"',
    })
  })

  it('tells crashes, sleeps and tags', async () => {
    const { body, options } = repeatedCharge
    expect((await failure(body, options)).message).toMatchInlineSnapshot(`
      "Schedule 4 fails: charged 2 times

        0ms       the test triggers pay
        0ms       pay starts
      ▶ 0ms       pay: charge: the process dies of it
        30s       pay (attempt 2) starts
        30s       pay: charge
        30s       pay creates its token [receipt], time-out 10m by default
        30s       the test completes the token [receipt] of pay
        30s       pay waits for its token [receipt]: it is COMPLETED
        30s       pay ends

      ▶ departs from the usual order, first in, first out (1 departure).
      Replay: WAITPOINT_REPLAY='v1|crash@pay/charge#1>after'
      Every storage call: WAITPOINT_STORY=storage
      As a page: WAITPOINT_STORY_DIR=stories"
    `)
  })

  describe('with state outside of the body', () => {
    const asksAda = allAnswer(['ada'])

    it('says that the same schedule passed before', async () => {
      let runs = 0
      const body: Body = async (t) => {
        await asksAda(t)
        expect(runs++).toBeLessThan(4)
      }
      expect((await failure(body)).message).toMatch(
        /expected \d+ to be less than 4\n\nThe same schedule passed before: state outside the body\?/,
      )
    })

    it('says so when it passes the next time', async () => {
      let runs = 0
      const body: Body = async (t) => {
        await asksAda(t)
        if (runs++ === 4) throw new Error('once')
      }
      const error = await failure(body)
      expect(error.message).toContain('The same schedule passed before')
    })

    it('does not say so of a failure in every execution', async () => {
      expect((await failure(checkThenAct.body)).message).not.toContain('passed before')
    })
  })

  it('replays one schedule, given as an option or by WAITPOINT_REPLAY', async () => {
    const { replay, message } = await failure(checkThenAct.body)
    const again = await failure(checkThenAct.body, { replay })
    expect(again.message).toBe(message.replace(/Schedule \d+/, 'Schedule 1'))
    expect(await exploreAll(checkThenAct.body, { replay: 'v1' })).toMatchObject({ runs: 1, complete: false })
    vi.stubEnv('WAITPOINT_REPLAY', replay)
    expect(await failure(checkThenAct.body, { replay: 'v1' })).toMatchObject({ replay })
    vi.stubEnv('WAITPOINT_REPLAY', 'nonsense')
    expect(await rejection(exploreAll(checkThenAct.body))).toBeInstanceOf(RangeError)
  })

  describe('with a replay of other code', () => {
    const expiring = (id: string): Body => {
      const order = task({
        id,
        run: async (_payload: null) =>
          (await wait.forToken(await wait.createToken({ timeout: '1h', tags: ['order'] }))).ok,
      })
      return async (t) => {
        t.use(order)
        const run = await t.engine.trigger(order, null)
        const token = await t.waitingToken({ tag: 'order' })
        await t.clock.sleep('59m')
        await t.engine.wait.completeToken(token.id, 'yes')
        await run.outcome()
      }
    }
    const deadline = 'next@body/tokens.settle#1>time/deadline of token order.token#1'

    it('fails where a deviation did not happen, and says what there was in its place', async () => {
      expect(await exploreAll(expiring('order'), { replay: `v1|${deadline}` })).toMatchObject({ runs: 1 })
      const error = await failure(expiring('purchase'), { replay: `v1|${deadline}` })
      expect(error.invariant).toBe('the replay applies')
      expect(error.replay).toBe(`v1|${deadline}`)
      expect((error.cause as Error).message).toMatchInlineSnapshot(`
        "Its deviation did not happen, so this schedule is not the one that failed: the code has changed since, or the line belongs to another body. Explore anew without it.
          time/deadline of token order.token#1 goes before body/tokens.settle#1: there were body/tokens.settle#1, time/deadline of token purchase.token#1"
      `)
    })

    it('fails also where only some of its deviations happened', async () => {
      const gone = 'next@body/tokens.settle#7>engine/tick#1'
      const error = await failure(expiring('order'), { replay: `v1|${deadline}|${gone}` })
      expect((error.cause as Error).message).toMatchInlineSnapshot(`
        "1 of its 2 deviations did not happen, so this schedule is not the one that failed: the code has changed since, or the line belongs to another body. Explore anew without it.
          engine/tick#1 goes before body/tokens.settle#7: the choices were at body/tokens.settle#1"
      `)
      const decider = replayOf(parseTrace(`v1|${deadline}|${gone}`))
      expect(await failure(expiring('order'), { decider })).toMatchObject({ invariant: 'the replay applies' })
    })

    it.each([
      ['crash@body/runs.insert#1>after', 'needs the option `crashes: '],
      ['fault@body/runs.insert#1>lost', 'needs the option `faults`'],
    ])('says which option is missing: %s', async (deviation, message) => {
      const error = await failure(expiring('order'), { replay: `v1|${deviation}` })
      expect(error.message).toContain(message)
    })
  })

  it('says the seed of a failure that was found at random, and no other', async () => {
    vi.stubEnv('WAITPOINT_SEED', 'tuesday')
    for (const decider of ['random', 'pct'] as const) {
      const error = await failure(checkThenAct.body, { decider })
      expect(error.seed).toBe('tuesday')
      expect(error.message).toMatch(
        /\nSeed: tuesday; run all schedules again with WAITPOINT_SEED='tuesday'\n/,
      )
    }
    const enumerated = await failure(checkThenAct.body)
    expect([enumerated.seed, enumerated.message.includes('Seed:')]).toEqual([undefined, false])
  })

  it('takes the seed of WAITPOINT_SEED before any other', async () => {
    const runOf = async (seed: number): Promise<number> =>
      (await failure(checkThenAct.body, { decider: 'random', seed })).run
    const runs = await Promise.all([1, 2, 3].map(runOf))
    expect(new Set(runs).size).toBeGreaterThan(1)
    vi.stubEnv('WAITPOINT_SEED', '2')
    expect(await Promise.all([1, 2, 3].map(runOf))).toEqual([runs[1], runs[1], runs[1]])
  })

  it.each(['enumerate', 'random', 'pct'] as const)('lets a body poll: %s', async (decider) => {
    const nap = task({ id: 'nap', run: () => wait.for({ minutes: 1 }) })
    const body: Body = async (t) => {
      const run = await t.engine.trigger(nap, null)
      while (!(await t.engine.runs.retrieve(run.id)).isCompleted) await t.clock.sleep('10s')
    }
    await exploreAll(body, { tasks: [nap], decider, budget: { runs: 50 } })
  })

  it.each(['enumerate', 'random', 'pct'] as const)(
    'tries the flows of a body in any order: %s',
    async (decider) => {
      const body: Body = async (t) => {
        const order: string[] = []
        await Promise.all(['one', 'two'].map((name) => t.step(name, () => void order.push(name))))
        if (order[0] !== 'one') throw new Error('the second came first')
      }
      expect(await failure(body, { decider })).toMatchObject({ invariant: 'the body holds' })
    },
  )

  it('names the first boundary that differs when task code reads Math.random', async () => {
    const dice = task({ id: 'dice', run: (_payload: null) => Math.random() })
    const body: Body = async (t) => (await t.engine.trigger(dice, null)).outcome()
    const error = await failure(body, { tasks: [dice] })
    expect(error.invariant).toBe('the same schedule twice is the same')
    expect(error.message).toMatch(/"dice\/runs\.update#1", differs between two executions .* Math\.random/)
  })

  it('names the first boundary that differs when task code reads the real clock', async () => {
    const clock = task({
      id: 'clock',
      run: (_payload: null) => wait.createToken({ tags: [String(Date.now())] }),
    })
    const body: Body = async (t) => (await t.engine.trigger(clock, null)).outcome()
    const error = await failure(body, { tasks: [clock] })
    expect(error.message).toContain('"clock/tokens.insert#1", differs between two executions')
  })

  it('fails when what was to happen sometimes never does', async () => {
    const body: Body = async (t) => {
      await allAnswer(['ada'])(t)
      t.sometimes('the answer came', true)
      t.sometimes('time passed', t.clock.now() > Date.UTC(2001, 0, 1))
    }
    const error = await failure(body, { maxDeviations: 0 })
    expect(error.invariant).toBe('what was to happen sometimes happens')
    expect(error.message).toContain('"time passed" was true in none of 1 schedules')
  })

  it('says who waits when nothing is left that could happen', async () => {
    const body: Body = async (t) => {
      const review = askAll(['ada'])
      t.use(review)
      await t.engine.trigger(review, null)
      await t.waitingToken({ tag: 'bob' })
    }
    const error = await failure(body, { maxDeviations: 0 })
    expect(error.message).toContain('Cannot wait for a token with tag "bob"')
    expect(error.cause).toMatchObject({ name: 'NoTokenError' })
    const endless: Body = async () => new Promise(() => undefined)
    expect((await failure(endless)).invariant).toBe('the body comes to an end')
  })

  it('says so when something is busy with real I/O that never comes back', async () => {
    const away = task({ id: 'away', run: (_payload: null) => new Promise(() => undefined) })
    const body: Body = async (t) => (await t.engine.trigger(away, null)).outcome()
    const error = await failure(body, { tasks: [away], maxDeviations: 0 })
    expect(error.message).toContain('run "away" is busy outside of the engine')
  })

  it('lets nothing else happen while real I/O is under way, in a task or declared by the body', async () => {
    const reader = task({
      id: 'reader',
      run: async (_payload: null) => (await readFile('package.json')).length,
    })
    const body: Body = async (t) => {
      const run = await t.engine.trigger(reader, null)
      const declared = t.external(readFile('package.json'))
      await Promise.all([run.outcome(), t.clock.sleep('1h')])
      const before = t.clock.now()
      expect((await declared).length).toBe(await run.result())
      expect(t.clock.now()).toBe(before)
    }
    expect(await exploreAll(body, { tasks: [reader], maxDeviations: 0 })).toMatchObject({ complete: true })
  })

  it('stops a schedule that does not end', async () => {
    const body: Body = async (t) => {
      for (;;) await t.clock.sleep('1s')
    }
    expect((await failure(body, { maxSteps: 100 })).message).toContain('not ended after 100 boundaries')
  })

  describe('with a failure of hundreds of deviations', () => {
    let runs = 0
    const body: Body = async (t) => {
      runs += 1
      const firsts: string[] = []
      for (let round = 0; round < 900; round++) {
        const order: string[] = []
        await Promise.all(['one', 'two'].map((name) => t.step(name, () => void order.push(name))))
        firsts.push(...order.slice(0, 1))
      }
      if (firsts.filter((name) => name === 'two').length > 100) throw new Error('many are out of turn')
    }
    const options = { decider: 'random' } as const

    it('shrinks it with what is left of the budget', async () => {
      runs = 0
      const error = await failure(body, { ...options, budget: { runs: 6, ms: Infinity } })
      expect(runs).toBe(6)
      expect(error.trace.length).toBeGreaterThan(100)
      expect(error.message).toMatch(/\(\d+ departures, shrunk from \d+, the budget for shrinking is spent\)/)
    })

    it('tells it in a message of bounded size, which says what it leaves out', async () => {
      const error = await failure(body, { ...options, budget: { runs: 1 } })
      expect(error.message.length).toBeLessThan(30_000)
      expect(error.message).toMatch(/… \d+ lines left out/)
      expect(error.message).toContain(`the line has ${error.replay.length} characters`)
      const again = await failure(body, { ...options, replay: error.replay })
      expect(again.trace).toEqual(error.trace)
    })

    it('leaves out the end of a long cause', async () => {
      const long: Body = () => Promise.reject(new Error('x'.repeat(1_000_000)))
      const error = await failure(long)
      expect(error.message.length).toBeLessThan(30_000)
      expect(error.message).toContain('xxx… and 992000 characters more; see the property `cause`')
    })
  })

  it('lets one body hold with crashes and without: its calls and handles go on with the new engine', async () => {
    const review = askAll(['ada'])
    const body: Body = async (t) => {
      const run = await t.engine.trigger(review, null)
      const token = await t.waitingToken({ tag: 'ada' })
      t.crash()
      // Not whether it was this call that won: the answer to the one that did may have been lost.
      expect(await t.engine.wait.completeToken(token, 'yes')).toMatchObject({ status: 'COMPLETED' })
      t.crash()
      expect(await run.result()).toEqual(['yes'])
      expect(await run.outcome()).toMatchObject({ ok: true, id: run.id })
      const again = await t.engine.runs.retrieve(run)
      t.sometimes('two attempts', again.attemptCount > 1)
      const ids: string[] = []
      for await (const { id } of t.engine.runs.list()) ids.push(id)
      expect(ids).toEqual([run.id])
    }
    await exploreAll(body, { tasks: [review], crashes: 'every-commit', maxDeviations: 1 })
  })

  it('rejects the read of a subscription when its process is gone', async () => {
    const review = askAll(['ada'])
    const body: Body = async (t) => {
      const run = await t.engine.trigger(review, null)
      await t.waitingToken({ tag: 'ada' })
      const parts = t.engine.runs.subscribeToRun(run.id)[Symbol.asyncIterator]()
      await parts.next()
      const pending = rejection(Promise.resolve(parts.next()).then(() => parts.next()))
      t.crash()
      expect(await pending).toMatchObject({ name: 'ProcessCrashedError' })
      await t.complete({ tag: 'ada' }, 'yes')
      const statuses: string[] = []
      for await (const { status } of t.engine.runs.subscribeToRun(run.id)) statuses.push(status)
      expect(statuses.at(-1)).toBe('COMPLETED')
    }
    await exploreAll(body, { tasks: [review], maxDeviations: 0 })
  })

  describe('with what plays the outside world', () => {
    const charge = task({ id: 'charge', run: async (_payload: null) => 'charged' })
    const order = task({
      id: 'order',
      run: async (_payload: null) => {
        const charged = await charge.triggerAndWait(null)
        return charged.ok ? charged.output : 'nothing'
      },
    })

    it('calls a mock instead of a task, and records its calls, in every schedule anew', async () => {
      const body: Body = async (t) => {
        t.use(order)
        const restore = t.mock(charge, async () => {
          await t.clock.sleep('1s')
          return 'mocked'
        })
        const run = await t.engine.trigger(order, null)
        expect(await run.result()).toBe('mocked')
        const calls = t.calls(charge)
        expect(calls.at(-1)).toMatchObject({ payload: null, outcome: { ok: true, output: 'mocked' } })
        t.sometimes('called once', calls.length === 1)
        t.sometimes('called again after a crash', calls.length === 2 && calls[0]?.outcome === undefined)
        restore()
        expect(await (await t.engine.trigger(order, null)).result()).toBe('charged')
      }
      const options = { tasks: [charge], crashes: 'every-commit', maxDeviations: 1 } as const
      expect(await exploreAll(body, options)).toMatchObject({ complete: true })
    })

    it.each<[NonNullable<ExploreOptions['crashes']>, NonNullable<ExploreOptions['faults']>]>([
      ['never', []],
      ['every-commit', ['error', 'lost']],
    ])('posts to the URL of a token, with crashes %s and faults %j', async (crashes, faults) => {
      const body: Body = async (t) => {
        const { id, url } = await t.engine.wait.createToken({ timeout: '24h' })
        expect((await t.post(url, 'yes')).status).toBe(200)
        const { status, output } = await t.engine.wait.retrieveToken(id)
        // The deadline may come first.
        expect([status, output]).toEqual(
          status === 'COMPLETED' ? ['COMPLETED', 'yes'] : ['TIMED_OUT', undefined],
        )
        t.sometimes('in time', status === 'COMPLETED')
      }
      const options = { crashes, faults, maxDeviations: 2 }
      expect(await exploreAll(body, options)).toMatchObject({ complete: true })
    })

    it('lets a handler serve the engine, and no time pass while a request is read', async () => {
      const review = askAll(['ada'])
      const body: Body = async (t) => {
        const handler = createHandler(t.engine)
        const run = await t.engine.trigger(review, null)
        const { id } = await t.waitingToken({ tag: 'ada' })
        const { url } = await t.engine.wait.retrieveToken(id)
        const before = t.clock.now()
        const lines = slowly(['"', 'y', 'es', '"'])
        const headers = { 'content-type': 'application/json' }
        const request = new Request(url, { method: 'POST', body: lines, duplex: 'half', headers })
        expect((await handler(request)).status).toBe(200)
        expect(t.clock.now()).toBe(before)
        expect(await run.result()).toEqual(['yes'])
      }
      expect(await exploreAll(body, { tasks: [review], maxDeviations: 0 })).toMatchObject({ complete: true })
    })
  })

  it('finds what is left of an engine that was closed', async () => {
    const leaky = task({ id: 'leaky', run: async (_payload: null) => 'done' })
    const body: Body = async (t) => {
      const run = await t.engine.trigger(leaky, null)
      await run.outcome()
      // The reader never continues.
      void t.engine.runs.subscribeToRun('run_unknown')[Symbol.asyncIterator]()
    }
    await exploreAll(body, { tasks: [leaky], maxDeviations: 1 })
  })

  it('may run many times at once', async () => {
    const reports = await Promise.all(['ada', 'bob', 'cy'].map((name) => exploreAll(allAnswer([name]))))
    expect(new Set(reports.map(({ runs }) => runs)).size).toBe(1)
  })
})
