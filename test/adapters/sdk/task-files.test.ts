import { readdirSync } from 'node:fs'
import { describe, expect, it, vi } from 'vitest'
import { memoryStorage } from 'waitpoint'
import { queues, runs, streams, wait, type AnyTask, type HostedRun } from 'waitpoint/sdk'
import { createTestEngine } from 'waitpoint/testing'
import { namesAndOptions } from './names-and-options.ts'
import { madeId } from '../../../src/testing/conformance/named-storage.ts'
import { queuedRun } from '../../storage/storage-fixture.ts'
import { defaultEngine, taskFile } from './task-file.ts'

/** Triggers a task and waits for the end of its run. */
async function ended(task: AnyTask | undefined, payload?: unknown): Promise<HostedRun> {
  const handle = await task!.trigger(payload)
  return runs.poll(handle.id)
}

/** The console without the lines of tasks. */
function silentLog(): Disposable {
  const spies = (['debug', 'info', 'warn', 'error'] as const).map((level) =>
    vi.spyOn(console, level).mockImplementation(() => undefined),
  )
  return {
    [Symbol.dispose]: () => {
      for (const spy of spies) spy.mockRestore()
    },
  }
}

async function outputOf(task: AnyTask | undefined, payload?: unknown): Promise<unknown> {
  const run = await ended(task, payload)
  expect(run.error).toBeUndefined()
  return run.output as unknown
}

/** Tasks that need a payload only: the file, the export, the payload, and the output or the error that the run ends with. */
const ends: readonly (readonly [file: string, task: string, payload: unknown, end: unknown])[] = [
  ['arktype-like', 'distance', { x: 3, y: 4 }, 5],
  ['attentive', 'attentive', { sizes: [1, 2] }, 3],
  ['attentive', 'attentive', { sizes: [1, 2], stopsAt: 1 }, new Error('enough after 1')],
  ['background', 'background', { fails: true }, new Error('failed')],
  [
    'by-id',
    'translateAll',
    { text: 'tea', languages: ['de', 'fr'] },
    { outputs: ['de: tea', 'fr: tea'], runCount: 2, isHandle: true, last: 'el: tea' },
  ],
  ['connection', 'copy', { from: 'users' }, 5],
  [
    'csv-import',
    'importFile',
    { text: 'a;b\nc\nd;e\n' },
    { imported: 2, failed: ['Error: line 2 is too short'] },
  ],
  ['decisions', 'decided', { kind: 'patient', until: 4 }, 4],
  ['decisions', 'decided', { kind: 'renamed', until: 2 }, new Error('something went wrong')],
  ['default-export', 'default', { width: 400, height: 200 }, { width: 100, height: 50, on: 'small-2x' }],
  ['early', 'search', { list: [5, 6], wanted: 6 }, { index: 1, at: new Date(1) }],
  ['limits', 'limited', undefined, { worked: 2, isSame: true }],
  ['metered', 'metered', { rows: [1, 2] }, { result: 3, isCounted: true, isKnown: true }],
  ['named-abort', 'wrapped', { status: 404 }, new Error('gone')],
  ['named-abort', 'wrapped', { status: 500 }, 'status 500'],
  ['nested-tries', 'upload', { parts: ['a', 'bb'] }, ['a@1', 'bb@2']],
  ['nested-tries', 'upload', { parts: ['a', 'ccc'] }, new Error('ccc is too long')],
  ['nothing-given', 'clock', undefined, { ticks: 3, isHandle: true }],
  ['patience', 'patience', { start: new Date(Date.UTC(2000, 0, 1)) }, 'in the past'],
  ['pipeline', 'pipeline', { upTo: 3 }, { sum: 14, passed: 2, squares: [4, 9] }],
  [
    'progress-tree',
    'book',
    { chapters: [[1, 2], [3]] },
    {
      chapters: [
        { pages: [1, 2], done: 2 },
        { pages: [3], done: 1 },
      ],
      total: 3,
    },
  ],
  ['service', 'book', { account: 'a', cents: 5 }, 5],
  ['spans', 'spans', { names: ['a', 'abc'] }, '1,3'],
  ['standard-schema', 'totals', [12, '250'], ['0.12', '2.50']],
  [
    'telemetry',
    'reduceAll',
    [
      {
        at: new Date(Date.UTC(2026, 0, 2)),
        values: new Map([
          ['a', 1],
          ['b', 0],
        ]),
        raw: new Uint8Array([1, 2, 3]),
        seen: new Set([2n, 10n ** 20n]),
      },
    ],
    { days: [2], names: [['a']], highest: [10n ** 20n] },
  ],
  ['tracing-middleware', 'convert', { values: [0, 100] }, [32, 212]],
  ['two-kinds', 'describe', { url: 'u', words: 2 }, { small: 'u?w=10', text: '2 words about u' }],
  ['two-kinds', 'describe', { url: 'u', words: 0 }, { small: 'u?w=10', text: 'Error: no words' }],
  [
    'named-types',
    'labels',
    { level: 'error' },
    { level: 'error', isLoud: true, started: 'labels', isPaid: false },
  ],
  ['named-types', 'labels', { level: 'none' }, new Error('nothing to label')],
  ['valibot-like', 'period1', { from: '2026-01-01', days: 2 }, new Date(Date.UTC(2026, 0, 3))],
  ['video', 'transcode', { frames: 50 }, { seconds: 2 }],
  ['whole-module', 'classified', { error: 'range' }, 2],
  ['whole-module', 'spaced', undefined, { spaced: true, times: 1 }],
  ['with-defaults', 'decline', { reason: 'full' }, new Error('full')],
]

describe('the task files', () => {
  it('have a combination of names and options each that no other one has', () => {
    const folder = 'test/adapters/sdk/files'
    const files = readdirSync(folder)
    expect(files.length).toBeGreaterThanOrEqual(60)
    const others = new Map<string, string>()
    const twice = files.filter((file) => {
      const combination = namesAndOptions(`${folder}/${file}`)
      const isKnown = others.has(combination)
      others.set(combination, file)
      return isKnown
    })
    expect(twice).toEqual([])
  })
})

describe('the end of', () => {
  it.each(ends)('%s: %s', async (name, exported, payload, end) => {
    using _log = silentLog()
    const file = await taskFile(name)
    await using _t = await defaultEngine(file)
    const run = await ended(file[exported], payload)
    expect(end instanceof Error ? run.error?.message : run.output).toEqual(
      end instanceof Error ? end.message : end,
    )
  })
})

describe('tasks', () => {
  it('have a context, a machine by name, and a payload of any type with a JSON schema', async () => {
    using info = vi.spyOn(console, 'info').mockImplementation(() => undefined)
    const file = await taskFile('greetings')
    await using _t = await defaultEngine(file)
    const greeting = { text: 'Hello Ada', attempt: 1, machine: 'small-2x' }
    expect(await outputOf(file['greet'], { name: 'Ada' })).toEqual(greeting)
    expect(info).toHaveBeenCalledWith(expect.stringMatching(/ info greet run_\w+: Greeting {"name":"Ada"}$/))
    expect(await outputOf(file['whereAmI'])).toEqual({
      task: 'where-am-i',
      environment: 'DEVELOPMENT',
      project: 'local',
      queue: 'task/where-am-i',
      isTest: false,
      startedAt: new Date(Date.UTC(2000, 0, 1)),
    })
    expect(await outputOf(file['described'], { count: 2 })).toBe(3)
    expect(file['greet']).toMatchObject({ id: 'greet', description: 'Greets a person' })
  })

  it('check their payload by schemas of every make', async () => {
    const file = await taskFile('checked')
    await using _t = await defaultEngine(file)
    const registered = { email: 'ada@example.org', next: 37, isActive: true }
    expect(await outputOf(file['register'], { email: 'Ada@Example.org', age: '36' })).toEqual(registered)
    expect(await outputOf(file['trim'], '  text ')).toBe(4)
    expect(await outputOf(file['double'], '21')).toBe(42)
    expect(await outputOf(file['welcome'], { email: 'a@b', age: 1 })).toBe(2)
    await expect(file['register']!.trigger({ email: 1 })).rejects.toMatchObject({
      code: 'ERR_PAYLOAD_INVALID',
    })
    await expect(file['trim']!.trigger(1)).rejects.toThrow('a text is expected')
  })

  it('end with an output that is thrown', async () => {
    const file = await taskFile('around')
    await using _t = await defaultEngine(file)
    expect(await outputOf(file['early'])).toBe('done early')
  })
})

describe('children', () => {
  it('are triggered by their task, by id with and without its type, and in batches of several tasks', async () => {
    const file = await taskFile('children')
    await using _t = await defaultEngine(file)
    expect(await outputOf(file['first'], { text: 'abc' })).toBe('ABC 3')
    expect(await outputOf(file['untyped'], { text: 'Abc' })).toBe('abc')
    expect(await outputOf(file['typed'], { text: 'abc' })).toBe(4)
    expect(await outputOf(file['several'], { text: 'abc' })).toEqual(['3.0', 'abc'])
    expect(await outputOf(file['byTask'], { text: 'abc' })).toBe('3.0 ABC')
    expect(await outputOf(file['streamed'])).toEqual([3, 5])
  })

  it('that fail give the error that their task threw', async () => {
    const file = await taskFile('children')
    await using _t = await defaultEngine(file)
    const messages = ['there is nothing to measure']
    expect(await outputOf(file['report'], { texts: ['ab', '', 'c'] })).toEqual({ total: 3, messages })
    expect((await ended(file['unwrapping'])).error).toMatchObject({ name: 'SubtaskUnwrapError' })
  })

  it('of other files are triggered by their value and by their type', async () => {
    using _log = silentLog()
    const file = await taskFile('across-files')
    await using _t = await defaultEngine({ ...file, ...(await taskFile('by-id')) })
    expect(await outputOf(file['welcome'], { person: { name: 'Ada' }, to: 'el' })).toBe('el: Hello Ada')
    expect((await runs.list({ tag: 'welcome' })).data).toMatchObject([{ taskIdentifier: 'greet' }])
  })

  it('are undone by further children when one of them fails', async () => {
    const file = await taskFile<Record<string, AnyTask> & { readonly steps: string[] }>('saga')
    await using _t = await defaultEngine(file)
    expect(await outputOf(file['saga'], { item: 'tea', card: 'good' })).toBe('paid with good')
    expect(await outputOf(file['saga'], { item: 'tea', card: 'expired' })).toBe(
      'pay failed: the card has expired',
    )
    expect(file.steps.slice(2)).toEqual(['reserve tea', 'pay with expired', 'release r-tea'])
  })

  it('that are not waited for have handles, batches a number of runs', async () => {
    const file = await taskFile('children')
    await using _t = await defaultEngine(file)
    const begun = await outputOf(file['begin'], { texts: ['a', 'b', 'c'] })
    expect(begun).toMatchObject({ task: 'measure', runCount: 3, mixed: 2, seen: 3 })
    const { id } = begun as { id: string }
    expect(await runs.retrieve(id)).toMatchObject({ tags: ['a', 'b'], status: 'DELAYED' })
  })

  it('of a batch of several tasks can be asked for from outside', async () => {
    const file = await taskFile<{ describeLater(url: string): Promise<unknown> }>('two-kinds')
    await using _t = await defaultEngine({ ...file })
    expect(await file.describeLater('u')).toEqual({ runCount: 2, status: 'PENDING', runs: 2 })
  })
})

describe('waits', () => {
  it('for a token end with what it was completed with, dates included, or with a time-out', async () => {
    const file = await taskFile('waits')
    await using t = await defaultEngine(file)
    const answered = await file['publish']!.trigger({ doc: 'd1' })
    for await (const { isWaiting } of t.engine.runs.subscribeToRun(answered.id)) if (isWaiting) break
    const { data } = await t.engine.wait.listTokens({ tags: 'doc:d1' })
    const answering = await ended(file['answering'], { token: data[0]!.id })
    expect(answering.output).toEqual({ status: 'COMPLETED', waiting: 0 })
    expect((await runs.poll(answered.id)).output).toBe('d1: approved in 1970')
    expect(await outputOf(file['publish'], { doc: 'd2' })).toBe('d2: WaitpointTimeoutError')
    expect((await ended(file['strict'])).error).toMatchObject({ name: 'WaitpointTimeoutError' })
  })

  it('for a time take that time, with an instant in the payload', async () => {
    const file = await taskFile('waits')
    await using t = await defaultEngine(file)
    const until = new Date(t.clock.now() + 3_600_000)
    expect(await outputOf(file['nap'], { until })).toBe('rested')
    expect(t.clock.now()).toBe(until.getTime())
  })

  it('for a token end at the instant that its payload names, or with the answer', async () => {
    const file = await taskFile('signature')
    await using t = await defaultEngine(file)
    const by = new Date(t.clock.now() + 3_600_000)
    expect(await outputOf(file['signature'], { document: 'd1', by })).toBe('not signed')
    expect(t.clock.now()).toBe(by.getTime())
    const { id } = await file['signature']!.trigger({
      document: 'd2',
      by: new Date(by.getTime() + 3_600_000),
    })
    for await (const { isWaiting } of t.engine.runs.subscribeToRun(id)) if (isWaiting) break
    const { metadata = {} } = await runs.retrieve(id)
    await wait.completeToken(String(metadata['token']), { name: 'Ada' })
    expect((await runs.poll(id)).output).toBe('signed by Ada')
  })

  it('for one token after the other are answered by what knows its tag', async () => {
    interface Exports extends Record<string, unknown> {
      readonly poll: AnyTask
      readonly waited: string[]
      answer(person: string, choice: 'a' | 'b'): Promise<void>
    }
    const file = await taskFile<Exports>('questions')
    await using t = await defaultEngine(file)
    const { id } = await file.poll.trigger({ people: ['ada', 'bob'] })
    for await (const { isWaiting } of t.engine.runs.subscribeToRun(id)) if (isWaiting) break
    await file.answer('ada', 'b')
    expect((await runs.poll(id)).output).toEqual({ ada: 'b', bob: 'WaitpointTimeoutError' })
    expect(file.waited).toEqual(['token', 'token'])
  })

  it('in a loop are told to the hooks', async () => {
    const file = await taskFile<Record<string, AnyTask> & { readonly pauses: string[] }>('polling')
    await using t = await defaultEngine(file)
    const startedAt = t.clock.now()
    expect(await outputOf(file['follow'], { most: 5 })).toEqual({ state: 'finished', asked: 2 })
    expect(t.clock.now() - startedAt).toBe(30_000)
    const pause = ['follow-job waits for a duration', 'goes on at true']
    expect(file.pauses).toEqual([...pause, ...pause])
    expect((await ended(file['follow'], { most: 1 })).error).toMatchObject({ message: 'it takes too long' })
  })
})

describe('metadata', () => {
  it('is changed in a chain; the root of a root run is the run', async () => {
    const file = await taskFile('progress')
    await using _t = await defaultEngine(file)
    const all = { done: 1, log: ['a', 'b'], last: 'b' }
    expect(await outputOf(file['work'], { items: ['a', 'b'] })).toEqual({ done: 1, all })
    expect((await runs.list({ tag: 'items:2' })).data).toMatchObject([{ taskIdentifier: 'work' }])
  })

  it('is what JSON leaves of a value', async () => {
    const file = await taskFile('progress')
    await using _t = await defaultEngine(file)
    const stored = { at: '2026-01-02T03:04:05.000Z', share: null, parts: [{ left: null }, null] }
    expect(await outputOf(file['measure'], {})).toEqual({ begun: null, ...stored })
  })

  it('of the parent and of the root are changed by runs below them', async () => {
    using warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    const file = await taskFile('progress')
    await using _t = await defaultEngine(file)
    const run = await ended(file['outer'])
    expect(run).toMatchObject({ output: { own: 'one' }, metadata: { step: 'one', steps: [1, 'one'] } })
    const deep = await ended(file['deep'])
    expect(deep.metadata).toEqual({ by: 'leaf', list: ['a', 'c'], count: 4 })
    expect(deep.output).toEqual({ own: { middle: true, below: 3 } })
    expect(warn).not.toHaveBeenCalled()
  })

  it('stand beside tags, of which a run has ten at most', async () => {
    using error = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    const file = await taskFile('progress')
    await using _t = await defaultEngine(file)
    const run = await ended(file['tagged'])
    expect(run.tags).toEqual(['a', 'b', 'c'])
    expect(error).toHaveBeenCalledOnce()
    expect(String(error.mock.calls[0])).toContain('at most 10 are allowed')
  })

  it('of a parent that is over cannot be changed, and the process is warned of that once', async () => {
    using warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    const file = await taskFile('progress')
    await using _t = await defaultEngine(file)
    for (let count = 0; count < 2; count += 1) {
      const run = await ended(file['leaving'])
      await runs.poll(run.output as string)
    }
    const warned = warn.mock.calls.map(([warning]) => String(warning).split(' ')[0])
    expect(warned).toEqual(['metadata.parent'])
  })
})

describe('queues, keys and options of trigger', () => {
  it('are those of the engine, with keys that belong to the run', async () => {
    const file = await taskFile('queues')
    await using _t = await defaultEngine(file)
    expect(await outputOf(file['sending'], { user: 'ada' })).toEqual([true, true, true])
    expect(await outputOf(file['mail'], { to: 'bob' })).toBe('bob by mails')
    const { data } = await runs.list({ tag: 'user:ada' })
    expect(data).toMatchObject([{ taskIdentifier: 'one-at-a-time', metadata: { user: 'ada' } }])
    expect(data[0]).toMatchObject({ tags: ['user:ada'] })
  })

  it('of a user decide about the queue and the place in it', async () => {
    interface Exports extends Record<string, unknown> {
      generateFor(user: { id: string; isPaying: boolean }, prompt: string): Promise<{ id: string }>
    }
    const file = await taskFile<Exports>('tenants')
    await using t = await defaultEngine(file)
    for (const isPaying of [true, false]) {
      const { id } = await file.generateFor({ id: 'ada', isPaying }, 'a cat')
      await runs.poll(id)
      const queue = isPaying ? 'paid' : 'free'
      expect(await t.engine.runs.retrieve(id)).toMatchObject({ queue, concurrencyKey: 'ada' })
    }
  })

  it('are paused, limited and listed by a task', async () => {
    const file = await taskFile('maintenance')
    await using _t = await defaultEngine(file)
    const { id, ...told } = (await outputOf(file['maintain'], { parallel: 2 })) as { id: string }
    expect(told).toEqual({
      paused: [true, true, false],
      queued: 1,
      limits: [5, 2, 5, null],
      base: 5,
      override: [2, null],
      isDated: true,
      names: ['custom imports', 'task maintain', 'task report'],
    })
    expect((await runs.poll(id)).output).toBe(3)
    await expect(queues.pause({ type: 'mine' as 'custom', name: 'x' })).rejects.toThrow(
      /^Cannot use the type "mine"/,
    )
    await expect(queues.retrieve('')).rejects.toThrow(/^Cannot use the id of a queue/)
    const page = await queues.list({ perPage: 1, page: 2 })
    expect([page.data.length, page.hasPreviousPage(), page.pagination.totalPages]).toEqual([1, true, 3])
    expect((await page.getPreviousPage()).data[0]?.name).toBe('imports')
  })

  it('of each scope find the runs of an earlier attempt, or not', async () => {
    const file = await taskFile('once-only')
    await using _t = await defaultEngine(file)
    const { ids, plain } = (await outputOf(file['checkout'], { cart: 'c1' })) as {
      ids: string[]
      plain: number
    }
    expect(plain).toBe(2)
    const tags: string[] = []
    for await (const run of runs.list({ taskIdentifier: 'charge-card' })) tags.push(run.tags.join())
    expect(tags.toSorted()).toEqual(['', 'attempt', 'attempt', 'global', 'run'])
    const again = (await outputOf(file['checkout'], { cart: 'c1' })) as { ids: string[] }
    expect(again.ids.map((id) => ids.includes(id))).toEqual([false, false, true])
  })

  it('say all of a run that comes later', async () => {
    const file = await taskFile<
      Record<string, AnyTask> & { remindLater(now: number): Promise<{ id: string }> }
    >('later')
    await using t = await defaultEngine(file)
    const later = await file.remindLater(t.clock.now())
    const page = { page: 'contacts', row: 3 }
    expect(later).toMatchObject({ status: 'DELAYED', minutes: 90, page })
    expect((await t.engine.runs.retrieve(later.id)).priority).toBe(1)
    const startedAt = t.clock.now()
    expect((await runs.poll(later.id)).output).toBe(2)
    expect(t.clock.now() - startedAt).toBe(90 * 60_000)
  })

  it('find, move, cancel and repeat runs', async () => {
    const file = await taskFile('housekeeping')
    await using _t = await defaultEngine(file)
    expect(await outputOf(file['housekeeping'])).toEqual({
      delayed: 2,
      lengths: [3, 3],
      canceled: [true],
      isCancelled: true,
    })
  })
})

describe('the lifecycle', () => {
  it('calls every hook in the order of the hosted service, over two attempts', async () => {
    const file = await taskFile<Record<string, AnyTask> & { readonly calls: string[] }>('lifecycle')
    await using _t = await defaultEngine(file)
    file.calls.length = 0
    expect(await outputOf(file['everyHook'], { fails: 1 })).toBe('fine')
    expect(file.calls.splice(0)).toEqual([
      'middleware begins, attempt 1',
      'init',
      'onStart every-hook open',
      'onStartAttempt 1',
      'run open',
      'catchError failure 1 1000',
      'cleanup open',
      'middleware ends',
      'middleware begins, attempt 2',
      'init',
      'onStartAttempt 2',
      'run open',
      'onSuccess fine',
      'onComplete fine',
      'cleanup open',
      'middleware ends',
    ])
    const failed = await ended(file['everyHook'], { fails: 2 })
    expect(failed.error).toMatchObject({ message: 'failure 2' })
    expect(file.calls.splice(0).slice(-8)).toEqual([
      'init',
      'onStartAttempt 2',
      'run open',
      'catchError failure 2 last',
      'onFailure failure 2',
      'onComplete failed',
      'cleanup open',
      'middleware ends',
    ])
  })

  it('ends at once with an AbortTaskRunError, and when handleError says so', async () => {
    const file = await taskFile<Record<string, AnyTask> & { readonly calls: string[] }>('lifecycle')
    await using _t = await defaultEngine(file)
    file.calls.length = 0
    expect((await ended(file['hopeless'])).error).toMatchObject({ message: 'there is no point' })
    const skipped = await ended(file['skipping'])
    expect(skipped.error).toMatchObject({ message: 'changed: Error: first' })
    expect(skipped.attemptCount).toBe(1)
    expect(file.calls.splice(0)).toEqual(['onFailure AbortTaskRunError', 'handleError'])
  })

  it('has global hooks, and locals that middleware sets', async () => {
    const file = await taskFile<Record<string, AnyTask> & { readonly events: string[] }>('global-hooks')
    await using _t = await defaultEngine(file)
    file.events.length = 0
    expect(await outputOf(file['withLocals'])).toBe('database of with-locals')
    expect(file.events.splice(0)).toEqual([
      'global onStartAttempt',
      'onWait duration',
      'own onWait duration',
      'onResume duration',
      'global onSuccess database of with-locals',
      'disconnected',
    ])
  })

  it('has global hooks that decide about errors, and hear of the end', async () => {
    const file = await taskFile<Record<string, AnyTask> & { readonly audit: string[] }>('audit-hooks')
    await using _t = await defaultEngine(file)
    expect(await ended(file['audited1'], { kind: 'type' })).toMatchObject({ attemptCount: 1 })
    expect(await ended(file['audited1'], { kind: 'other' })).toMatchObject({ attemptCount: 2 })
    const other = ['start 1', 'error other', 'error other', 'complete false']
    expect(file.audit).toEqual(['start 1', 'error wrong type', 'complete false', ...other])
  })

  it('tells failures after the last attempt only', async () => {
    using _log = silentLog()
    const file = await taskFile<Record<string, AnyTask> & { readonly alerts: string[] }>('invoice')
    await using _t = await defaultEngine(file)
    await ended(file['invoice'], { customer: 'Ada', lines: [] })
    await ended(file['invoice'], { customer: 'Bob', lines: [{ text: 'back', cents: -1 }] })
    const bob = 'invoice Bob: an invoice cannot be negative'
    expect(file.alerts).toEqual(['invoice Ada: Ada has bought nothing', bob])
    await expect(file['invoice']!.trigger({ customer: 'Cleo' })).rejects.toMatchObject({
      code: 'ERR_PAYLOAD_INVALID',
    })
  })
})

describe('many children', () => {
  it('are triggered in portions, and tell their parent', async () => {
    const file = await taskFile('fan-out')
    await using _t = await defaultEngine(file)
    const urls = ['a', 'missing', 'abc']
    expect(await outputOf(file['crawl'], { urls })).toEqual({
      found: [1, 3],
      lost: ['404 missing'],
      scraped: 3,
    })
    expect(await outputOf(file['mixed'])).toEqual(['scrape', 'resumed'])
  })

  it('are gathered by a key, and batched by another one', async () => {
    const file = await taskFile('gathered')
    await using _t = await defaultEngine(file)
    const output = await outputOf(file['onChange'], { pages: ['a', 'b'] })
    expect(output).toMatchObject({ stored: 2, pages: ['a true', 'b true'] })
    expect(output).toMatchObject({ first: { page: 'first', queue: 'urgent', isBatched: false } })
    const { last } = output as { last: string }
    expect((await runs.poll(last)).output).toBe(2)
    expect((await runs.list({ taskIdentifier: 'digest' })).data).toHaveLength(1)
  })

  it('are found again by the next attempt', async () => {
    const file = await taskFile('fan-out')
    await using _t = await defaultEngine(file)
    expect(await outputOf(file['resumed'], { urls: ['x', 'y'] })).toBe(2)
    expect((await runs.list({ taskIdentifier: 'scrape' })).data).toHaveLength(2)
  })

  it('are put off, canceled, and expire', async () => {
    const file = await taskFile('postponed')
    await using t = await defaultEngine(file)
    const ends = ['COMPLETED', 'CANCELED', 'COMPLETED', 'one plan']
    expect(await outputOf(file['planner'], { now: new Date(t.clock.now()) })).toEqual(ends)
  })
})

describe('tasks that are stopped', () => {
  it('hear of it, and waits are no part of maxDuration', async () => {
    const file = await taskFile<Record<string, AnyTask> & { readonly stopped: string[] }>('stopping')
    await using t = await defaultEngine(file)
    const { id } = await file['listening']!.trigger(undefined)
    await t.clock.settle()
    await runs.cancel(id)
    await t.clock.settle()
    expect(file.stopped.toSorted()).toEqual(['onCancel of listening', 'signal'])
    expect(await outputOf(file['short'])).toBe('waits do not count')
  })

  it('hear of it with what init has made, and with what the function answers', async () => {
    const file = await taskFile<Record<string, AnyTask> & { readonly connections: string[] }>('connection')
    await using t = await defaultEngine(file)
    const { id } = await file['watch']!.trigger({ table: 'users' })
    for await (const { isWaiting } of t.engine.runs.subscribeToRun(id)) if (isWaiting) break
    await runs.cancel(id)
    await t.clock.settle()
    expect(file.connections.at(-1)).toBe('canceled users watched watched stopped')
  })
})

describe('scheduled tasks', () => {
  it('are executed when they are triggered, with a payload of dates', async () => {
    const file = await taskFile('scheduled')
    await using _t = await defaultEngine(file)
    const timestamp = new Date(Date.UTC(2026, 0, 2, 1))
    const payload = {
      scheduleId: 'sched_1',
      type: 'DECLARATIVE',
      timestamp,
      lastTimestamp: new Date(timestamp.getTime() - 86_400_000),
      timezone: 'Europe/Vienna',
      upcoming: [new Date(timestamp.getTime() + 86_400_000)],
    }
    expect(await outputOf(file['nightly'], payload)).toEqual({
      local: '1/2/2026, 2:00:00 AM',
      passed: 86_400_000,
      upcoming: 1,
      externalId: undefined,
    })
  })

  it('are executed at the instants of each form of a cron', async () => {
    using _debug = vi.spyOn(console, 'debug').mockImplementation(() => undefined)
    const file = await taskFile<
      Record<string, AnyTask> & { readonly ticks: string[]; next(): Promise<Date | null | undefined> }
    >('cron-forms')
    await using t = await defaultEngine(file)
    expect(await file.next()).toEqual(new Date('2000-01-01T09:00:00Z'))
    await t.clock.advance('2d')
    expect(file.ticks).toEqual([
      'daily 2000-01-01T09:00:00.000Z UTC true',
      'local-report 2000-01-02T00:00:00.000Z 10',
      'daily 2000-01-02T09:00:00.000Z UTC false',
      'local-report 2000-01-03T00:00:00.000Z 10',
    ])
    expect(await outputOf(file['attached'], { externalId: 'ada' })).toBe('for ada')
  })

  it('trigger runs of other tasks, once for each instant', async () => {
    using _log = silentLog()
    const file = await taskFile<Record<string, AnyTask> & { readonly sent: string[] }>('newsletter')
    await using t = await defaultEngine(file)
    await t.clock.advance('15d')
    const issues = ['2000-01-03', '2000-01-10']
    expect(file.sent).toEqual(
      issues.flatMap((issue) => ['ada', 'bob'].map((to) => `${issue} to ${to}@example.org`)),
    )
    const timestamp = new Date(Date.UTC(2000, 0, 10, 9))
    await outputOf(file['weekly'], { timestamp, upcoming: [] })
    expect(file.sent).toHaveLength(4)
  })

  it('may be the default export of their file, and are listed', async () => {
    interface Exports extends Record<string, unknown> {
      readonly visits: string[]
      planned(): Promise<unknown>
    }
    const file = await taskFile<Exports>('crawl-schedule')
    await using t = await defaultEngine(file)
    await t.clock.advance('1h')
    expect(file.visits).toEqual(['a at 30', 'b in 30 UTC', 'a at 0', 'b in 30 UTC'])
    expect(await file.planned()).toEqual({
      all: ['visit-sites */30 * * * *'],
      hasVienna: true,
      hasUtc: false,
    })
  })

  it('have the hooks and options of other tasks', async () => {
    const file = await taskFile<Record<string, AnyTask> & { readonly reports: string[] }>('plan-hooks')
    await using t = await defaultEngine(file)
    await t.clock.advance('7h')
    expect(file.reports).toEqual(['start DECLARATIVE', '1 7 first'])
  })

  it('are given schedules that follow the plan of a customer', async () => {
    const file = await taskFile('plans')
    await using t = await defaultEngine(file)
    const change = async (plan: string): Promise<unknown> =>
      outputOf(file['changePlan'], { customer: 'ada', plan })
    expect(await change('daily')).toEqual({ active: true, cron: '0 7 * * *' })
    expect(await change('hourly')).toEqual({ active: true, cron: '0 * * * *' })
    await t.clock.advance('90m')
    expect(await change('paused')).toEqual({ active: false })
    await t.clock.advance('2h')
    const { data } = await runs.list({ taskIdentifier: 'report' })
    expect(data.map(({ output }) => output as unknown)).toEqual([{ of: 'ada', hour: 1 }])
    expect(await change('none')).toEqual({ id: expect.stringMatching(/^sched_/) as string })
  })

  it('are given schedules, which can be switched off', async () => {
    const file = await taskFile<
      { scheduleFor(user: string): Promise<string> } & Readonly<Record<'nightly' | 'hourly', AnyTask>>
    >('scheduled')
    await using t = await defaultEngine(file)
    const id = await file.scheduleFor('ada')
    expect(await t.engine.schedules.retrieve(id)).toMatchObject({ isActive: false, externalId: 'ada' })
    const { nextAt } = await t.engine.schedules.activate(id)
    expect(nextAt?.toISOString()).toBe('2000-01-01T05:00:00.000Z')
    await t.clock.advance('5h')
    const { data } = await t.engine.runs.list({ taskIdentifier: 'nightly' })
    expect(await outputOf(file.nightly, (await t.engine.runs.retrieve(data[0]!)).payload)).toMatchObject({
      local: '1/1/2000, 12:00:00 AM',
      externalId: 'ada',
    })
  })
})

describe('retries', () => {
  it('inside of an attempt wait in virtual time', async () => {
    const file = await taskFile('failing')
    await using t = await defaultEngine(file)
    const startedAt = t.clock.now()
    expect(await outputOf(file['flaky'], { fails: 2 })).toBe(3)
    expect(t.clock.now() - startedAt).toBe(3_000)
    expect((await ended(file['flaky'], { fails: 3 })).error).toMatchObject({ message: 'try 3 of 3' })
  })

  it('of a request follow its status and its headers', async () => {
    const answers = [
      new Response('no', { status: 503 }),
      new Response('wait', {
        status: 429,
        headers: { 'x-ratelimit-limit': '1', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1m30s' },
      }),
      new Response('yes', { status: 200 }),
    ]
    using _fetch = vi.spyOn(globalThis, 'fetch').mockImplementation(async () => answers.shift()!)
    const file = await taskFile('failing')
    await using t = await defaultEngine(file)
    const startedAt = t.clock.now()
    const url = 'http://example.invalid/'
    expect(await outputOf(file['fetching'], { url })).toEqual({ status: 200, text: 'yes' })
    expect(t.clock.now() - startedAt).toBe(2_000 + 90_000)
    for (const reset of ['1.2.3s', `${'9'.repeat(400)}d`, '999999999999d']) {
      answers.push(new Response('wait', { status: 429, headers: { 'x-ratelimit-reset': reset } }))
      expect(await outputOf(file['fetching'], { url })).toEqual({ status: 429, text: 'wait' })
    }
  })

  it('of a request follow a connection that fails, then a status', async () => {
    const answers = [
      async () => Promise.reject(new TypeError('fetch failed', { cause: new Error('ECONNREFUSED') })),
      async () => new Response('busy', { status: 502 }),
      async () => Response.json({ isTaken: true }),
    ]
    using _log = silentLog()
    using fetch = vi.spyOn(globalThis, 'fetch').mockImplementation(async () => answers.shift()!())
    const file = await taskFile('deliver')
    await using t = await defaultEngine(file)
    const startedAt = t.clock.now()
    const payload = { url: 'http://example.invalid/', event: 'paid' }
    expect(await outputOf(file['deliver'], payload)).toEqual({ isTaken: true })
    expect(fetch.mock.calls[2]?.[1]).toMatchObject({ method: 'POST', body: '{"event":"paid"}' })
    expect(t.clock.now() - startedAt).toBe(1_000 + 8_000)
  })

  it('of a request follow its reset header alone, in milliseconds, and any other status', async () => {
    using _log = silentLog()
    const file = await taskFile('rate-limited')
    await using t = await defaultEngine(file)
    const startedAt = t.clock.now()
    const reset = (at: string): Response => new Response('', { status: 503, headers: { 'x-reset': at } })
    const answers = [reset(String(startedAt + 5_000)), new Response('', { status: 404 }), new Response('42')]
    using _fetch = vi.spyOn(globalThis, 'fetch').mockImplementation(async () => answers.shift()!)
    expect(await outputOf(file['complete'], { url: 'http://example.invalid/' })).toBe('42')
    expect(t.clock.now() - startedAt).toBe(5_000 + 10)
    for (const unreadable of ['soon', '99999999999999999999']) {
      answers.push(reset(unreadable))
      expect(await outputOf(file['complete'], { url: 'http://example.invalid/' })).toBe('')
    }
  })

  it('of a run are what catchError decides', async () => {
    const file = await taskFile('failing')
    await using t = await defaultEngine(file)
    const startedAt = t.clock.now()
    expect(await outputOf(file['limited'], { id: 'a' })).toBe(3)
    expect(t.clock.now() - startedAt).toBe(60_000 + 30_000)
    const renamed = await ended(file['renamed'])
    expect(renamed).toMatchObject({ attemptCount: 1, error: { message: 'it failed' } })
  })
})

describe('values', () => {
  const order = {
    id: 12n,
    placedAt: new Date(0),
    prices: new Map([
      ['tea', 3],
      ['milk', 1],
    ]),
    tags: new Set(['new']),
    note: undefined,
  }

  it('come back as they were, from a task and from its children', async () => {
    const file = await taskFile('precise')
    await using _t = await defaultEngine(file)
    const again = { ...order, id: 13n, placedAt: new Date(86_400_000), total: 4, hasNote: true }
    const run = await ended(file['reorder'], order)
    expect(run.output).toStrictEqual(again)
    expect(run.payload).toStrictEqual(order)
    expect(await outputOf(file['twice'], order)).toMatchObject({
      id: 14n,
      placedAt: new Date(2 * 86_400_000),
    })
  })

  it('that are instances of classes are plain objects, and functions are left out', async () => {
    const file = await taskFile('precise')
    await using _t = await defaultEngine(file)
    expect(await outputOf(file['priced'])).toStrictEqual({ price: { amount: 3 } })
  })
})

describe('streams', () => {
  it('are written and read, by key and as they were defined', async () => {
    interface Exports extends Record<string, unknown> {
      readonly tell: AnyTask
      readonly legacy: AnyTask
      readonly writing: AnyTask
      readAll(runId: string): Promise<readonly string[]>
      follow(runId: string): Promise<readonly string[]>
    }
    const file = await taskFile<Exports>('streaming')
    await using _t = await defaultEngine(file)
    const told = await ended(file.tell, { prompt: 'once upon a time' })
    expect(told.output).toBe('<once><upon><a><time>')
    expect(await file.readAll(told.id)).toEqual(['once', 'upon', 'a', 'time'])
    expect(await file.follow(told.id)).toEqual(['COMPLETED'])
    expect(await outputOf(file.legacy, { prompt: 'a b c' })).toBe(3)
    const { id } = await ended(file.writing)
    const notes: string[] = []
    for await (const note of await streams.read<string>(id, 'notes')) notes.push(note)
    expect(notes).toEqual(['one', 'two'])
  })

  it('of the runs above are written, while these wait', async () => {
    interface Exports extends Record<string, unknown> {
      readonly paper: AnyTask
      readonly editor: AnyTask
      readonly writer: AnyTask
      readAll(runId: string, key: string): Promise<readonly unknown[]>
    }
    const file = await taskFile<Exports>('streams-above')
    await using _t = await defaultEngine(file)
    const told = await ended(file.paper, { topics: ['sea', 'sun'] })
    expect(told.output).toBe(4)
    const { id } = told
    const { data } = await runs.list()
    const idOf = (task: AnyTask): string => data.find(({ taskIdentifier }) => taskIdentifier === task.id)!.id
    expect(await file.readAll(id, 'all')).toEqual(['a run without a parent', 'all', 'sea', 'all', 'sun'])
    expect(await file.readAll(id, 'notes')).toEqual(['note sea', 'more sea', 'note sun', 'more sun'])
    expect(await file.readAll(id, 'last')).toEqual(['sea', 'sun'])
    expect(await file.readAll(idOf(file.editor), 'thoughts')).toEqual([
      { step: 'begin', by: 'sea' },
      { step: 'begin', by: 'sun' },
    ])
    expect(await file.readAll(idOf(file.editor), 'draft-sun')).toEqual(['on', 'sun'])
    expect(await file.readAll(idOf(file.writer), 'own')).toEqual(['above-writer'])
  })

  it('without a key, written and merged, have the parts of an answer', async () => {
    using _log = silentLog()
    interface Exports extends Record<string, unknown> {
      readonly assistant: AnyTask
      partsOf(runId: string): Promise<string[]>
    }
    const file = await taskFile<Exports>('assistant')
    await using _t = await defaultEngine(file)
    const run = await ended(file.assistant, { question: 'why' })
    expect(run.output).toBe('It depends.')
    expect(await file.partsOf(run.id)).toEqual(['tool', 'text', 'text', 'web', 'afterwards'])
  })
})

describe('the rest of the module', () => {
  it('has the older names of some calls', async () => {
    const file = await taskFile<Record<string, AnyTask> & { readonly decided: string[] }>('older-calls')
    const following = await taskFile<{ follow(runId: string): Promise<string[]> }>('refusals')
    await using _t = await defaultEngine(file)
    const run = await ended(file['olderCalls'], {})
    expect(run.output).toEqual({ again: ['a', 'b'], metadata: { step: 2 }, isBeating: false })
    expect(await following.follow(run.id)).toEqual(['a', 'b'])
    expect((await ended(file['olderCalls'], { fails: true })).error).toMatchObject({ message: 'it failed' })
    expect(file.decided).toEqual(['older-calls'])
  })

  it('measures, traces, reads variables, and lets an attempt wait for promises', async () => {
    vi.stubEnv('TASK_FILE_VARIABLE', 'a value')
    const file = await taskFile<Record<string, AnyTask> & { readonly settled: string[] }>('around')
    await using _t = await defaultEngine(file)
    expect(await outputOf(file['around'], { variable: 'TASK_FILE_VARIABLE' })).toEqual({
      name: 'around@dev',
      variable: 'a value',
      result: 'measured',
      traced: 'traced',
    })
    expect(file.settled).toEqual(['settled'])
    vi.unstubAllEnvs()
  })

  it('triggers and reads runs from outside', async () => {
    using _info = vi.spyOn(console, 'info').mockImplementation(() => undefined)
    interface Outside {
      greetFromOutside(name: string): Promise<unknown>
      publicToken(): Promise<string>
    }
    const outside = await taskFile<Outside>('around')
    await using _t = await defaultEngine(await taskFile('greetings'))
    expect(await outside.greetFromOutside('Ada')).toEqual({
      text: 'Hello Ada',
      name: 'Ada',
      listed: 1,
      page: 1,
      attempt: 1,
    })
    expect(await outside.publicToken()).toMatch(/^\w+\.\w+\.[\w-]+$/)
  })

  it('reads variables of a project and an environment, which are those of the process', async () => {
    vi.stubEnv('SETTINGS_URL', 'http://example.invalid')
    vi.stubEnv('SETTINGS_PREFIX', 'at')
    const file = await taskFile('settings')
    await using _t = await defaultEngine(file)
    expect(await outputOf(file['settings'], { name: 'SETTINGS_URL' })).toBe('at http://example.invalid')
    const missing = await ended(file['settings'], { name: 'SETTINGS_NONE' })
    expect(missing).toMatchObject({ attemptCount: 1, error: { message: 'SETTINGS_NONE is not set' } })
    vi.unstubAllEnvs()
  })

  it('lists runs by every status that there is, and has their types', async () => {
    interface Exports extends Record<string, unknown> {
      readonly job: AnyTask
      label(run: HostedRun): string
      overview(id: string): Promise<unknown>
    }
    const file = await taskFile<Exports>('dashboard')
    await using _t = await defaultEngine(file)
    const fine = await ended(file.job, { fails: false })
    const failed = await ended(file.job, { fails: true })
    expect([fine, failed].map((run) => file.label(run))).toEqual(['fine: true', 'failed'])
    expect(await file.overview(failed.id)).toEqual({ isLost: true, payload: true, counts: [1, 0, 0, 0] })
    await expect(runs.list({ status: 'DONE' as 'FAILED' })).rejects.toThrow('Cannot list by status')
  })

  it('lists the runs of a batch, by the other filters and in pages', async () => {
    interface Exports extends Record<string, unknown> {
      readonly job: AnyTask
      overOf(payloads: object[]): Promise<{ batchId: string; over(): Promise<number> }>
    }
    const file = await taskFile<Exports>('dashboard')
    await using _t = await defaultEngine(file)
    await ended(file.job, { fails: false })
    const { batchId: batch, ...asked } = await file.overOf([
      { fails: false },
      { fails: true },
      { fails: false },
    ])
    for await (const run of runs.list({ batch })) await runs.poll(run.id)
    await ended(file.job, { fails: false })
    expect(await asked.over()).toBe(3)
    const all = (await runs.list({ batch })).data.map((run) => run.id)
    expect(all).toEqual(all.toSorted().toReversed())
    expect((await runs.list({ batch, status: 'FAILED' })).data).toMatchObject([{ id: all[1] }])
    const first = await runs.list({ batch, limit: 2 })
    const second = await first.getNextPage()
    expect([first, second].map(({ data }) => data.map((run) => run.id))).toEqual([
      all.slice(0, 2),
      all.slice(2),
    ])
    expect(second.hasNextPage()).toBe(false)
    expect((await second.getPreviousPage()).data.map((run) => run.id)).toEqual(all.slice(0, 2))
    expect((await runs.list({ batch, before: all[2]! })).data).toHaveLength(2)
    await expect(runs.list({ batch: 'batch_of_yesterday' })).rejects.toMatchObject({
      code: 'ERR_HOSTED_ONLY',
    })
    await expect(runs.list({ queue: { type: 'custom', name: 'mail' } })).rejects.toThrow(
      'Cannot call runs.list with queue in this process: filter by the tasks of the queue',
    )
    await expect(runs.list({ batch, statuses: 'FAILED' } as object)).rejects.toThrow('statuses')
  })

  it('shows that no run is a test, and none costs anything', async () => {
    interface Labels extends Record<string, unknown> {
      readonly labels: AnyTask
      summary(id: string): Promise<readonly string[]>
    }
    const file = await taskFile<Labels>('named-types')
    await using _t = await defaultEngine(file)
    const { id } = await file.labels.trigger({ level: 'warn' }, { tags: 'calm' })
    await runs.poll(id)
    expect(await file.summary(id)).toEqual(['false 0', `${id} calm 0`])
    expect((await runs.list()).data).toMatchObject([{ isTest: false, costInCents: 0 }])
  })

  it('finds a run that was interrupted too often by its status', async () => {
    const storage = memoryStorage()
    await using t = await createTestEngine({ storage })
    t.engine.makeDefault()
    const now = t.clock.now()
    const id = madeId('run', 'crashed', now)
    const record = queuedRun(id, { status: 'CRASHED', createdAt: now, finishedAt: now })
    await storage.runs.insert({ record, now, by: 'another' })
    for (const status of ['CRASHED', ['SYSTEM_FAILURE', 'CRASHED']] as const)
      expect((await runs.list({ status })).data).toMatchObject([{ id, status: 'CRASHED' }])
    expect((await runs.list({ status: ['SYSTEM_FAILURE', 'DEQUEUED'] })).data).toEqual([])
  })

  it('follows a run, and calls with the access of another project', async () => {
    interface Exports extends Record<string, unknown> {
      watched(from: number): AsyncGenerator<string>
      pingElsewhere(from: string): Promise<{ id: string }>
      begin(id: string): Promise<string>
    }
    const watching = await taskFile<Exports>('watching')
    const signedIn = await taskFile<Exports>('signed-in')
    const withDefaults = await taskFile<Exports>('with-defaults')
    const valibot = await taskFile<Exports>('valibot-like')
    await using _t = await defaultEngine({ ...watching, ...signedIn, ...withDefaults, ...valibot })
    const seen: string[] = []
    for await (const text of watching.watched(3)) seen.push(text)
    expect(seen).toEqual(['COMPLETED 321 watched'])
    const { id } = await signedIn.pingElsewhere('Ada')
    expect((await runs.poll(id)).output).toBe('pong Ada')
    expect((await runs.poll(await withDefaults.begin('b1'))).output).toBe('confirmed b1')
    expect((await runs.poll(await valibot.begin('2026-01-01'))).output).toEqual(
      new Date(Date.UTC(2026, 0, 2)),
    )
  })
})
