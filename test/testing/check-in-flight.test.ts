import superjson from 'superjson'
import { describe, expect, it } from 'vitest'
import {
  type AnyTask,
  createEngine,
  type Engine,
  metadata,
  once,
  runs,
  type StandardSchemaV1,
  type Storage,
  streams,
  task,
  tasks as taskCalls,
  wait,
} from 'waitpoint'
import {
  checkInFlight,
  type CheckInFlightOptions,
  type InFlightReport,
  testClock,
  type TestClock,
} from 'waitpoint/testing'
import type { TokenKind } from '../../src/contract/records.ts'
import { wrapStorage } from '../../src/testing/storages/wrapped.ts'
import { abandonable, projectStorage } from '../support/abandon.ts'

const ask = async (tag: string, options: object = {}): Promise<unknown> =>
  wait.forToken(await wait.createToken({ timeout: '7d', tags: [tag], ...options })).unwrap()
const named = (name: string): Promise<unknown> => ask(name, { name })

const night = (): Promise<void> => wait.for({ days: 1, name: 'night' })

const KINDS: readonly TokenKind[] = ['MANUAL', 'INPUT', 'SLEEP', 'ONCE', 'BINDING']
const ALL = { limit: 10_000 }

/** Every record of a storage, read as of an instant at which nothing is due. */
async function dump(storage: Storage): Promise<unknown> {
  await storage.open()
  const { records } = await storage.runs.list({}, ALL)
  const details: unknown[] = []
  for (const { id, streams } of records) {
    details.push(await storage.runs.waits(id), await storage.runs.asked(id))
    for (const key of streams)
      details.push(await storage.chunks.read({ runId: id, key, from: 0, limit: 100 }))
  }
  const tokens: unknown[] = []
  for (const kind of KINDS) tokens.push((await storage.tokens.list({ kind }, ALL, 0)).records)
  await storage.leave({ owner: 'dump', now: 0 })
  return { records, details, tokens }
}

interface Life {
  readonly engine: Engine
  readonly clock: TestClock
  readonly storage: Storage
}

/** What runs in flight find on new code, after an engine with the old code has closed. */
async function deployed(
  before: readonly AnyTask[],
  after: readonly AnyTask[],
  { live, ...options }: CheckInFlightOptions & { readonly live?: (life: Life) => Promise<unknown> } = {},
): Promise<InFlightReport> {
  const [clock, storage] = [testClock({ mode: 'manual' }), projectStorage()]
  const engine = createEngine({ tasks: before, storage, clock })
  if (live === undefined) for (const one of before) await engine.trigger(one, undefined as never)
  else await live({ engine, clock, storage })
  await clock.settle()
  await engine.close()
  const stored = await dump(storage)
  const report = await checkInFlight(readOnly(storage), after, { at: new Date(clock.now()), ...options })
  expect(await dump(storage)).toEqual(stored)
  return report
}

const READS = /^(?:open|leave|runs\.(?:list|get|asked|waits)|tokens\.(?:get|list)|chunks\.read)$/u

/** The storage, if nothing but reads is asked of it; nothing may be due by the instant of a read. */
function readOnly(storage: Storage): Storage {
  return wrapStorage(storage, (name, operation) => (...args) => {
    expect(name).toMatch(READS)
    if (name.startsWith('tokens.')) expect(args.at(-1)).toBe(0)
    return operation(...args)
  })
}

const reasons = ({ departures }: InFlightReport): readonly string[] => departures.map(({ reason }) => reason)
const pay = (run: () => Promise<unknown>, options: object = {}): AnyTask =>
  task({ id: 'pay', run, ...options })
const child = task({ id: 'child', run: async (step: string) => named(`child ${step}`) })
const amount = (type: 'number' | 'string'): StandardSchemaV1<{ amount: number }> => ({
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) => {
      // The tests give objects with an amount.
      const given = value as { amount: number }
      return typeof given.amount === type
        ? { value: given }
        : { issues: [{ message: `is no ${type}`, path: ['amount'] }] }
    },
  },
})
const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('checkInFlight with a codec', () => {
  it('reads payloads and the results of once as the engine does', async () => {
    const dated = (step: string): AnyTask =>
      task({
        id: 'dated',
        run: async (at: Date) => {
          const seen = await once('seen', () => new Map([['at', at]]))
          await named(`${step} ${at.getTime() + Number(seen.get('at')?.getTime())}`)
        },
      })
    const [before, changed] = [dated('a'), dated('b')]
    const storage = projectStorage()
    const clock = testClock({ mode: 'manual' })
    const engine = createEngine({ tasks: [before], storage, clock, codec: superjson })
    await engine.tasks.trigger('dated', new Date(1))
    await engine.tasks.trigger('dated', new Date(2), { delay: '1h' })
    await clock.settle()
    await engine.close()
    const at = new Date(clock.now())
    const check = (code: AnyTask, codec?: typeof superjson): Promise<InFlightReport> =>
      checkInFlight(readOnly(storage), [code], codec === undefined ? { at } : { at, codec })
    expect(reasons(await check(before, superjson))).toEqual([])
    expect(reasons(await check(changed, superjson))).toHaveLength(1)
    expect(reasons(await check(before))).toHaveLength(1)
  })
})

describe('checkInFlight', () => {
  it.each<[string, AnyTask, AnyTask, string | undefined]>([
    ['code that is as it was', pay(() => ask('a')), pay(() => ask('a')), undefined],
    [
      'other code under a wait without a name',
      pay(() => ask('a')),
      pay(async () => [await ask('b'), await ask('a')]),
      'version',
    ],
    [
      'other code that is accepted',
      pay(() => ask('a'), { version: '1' }),
      pay(async () => [await ask('a'), 'more'], { version: '2', accepts: ['1'] }),
      undefined,
    ],
    [
      'other code that is accepted, with another question',
      pay(() => ask('a'), { version: '1' }),
      pay(async () => [await ask('b'), await ask('a')], { version: '2', accepts: ['1'] }),
      'question',
    ],
    [
      'other options that are accepted',
      pay(() => ask('a'), { version: '1' }),
      pay(() => ask('a', { timeout: '8d' }), { version: '2', accepts: ['1'] }),
      'question',
    ],
    ['other code under a name', pay(() => named('a')), pay(async () => [await named('a'), 1]), undefined],
    [
      'other options under a name',
      pay(() => named('a')),
      pay(() => ask('b', { name: 'a', timeout: '8d' })),
      undefined,
    ],
    [
      'a question in front of a name',
      pay(() => named('a')),
      pay(async () => [await named('b'), await named('a')]),
      'new-question',
    ],
    [
      'a question beside a name',
      pay(() => named('a')),
      pay(() => Promise.all([named('b'), named('a')])),
      'new-question',
    ],
    ['another name', pay(() => named('a')), pay(() => named('b')), 'new-question'],
    ['a wait that is gone', pay(() => named('a')), pay(async () => 'at once'), 'returned'],
    [
      'one of several waits that is gone',
      pay(() => Promise.all([named('a'), named('b')])),
      pay(() => named('a')),
      'not-asked',
    ],
    [
      'flows side by side',
      pay(() => Promise.all([ask('a'), ask('b'), ask('a')])),
      pay(() => Promise.all([ask('a'), ask('b'), ask('a')])),
      undefined,
    ],
    [
      'flows that cannot be told apart',
      pay(() => Promise.all(['a', 'b'].map(async () => soon().then(() => ask('c'))))),
      pay(() => Promise.all(['a', 'b'].map(async () => soon().then(() => ask('c'))))),
      'question',
    ],
    [
      'a failure before the wait',
      pay(() => named('a')),
      pay(async () => {
        throw new Error('no such account')
      }),
      'failed',
    ],
    ['code that never asks', pay(() => named('a')), pay(() => new Promise(() => undefined)), 'unreached'],
    [
      'code that is busy with the engine and never asks',
      pay(() => named('a')),
      pay(async () => {
        for (;;) {
          metadata.set('round', 1)
          await runs.list()
          await soon()
        }
      }),
      'unreached',
    ],
    [
      'code that does something else first',
      pay(() => named('a')),
      pay(() => soon().then(() => named('a'))),
      undefined,
    ],
    ['a sleep', pay(() => wait.for({ days: 1 })), pay(() => wait.for({ days: 1 })), undefined],
    [
      'another sleep',
      pay(() => wait.for({ days: 1, name: 'a' })),
      pay(() => wait.for({ days: 1, name: 'b' })),
      'new-question',
    ],
  ])('%s', async (_what, before, after, reason) => {
    const report = await deployed([before], [after], reason === undefined ? {} : { patienceMs: 20 })
    expect(reasons(report)).toEqual(reason === undefined ? [] : [reason])
    expect(report).toMatchObject({ checked: 1, fits: reason === undefined ? 1 : 0 })
  })

  it('says which question the storage has, and which one the new code asks', async () => {
    const before = pay(() => ask('manager', { name: 'approval' }))
    const { departures } = await deployed([before], [pay(() => named('legal'))], { patienceMs: 20 })
    expect(departures).toMatchObject([
      {
        taskId: 'pay',
        status: 'WAITING',
        expected: { call: 'wait.createToken', name: 'approval', tags: ['manager'] },
        asked: { call: 'wait.createToken', name: 'legal', tags: ['legal'] },
      },
    ])
    expect(departures[0]?.message).toContain(
      'it asks anew before it comes to wait.createToken, name "approval"',
    )
  })

  it('says what stands at the place of a question without a name', async () => {
    const before = pay(() => ask('manager'), { version: '1' })
    const after = pay(() => ask('legal', { timeout: '8d' }), { version: '2', accepts: ['1'] })
    const { departures } = await deployed([before], [after])
    const [{ expected, asked, message, version } = {}] = departures
    expect(version).toBe('1')
    expect(expected).toMatchObject({ call: 'wait.createToken', tags: ['manager'] })
    expect(expected?.askedAt).toBeInstanceOf(Date)
    expect(expected?.place).toMatch(/^\w+-\w+$/u)
    expect(asked).toEqual({ call: 'wait.createToken', tags: ['legal'], timeout: '8d' })
    expect(message).toContain('an earlier execution made another call at this place')
  })

  it('replaces effects by their stored results, and executes none', async () => {
    const effects: string[] = []
    const run = (...keys: readonly string[]): (() => Promise<unknown>) => {
      return async () => {
        const results = []
        for (const key of keys) results.push(await once(key, () => effects.push(key)))
        return [results, await named(`after ${results.length === 0 ? '' : results[0]}`)]
      }
    }
    const before = pay(run('mail'))
    expect(reasons(await deployed([before], [before]))).toEqual([])
    expect(effects).toEqual(['mail'])
    const report = await deployed([before], [pay(run('post', 'mail'))], { patienceMs: 20 })
    expect(effects).toEqual(['mail', 'mail'])
    expect(report.departures).toMatchObject([{ reason: 'effect', asked: { call: 'once', name: 'post' } }])
    expect(report.departures[0]?.message).toContain('it would execute the effect of once("post")')
  })

  it('says that an effect which waits would begin anew', async () => {
    const before = pay(() => once('sign', () => ask('signature')))
    expect(reasons(await deployed([before], [before], { patienceMs: 20 }))).toEqual(['effect'])
  })

  it('calls no hook', async () => {
    const called: string[] = []
    const hooks = {
      onSuccess: () => void called.push('onSuccess'),
      onFailure: () => void called.push('onFailure'),
      catchError: () => void called.push('catchError'),
    }
    const before = pay(() => named('a'))
    await deployed([before], [pay(async () => 'at once', hooks)])
    await deployed([before], [pay(() => Promise.reject(new Error('no')), hooks)])
    expect(called).toEqual([])
  })

  it('executes no children, and finds the ones there are', async () => {
    const parent = (step: string, options: object = {}): AnyTask =>
      task({
        id: 'parent',
        version: step,
        accepts: ['1'],
        run: async () => {
          const done = await child.triggerAndWait('done', options).unwrap()
          return [done, await child.batchTriggerAndWait([{ payload: step }, { payload: 'b' }])]
        },
      })
    const live = async ({ engine, clock }: Life): Promise<void> => {
      await engine.trigger(parent('1'), undefined as never)
      await clock.settle()
      const [token] = (await engine.wait.listTokens({ tags: 'child done' })).data
      await engine.wait.completeToken(token!.id, 'yes')
    }
    const fitting = await deployed([parent('1'), child], [parent('1'), child], { live })
    // The parent and two children that wait.
    expect(fitting).toMatchObject({ checked: 3, fits: 3 })
    const report = await deployed([parent('1'), child], [parent('2'), child], { live })
    expect(report.departures).toMatchObject([
      {
        taskId: 'parent',
        reason: 'question',
        expected: { call: 'triggerAndWait', taskId: 'child' },
        asked: { call: 'triggerAndWait', taskId: 'child' },
      },
    ])
  })

  it('finds the debounced children that a run waits for or has waited for, also those of other parents', async () => {
    const index = task({ id: 'index', run: async (step: string) => step })
    const debounce = (key: string) => ({ debounce: { key, delay: '5s', mode: 'trailing' } }) as const
    const parent = (keys: readonly string[]): AnyTask =>
      task({
        id: 'parent',
        version: '1',
        run: async () => {
          for (const key of keys) await index.triggerAndWait(key, debounce(key))
          return Promise.all(['last', 'other'].map((key) => index.triggerAndWait(key, debounce(key))))
        },
      })
    const live = async ({ engine, clock }: Life): Promise<void> => {
      const left = await engine.trigger(index, 'outside', debounce('first'))
      const run = await engine.trigger(parent(['first', 'second']), undefined as never)
      await clock.advance('11s')
      expect((await engine.runs.retrieve(left)).output).toBe('first')
      expect((await engine.runs.retrieve(run)).isWaiting).toBe(true)
    }
    const old = [parent(['first', 'second']), index]
    const fitting = await deployed(old, old, { live })
    // The parent and two children that are delayed.
    expect(fitting).toMatchObject({ checked: 3, fits: 3 })
    expect(fitting.hints).toMatchObject([{ taskId: 'parent', waits: [{ call: 'triggerAndWait' }, {}] }])
    const other = await deployed(old, [parent(['first', 'third']), index], { live })
    expect(other.departures).toMatchObject([
      {
        reason: 'question',
        expected: { call: 'triggerAndWait' },
        asked: { call: 'triggerAndWait', taskId: 'index' },
      },
    ])
    const fewer = await deployed(old, [parent(['first']), index], { live })
    expect(reasons(fewer)).toEqual(['question'])
  })

  it('finds a debounced child by the name of its wait, and says what a run asks anew', async () => {
    const index = task({ id: 'index', run: async () => 'indexed' })
    const parent = (name: string): AnyTask =>
      pay(() => index.triggerAndWait(undefined, { name, debounce: { key: 'k', delay: '5s' } }), {
        version: '1',
      })
    const live = async ({ engine }: Life): Promise<unknown> =>
      engine.trigger(parent('one'), undefined as never)
    const fitting = await deployed([parent('one'), index], [parent('one'), index], { live })
    expect(fitting).toMatchObject({ checked: 2, fits: 2 })
    const report = await deployed([parent('one'), index], [parent('two'), index], { live })
    expect(report.departures).toMatchObject([
      {
        reason: 'new-question',
        expected: { call: 'triggerAndWait', name: 'one' },
        asked: { call: 'triggerAndWait', taskId: 'index', name: 'two' },
      },
    ])
  })

  it('does not mind that the run above, to whose streams it writes, is not in the copy', async () => {
    const tells = task({
      id: 'tells',
      run: async () => {
        await streams.append('log', 'begun', { target: 'parent' })
        return named('told')
      },
    })
    const above = task({ id: 'above', run: () => tells.triggerAndWait(undefined).unwrap() })
    const live = ({ engine }: Life): Promise<unknown> => engine.trigger(above, undefined)
    expect(await deployed([above, tells], [above, tells], { live })).toMatchObject({ checked: 2, fits: 2 })
  })

  it('finds tokens and children that were given keys, and tokens from elsewhere', async () => {
    const keyed = task({
      id: 'keyed',
      run: async (tokenId: string) => {
        await taskCalls.trigger<typeof child>('child', 'left', { idempotencyKey: 'left' })
        const token = await wait.createToken({ idempotencyKey: 'token', timeout: '7d' })
        const sub = child.triggerAndWait('keyed', { idempotencyKey: 'child' })
        return Promise.all([wait.forToken(token), wait.forToken(tokenId), sub])
      },
    })
    const live = async ({ engine }: Life): Promise<unknown> =>
      engine.trigger(keyed, (await engine.wait.createToken({ timeout: '7d' })).id)
    const report = await deployed([keyed, child], [keyed, child], { live })
    expect(report).toMatchObject({ checked: 3, fits: 3 })
  })

  it('goes no further than the wait: answers that came since are not handed over', async () => {
    let went = 0
    const before = task({
      id: 'pay',
      run: async () => {
        await Promise.race([ask('a'), ask('b')])
        went += 1
        return ask('c')
      },
    })
    const report = await deployed([before], [before], {
      live: async ({ engine, clock, storage }) => {
        await engine.trigger(before, undefined)
        await clock.settle()
        const [token] = (await engine.wait.listTokens({ tags: 'b' })).data
        await using other = createEngine({ storage, clock })
        await engine.close()
        await other.wait.completeToken(token!.id, 'yes')
      },
    })
    expect(report).toMatchObject({ checked: 1, fits: 1 })
    expect(went).toBe(0)
  })

  it('hands answers over in their order, however many', async () => {
    const rounds = pay(async () => {
      for (let round = 0; round < 30; round += 1)
        if ((await Promise.race([ask('a'), ask('b')])) !== (round % 2 === 0 ? 'a' : 'b')) await ask('wrong')
      return ask('last')
    })
    const report = await deployed([rounds], [rounds], {
      live: async ({ engine, clock }) => {
        await engine.trigger(rounds, undefined as never)
        for (let round = 0; round < 30; round += 1) {
          await clock.settle()
          const tag = round % 2 === 0 ? 'a' : 'b'
          const [token] = (await engine.wait.listTokens({ tags: tag, status: 'WAITING' })).data
          await engine.wait.completeToken(token!.id, tag)
          await clock.advance(1)
        }
      },
    })
    expect(report).toMatchObject({ checked: 1, fits: 1 })
  })

  it('checks the current attempt of a policy: the next one asks anew', async () => {
    const retry = { maxAttempts: 2, minTimeoutInMs: 1_000, maxTimeoutInMs: 1_000, randomize: false }
    const code = (second: string): AnyTask =>
      task({
        id: 'pay',
        retry,
        version: '1',
        run: async (_: unknown, { ctx }) => {
          if (ctx.attempt.number === 1) {
            await wait.for({ seconds: 1 })
            throw new Error('not yet')
          }
          return named(second)
        },
      })
    const live =
      (untilMs: number) =>
      async ({ engine, clock }: Life): Promise<void> => {
        await engine.trigger(code('a'), undefined as never)
        await clock.settle()
        await clock.advance(untilMs)
      }
    expect(await deployed([code('a')], [code('b')], { live: live(1_500) })).toMatchObject({ fits: 1 })
    expect(await deployed([code('a')], [code('a')], { live: live(5_000) })).toMatchObject({ fits: 1 })
    const report = await deployed([code('a')], [code('b')], { live: live(5_000), patienceMs: 20 })
    expect(reasons(report)).toEqual(['new-question'])
  })

  it('takes runs that have not begun for fitting, if their payload is', async () => {
    const before = task({ id: 'pay', schema: amount('number'), run: async () => 'paid' })
    const after = task({ id: 'pay', schema: amount('string'), run: async () => 'paid' })
    const live = ({ engine }: Life): Promise<unknown> =>
      engine.trigger(before, { amount: 1 }, { delay: '1h' })
    expect(await deployed([before], [before], { live })).toMatchObject({ checked: 1, fits: 1 })
    const report = await deployed([before], [after], { live })
    expect(reasons(report)).toEqual(['failed'])
    expect(report.departures[0]?.message).toContain('amount')
  })

  it('names runs of tasks that there are not, or leaves them out', async () => {
    const before = [pay(() => named('a')), task({ id: 'gone', run: () => named('b') })]
    const report = await deployed(before, before.slice(0, 1))
    expect(report.departures).toMatchObject([{ taskId: 'gone', reason: 'unknown-task' }])
    expect(await deployed(before, before.slice(0, 1), { taskIds: ['pay'] })).toMatchObject({
      checked: 1,
      fits: 1,
    })
  })

  it('finds old versions beside the new one', async () => {
    const before = pay(() => ask('a'), { version: '1' })
    const after = pay(() => ask('b'), { version: '2' })
    expect(reasons(await deployed([before], [after]))).toEqual(['version'])
    expect(reasons(await deployed([before], [after, before]))).toEqual([])
  })

  it('settles what is due by the instant it is given', async () => {
    const before = pay(() => night().then(() => named('a')))
    const at = new Date(Date.UTC(2031, 0))
    expect(await deployed([before], [before], { at })).toMatchObject({ fits: 1 })
    const other = pay(() => named('b').then(night))
    expect(reasons(await deployed([before], [other], { at, patienceMs: 20 }))).toEqual(['new-question'])
  })

  it('checks a run whose process died, and one that stands still', async () => {
    const [clock, storage] = [testClock({ mode: 'manual' }), projectStorage()]
    const options = { at: new Date(clock.now()) }
    const ports = abandonable(clock, storage)
    let hasDied = false
    const before = pay(async () => {
      await wait.for({ seconds: 1 })
      if (hasDied) return 'paid'
      hasDied = true
      ports.abandon()
      return new Promise(() => undefined)
    })
    const dying = createEngine({ clock: ports.clock, storage: ports.storage, tasks: [before] })
    const { id } = await dying.trigger(before, undefined as never)
    await clock.settle()
    await clock.advance(1_000)
    expect(hasDied).toBe(true)
    expect(await checkInFlight(storage, [before], options)).toMatchObject({ checked: 1, fits: 1 })
    const other = pay(async () => 'paid')
    expect(reasons(await checkInFlight(storage, [other], options))).toEqual(['version'])

    await using engine = createEngine({ tasks: [other], storage, clock })
    await engine.ready()
    await clock.advance('1m')
    expect((await engine.runs.retrieve(id)).status).toBe('PENDING_VERSION')
    const report = await checkInFlight(storage, [other], options)
    expect(report.departures).toMatchObject([{ status: 'PENDING_VERSION', reason: 'version' }])
    expect(await checkInFlight(storage, [before], options)).toMatchObject({ checked: 1, fits: 1 })
  })

  it('goes through any number of runs, and keeps only so many departures', async () => {
    const before = pay(() => ask('a'))
    const live = async ({ engine }: Life): Promise<void> => {
      for (let count = 0; count < 101; count += 1) await engine.trigger(before, undefined as never)
    }
    expect(await deployed([before], [before], { live })).toMatchObject({ checked: 101, fits: 101 })
    const report = await deployed([before], [pay(() => ask('b'))], { live, maxDepartures: 2 })
    expect(report).toMatchObject({ checked: 101, departed: 101 })
    expect(report.departures.map(({ runId }) => runId)).toEqual(
      report.departures
        .map(({ runId }) => runId)
        .sort()
        .reverse(),
    )
    const lines = String(report).split('\n')
    expect(lines[0]).toBe('Runs in flight: 101 checked, 0 fit, 101 depart.')
    expect(lines.at(-1)).toBe('… and 99 more')
  })

  it('says where names would be safer: at waits without one that stand side by side', async () => {
    const before = [
      pay(() => Promise.all([ask('a'), ask('b')])),
      task({ id: 'named', run: () => Promise.all([named('a'), named('b')]) }),
      task({ id: 'alone', run: () => ask('a') }),
      task({ id: 'sleeps', run: () => Promise.all([wait.for({ days: 1 }), wait.for({ days: 1 })]) }),
    ]
    const report = await deployed(before, before)
    expect(report.fits).toBe(4)
    expect(report.hints).toMatchObject([
      { taskId: 'pay', runs: 1, waits: [{ call: 'wait.createToken', tags: ['a'] }, { tags: ['b'] }] },
    ])
    expect(String(report)).toContain('hint: task "pay" waits for several things at once without names')
  })

  it('gives code that reads messages those that it was given, and says which read does not fit', async () => {
    const inbox = streams.input<string>({ id: 'messages' })
    const live = async ({ engine, clock }: Life): Promise<void> => {
      const run = await engine.tasks.trigger('pay', null)
      const sent = engine.streams.input<string>({ id: 'messages' })
      for (const text of ['a', 'b', 'c']) await sent.send(run, text)
      await clock.advance('1s')
    }
    const seen: unknown[] = []
    const reading = (...more: (() => Promise<unknown>)[]): AnyTask =>
      pay(
        async () => {
          const first = await inbox.wait().unwrap()
          await wait.for({ seconds: 1 })
          seen.push([first, ...(await inbox.take({ max: 1 }))])
          for (const one of more) seen.push(await one())
        },
        { version: '1' },
      )
    const before = reading(() => named('a'))
    console.log(String(await deployed([before], [before], { live })))
    expect(seen).toEqual([
      ['a', 'b'],
      ['a', 'b'],
    ])
    const others: readonly (readonly [AnyTask, string])[] = [
      [
        reading(
          () => inbox.wait().unwrap(),
          () => named('a'),
        ),
        'new-question',
      ],
      [pay(() => named('a'), { version: '1' }), 'not-asked'],
    ]
    for (const [after, reason] of others)
      expect(reasons(await deployed([before], [after], { live }))).toEqual([reason])
    // A run that waits for a message goes on waiting for it.
    const waiting = pay(async () => {
      for (let count = 0; count < 4; count += 1) await inbox.wait()
    })
    expect(await deployed([waiting], [waiting], { live })).toMatchObject({ checked: 1, fits: 1 })
    const report = await deployed([waiting], [pay(() => named('a'))], { live })
    expect(reasons(report)).toEqual(['version'])
  })

  it('calls no listener with a message that it has not handled', async () => {
    const inbox = streams.input<string>({ id: 'messages' })
    const heard: string[] = []
    const listening = pay(async () => {
      inbox.on((text) => {
        heard.push(text)
        if (text === 'b') throw new Error('not now')
      })
      for (let count = 0; count < 5; count += 1) await wait.for({ seconds: 1 })
      await named('a')
    })
    const live = async ({ engine, clock }: Life): Promise<void> => {
      engine.on('error', ({ error }) => heard.push((error as Error).message))
      const run = await engine.tasks.trigger('pay', null)
      for (const text of ['a', 'b', 'c'])
        await engine.streams.input<string>({ id: 'messages' }).send(run, text)
      await clock.advance('5s')
    }
    expect(await deployed([listening], [listening], { live })).toMatchObject({ checked: 1, fits: 1 })
    expect(heard).toEqual(['a', 'b', 'not now'])
  })

  it.each<[string, () => Promise<unknown>]>([
    ['storage', () => checkInFlight({} as Storage, [])],
    ['tasks', () => checkInFlight(projectStorage(), 'pay' as never)],
    ['at', () => checkInFlight(projectStorage(), [], { at: new Date(Number.NaN) })],
    ['patienceMs', () => checkInFlight(projectStorage(), [], { patienceMs: 0 })],
    ['maxDepartures', () => checkInFlight(projectStorage(), [], { maxDepartures: -1 })],
    ['taskIds', () => checkInFlight(projectStorage(), [], { taskIds: [''] })],
    ['taskId', () => checkInFlight(projectStorage(), [], { taskId: 'pay' } as CheckInFlightOptions)],
  ])('refuses a %s that cannot be used', async (name, call) => {
    await expect(call()).rejects.toThrow(name)
  })
})
