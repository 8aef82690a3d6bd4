import { describe, expect, it } from 'vitest'
import { createEngine, task as engineTask } from 'waitpoint'
import { createTestEngine } from 'waitpoint/testing'
import {
  auth,
  batch,
  configure,
  createCache,
  envvars,
  idempotencyKeys,
  locals,
  queue,
  queues,
  retry,
  runs,
  schedules,
  schemaTask,
  streams,
  task,
  timeout,
  wait,
  type TaskOptions,
} from 'waitpoint/sdk'
import { z } from 'zod'
import { turn } from '../../support/turn.ts'

const noop = async (): Promise<void> => undefined

describe('task', () => {
  it.each([
    ['a misspelt option', { id: 'a', run: noop, maxduration: 5 }, 'no option "maxduration"'],
    ['a misspelt hook', { id: 'a', run: noop, onSucess: noop }, 'no option "onSucess"'],
    ['no function', { id: 'a' }, 'run must be a function'],
    ['no id', { run: noop }, 'task id'],
    ['a hook that is no function', { id: 'a', run: noop, onCancel: 1 }, 'onCancel must be a function'],
    ['a misspelt option of its queue', { id: 'a', run: noop, queue: { limit: 1 } }, 'no option "limit"'],
    ['limits of a newer kind', { id: 'a', run: noop, concurrency: { total: 1 } }, 'no option "concurrency"'],
  ])('refuses %s', (_what, options, problem) => {
    expect(() => task(options as unknown as TaskOptions<string>)).toThrow(problem)
  })

  it('refuses a schema of no known make', () => {
    expect(() => schemaTask({ id: 'a', schema: {} as never, run: noop })).toThrow('its schema')
  })

  it('has the version of its run function, not of what calls it', async () => {
    const versions = [task({ id: 'a', run: noop }), task({ id: 'a', run: async () => wait.for({ days: 1 }) })]
    await using engine = createEngine({ tasks: versions })
    await engine.ready()
    expect(() => createEngine({ tasks: [...versions, task({ id: 'a', run: noop })] })).toThrow(
      'two tasks have the id "a"',
    )
  })

  it('stands beside tasks of the engine, which may trigger it', async () => {
    const child = task({ id: 'child', run: async (payload: { n: number }) => payload.n + 1 })
    const parent = engineTask({
      id: 'parent',
      run: async (_payload: null, { tasks }) =>
        tasks.triggerAndWait<typeof child>('child', { n: 1 }).unwrap(),
    })
    await using t = await createTestEngine({ tasks: [child, parent] })
    const run = await t.engine.trigger(parent, null)
    expect(await run.result()).toBe(2)
    const direct = await t.engine.trigger(child, { n: 2 })
    expect(await direct.result()).toBe(3)
  })

  it('has one attempt without a retry of its own, and no limit with timeout.None', async () => {
    const failing = task({
      id: 'failing',
      maxDuration: timeout.None,
      ttl: 0,
      run: async () => {
        throw new Error('no')
      },
    })
    await using t = await createTestEngine({ tasks: [failing] })
    t.engine.makeDefault()
    const { id } = await failing.trigger()
    expect(await runs.poll(id)).toMatchObject({ status: 'FAILED', attemptCount: 1 })
  })

  it('shares the limit of a queue that it names', async () => {
    let executing = 0
    let most = 0
    const run = async (): Promise<void> => {
      executing += 1
      most = Math.max(most, executing)
      await Promise.resolve()
      executing -= 1
    }
    queue({ name: 'narrow', concurrencyLimit: 1 })
    const one = task({ id: 'one', queue: 'narrow', run })
    const two = task({ id: 'two', queue: { name: 'narrow' }, run })
    await using t = await createTestEngine({ tasks: [one, two] })
    t.engine.makeDefault()
    const handles = await Promise.all([one.trigger(), two.trigger(), one.trigger()])
    for (const { id } of handles) expect(await runs.poll(id)).toMatchObject({ status: 'COMPLETED' })
    expect(most).toBe(1)
  })

  it.each(['of the task', 'of a trigger'])(
    'has the limit of a queue %s that is declared after it',
    async (whose) => {
      let executing = 0
      let most = 0
      const name = `declared later, ${whose}`
      const run = async (): Promise<void> => {
        executing += 1
        most = Math.max(most, executing)
        for (let turns = 0; turns < 3; turns += 1) await turn()
        executing -= 1
      }
      const paying = task({ id: 'paying', ...(whose === 'of the task' ? { queue: name } : {}), run })
      queue({ name, concurrencyLimit: 2 })
      await using t = await createTestEngine({ tasks: [paying] })
      t.engine.makeDefault()
      const options = whose === 'of a trigger' ? { queue: name } : {}
      const handles = await Promise.all([1, 2, 3, 4].map(async () => paying.trigger(undefined, options)))
      for (const { id } of handles) expect(await runs.poll(id)).toMatchObject({ status: 'COMPLETED' })
      expect(most).toBe(2)
      expect(await queues.retrieve({ type: 'custom', name })).toMatchObject({ concurrencyLimit: 2 })
    },
  )
})

describe('what is misspelt', () => {
  const run = async (payload: unknown): Promise<unknown> => payload
  const echo = task({ id: 'echo', run })
  const fetched = (options: object): Promise<Response> => retry.fetch('data:,a', { retry: options })

  it.each<[what: string, call: () => Promise<unknown>, problem: string]>([
    ['an item of a batch', () => echo.batchTrigger([{ payload: 1, option: {} } as never]), '"option"'],
    ['an option of a batch', () => echo.batchTrigger([], { key: 'k' } as never), '"key"'],
    ['an option of a key', () => idempotencyKeys.create('k', { scop: 'global' } as never), '"scop"'],
    ['the scope of a key', () => idempotencyKeys.create('k', { scope: 'task' as never }), '"task"'],
    [
      'an option of retry.onThrow',
      () => retry.onThrow(async () => 1, { maxAttempt: 2 } as never),
      '"maxAttempt"',
    ],
    ['retry of retry.fetch', () => fetched({ byStatuses: {} }), '"byStatuses"'],
    ['a policy of retry.fetch', () => fetched({ connectionError: { attempts: 2 } }), '"attempts"'],
    ['a strategy', () => fetched({ byStatus: { 500: { strategy: 'back-off' } } }), '"back-off"'],
    [
      'an option of a strategy',
      () => fetched({ byStatus: { 500: { strategy: 'headers', reset: 'x' } } }),
      '"reset"',
    ],
    ...[
      { code: [{ $endWith: 'a' }] },
      { code: [{}] },
      { code: ['a', { $not: 'b' }] },
      { code: [{ $not: 'b' }, 'a'] },
      { code: [null] },
      { code: 'a' },
    ].map((bodyFilter): [string, () => Promise<unknown>, string] => [
      `the filter ${JSON.stringify(bodyFilter)}`,
      () => fetched({ byStatus: { 500: { strategy: 'backoff', bodyFilter } } }),
      'bodyFilter of retry.byStatus["500"].code',
    ]),
    ['what is no URL', () => retry.fetch('/path'), 'Invalid URL'],
    ['an option of a list', async () => queues.list({ perpage: 1 } as never), '"perpage"'],
    ['an option of time zones', () => schedules.timezones({ excludeUTC: true } as never), '"excludeUTC"'],
    ['an option of configure', async () => configure({ secretkey: 'x' } as never), '"secretkey"'],
    ['an option of withAuth', () => auth.withAuth({ secretkey: 'x' } as never, async () => 1), '"secretkey"'],
    ['an option of runs.poll', () => runs.poll('run_x', { pollInterval: 1 } as never), '"pollInterval"'],
    ['an option of a reschedule', () => runs.reschedule('run_x', { delays: '1s' } as never), '"delays"'],
    [
      'an option of a subscription',
      async () => runs.subscribeToRun('run_x', { stopOnComplete: true } as never),
      '"stopOnComplete"',
    ],
    ['an option of streams.define', async () => streams.define({ id: 's', key: 's' } as never), '"key"'],
    ['the id of streams.define', async () => streams.define({} as never), 'the id of a stream'],
    [
      'idempotencyKeyTTL without a key',
      () => echo.trigger(1, { idempotencyKeyTTL: 'soon' }),
      'idempotencyKeyTTL "soon"',
    ],
    ['an option of envvars', () => envvars.list({ additionalHeader: {} }), '"additionalHeader"'],
    ['the name of a variable', () => envvars.retrieve('proj_x', 5), 'the options of a request 5'],
    ['the store of a cache', async () => createCache({} as never), 'the store of createCache'],
    ['the id of a local', async () => locals.create(1 as never), 'the id of a local'],
    [
      'an item of a batch by tasks',
      () => batch.triggerByTask([{ task: echo, payload: 1, option: {} } as never]),
      '"option"',
    ],
    ['an item without a task', () => batch.triggerByTask([{ payload: 1 } as never]), 'the id of the task'],
    ['items by tasks that are none', () => batch.triggerByTask(5 as never), 'the items of a batch'],
    ['the type of region', () => echo.trigger(1, { region: 5 as never }), 'region 5 of trigger'],
    ['the type of version', () => echo.trigger(1, { version: 5 as never }), 'version 5 of trigger'],
    [
      'the type of externalDeploymentId',
      () => echo.trigger(1, { externalDeploymentId: null as never }),
      'externalDeploymentId',
    ],
    [
      'the type of triggerSequentially',
      () => echo.batchTrigger([], { triggerSequentially: 'yes' as never }),
      'triggerSequentially',
    ],
    [
      'the type of pollIntervalMs',
      () => runs.poll('run_x', { pollIntervalMs: '1s' as never }),
      'pollIntervalMs',
    ],
    [
      'the type of timeoutInSeconds',
      () => streams.read('run_x', 's', { timeoutInSeconds: '5' as never }),
      'timeoutInSeconds',
    ],
    [
      'the type of spanName',
      async () => streams.pipe('s', new ReadableStream(), { spanName: 1 as never }),
      'spanName',
    ],
    [
      'the type of skipColumns',
      async () => runs.subscribeToRun('run_x', { skipColumns: 'payload' as never }),
      'skipColumns',
    ],
    ['the type of description', async () => task({ id: 'x', description: 1 as never, run }), 'description'],
    ['the type of jsonSchema', async () => task({ id: 'x', jsonSchema: '{}' as never, run }), 'jsonSchema'],
    [
      'the type of window in a cron',
      async () => schedules.task({ id: 'x', cron: { pattern: '@daily', window: 5 as never }, run }),
      'window',
    ],
    [
      'the type of window',
      () => schedules.create({ task: 'echo', cron: '@daily', deduplicationKey: 'k', window: 5 as never }),
      'window',
    ],
    ['the machine of a trigger', () => echo.trigger(1, { machine: 'huge' as never }), '"huge"'],
    ['items that are no list', () => echo.batchTrigger('all' as never), 'the items of a batch'],
    ['items of another type', () => batch.trigger({} as never), 'the items of a batch'],
    [
      'a schema that is none',
      async () => schemaTask({ id: 'x', schema: 1 as never, run }),
      'is no Standard Schema',
    ],
    ['from of streams.read', () => streams.read('run_x', 's', { from: 'end' as never }), '"end"'],
    ['an option of streams.read', () => streams.read('run_x', 's', { index: 1 } as never), '"index"'],
    [
      'an option of streams.pipe',
      async () => streams.pipe('s', new ReadableStream(), { signl: 1 } as never),
      '"signl"',
    ],
    ['an option of streams.append', () => streams.append('s', 'a', { to: 'self' } as never), '"to"'],
    ['execute of streams.writer', async () => streams.writer('s', {} as never), 'execute'],
    ['a machine', async () => task({ id: 'x', machine: 'huge' as never, run }), '"huge"'],
    [
      'an option of a machine',
      async () => task({ id: 'x', machine: { name: 'micro' } as never, run }),
      '"name"',
    ],
    [
      'an option of retry.outOfMemory',
      async () => task({ id: 'x', retry: { outOfMemory: { machines: 'micro' } as never }, run }),
      '"machines"',
    ],
    ...[-1, 0, 1.5, NaN, 100_001, '2' as never].map(
      (concurrencyLimit): [string, () => Promise<unknown>, string] => [
        `the limit ${JSON.stringify(concurrencyLimit)} of a queue`,
        async () => queue({ name: 'q', concurrencyLimit }),
        'whole number from 1 to 100000',
      ],
    ),
    [
      'the limit of the queue of a task',
      async () => task({ id: 'x', queue: { concurrencyLimit: 0 }, run }),
      'whole number from 1 to 100000',
    ],
    [
      'an environment of a cron',
      async () =>
        schedules.task({ id: 'x', cron: { pattern: '@daily', environments: ['PROD' as never] }, run }),
      '"PROD"',
    ],
  ])('is refused: %s', async (_what, call, problem) => {
    await using t = await createTestEngine({ tasks: [echo] })
    const putBack = t.engine.makeDefault()
    try {
      await expect(call()).rejects.toThrow(problem)
      expect((await t.engine.runs.list()).data).toEqual([])
    } finally {
      putBack()
    }
  })
})

describe('schemaTask', () => {
  it('refuses a payload by id as it does by its task', async () => {
    const checked = schemaTask({
      id: 'checked',
      schema: z.object({ n: z.number() }),
      run: async ({ n }) => n,
    })
    await using t = await createTestEngine({ tasks: [checked] })
    await expect(t.engine.tasks.trigger('checked', { n: 'one' })).rejects.toMatchObject({
      code: 'ERR_PAYLOAD_INVALID',
    })
  })

  it('reads dates before its schema does', async () => {
    const dated = schemaTask({
      id: 'dated',
      schema: z.object({ at: z.date() }),
      run: async ({ at }) => at.getTime(),
    })
    await using t = await createTestEngine({ tasks: [dated] })
    t.engine.makeDefault()
    const { id } = await dated.trigger({ at: new Date(5) })
    expect((await runs.poll(id)).output).toBe(5)
  })
})

describe('schedules', () => {
  it('are created, changed and removed, and have their runs', async () => {
    const seen: unknown[] = []
    const remind = schedules.task({
      id: 'remind',
      run: async ({ type, externalId, timestamp }) => {
        seen.push([type, externalId, timestamp.getUTCHours()])
      },
    })
    await using t = await createTestEngine({ tasks: [remind] })
    t.engine.makeDefault()
    const options = { task: remind.id, cron: '0 * * * *', externalId: 'ada' }
    const created = await schedules.create({
      ...options,
      timezone: 'Europe/Vienna',
      window: '5m',
      deduplicationKey: 'ada',
    })
    expect(created).toEqual({
      id: expect.stringMatching(/^sched_/) as string,
      type: 'IMPERATIVE',
      task: 'remind',
      active: true,
      generator: { type: 'CRON', expression: '0 * * * *', description: '' },
      timezone: 'Europe/Vienna',
      nextRun: new Date('2000-01-01T01:00:00Z'),
      nextRunEffectiveAt: new Date('2000-01-01T01:00:00Z'),
      externalId: 'ada',
      deduplicationKey: 'ada',
      environments: [{ id: 'local', type: 'DEVELOPMENT' }],
    })
    await t.clock.advance('2h')
    expect(await schedules.update(created.id, { ...options, cron: '0 */5 * * *' })).toMatchObject({
      id: created.id,
      timezone: 'UTC',
      generator: { expression: '0 */5 * * *' },
    })
    await t.clock.advance('3h')
    expect(await schedules.deactivate(created.id)).toMatchObject({ active: false })
    await t.clock.advance('5h')
    expect(await schedules.activate(created.id)).toMatchObject({ active: true })
    await t.clock.advance('5h')
    expect(await schedules.del(created.id)).toEqual({ id: created.id })
    await t.clock.advance('5h')
    expect(seen).toEqual([1, 2, 5, 15].map((hour) => ['IMPERATIVE', 'ada', hour]))
    await expect(schedules.retrieve(created.id)).rejects.toMatchObject({ code: 'ERR_SCHEDULE_NOT_FOUND' })
  })

  it('are listed by pages', async () => {
    const remind = schedules.task({ id: 'remind', cron: '0 0 1 1 *', run: async () => 1 })
    await using t = await createTestEngine({ tasks: [remind] })
    t.engine.makeDefault()
    for (let index = 1; index <= 4; index += 1) {
      await schedules.create({ task: 'remind', cron: '0 * * * *', deduplicationKey: `number ${index}` })
      await t.clock.advance('1s')
    }
    const first = await schedules.list({ perPage: 2 })
    expect(first.pagination).toEqual({ currentPage: 1, totalPages: 3, count: 5 })
    expect([first.hasNextPage(), first.hasPreviousPage()]).toEqual([true, false])
    const keys = (page: { readonly data: { deduplicationKey?: string | null }[] }) =>
      page.data.map(({ deduplicationKey }) => deduplicationKey)
    expect(keys(first)).toEqual([undefined, 'number 1'])
    const last = await schedules.list({ page: 3, perPage: 2 })
    expect(keys(last)).toEqual(['number 4'])
    expect(() => last.getNextPage()).toThrow('there is none')
    expect(keys(await last.getPreviousPage())).toEqual(['number 2', 'number 3'])
    let count = 0
    for await (const _ of schedules.list({ perPage: 2 })) count += 1
    expect(count).toBe(5)
    await expect(schedules.list({ page: 0 })).rejects.toThrow('Cannot use page 0')
  })

  it('are refused with options that there are not', async () => {
    const options = { task: 'x', cron: '* * * * *', deduplicationKey: 'x', timeZone: 'UTC' }
    await expect(schedules.create(options)).rejects.toThrow('no option "timeZone"')
    await expect(schedules.update('x', options)).rejects.toThrow('no option "deduplicationKey"')
  })

  it('executes its tasks at the instants of their patterns', async () => {
    const seen: unknown[] = []
    const nightly = schedules.task({
      id: 'nightly',
      cron: { pattern: '0 2 * * *', timezone: 'Europe/Vienna', environments: ['DEVELOPMENT'] },
      run: async (payload) => seen.push(payload),
    })
    const hourly = schedules.task({
      id: 'hourly',
      cron: '0 * * * *',
      run: async ({ timestamp }) => seen.push(timestamp),
    })
    await using t = await createTestEngine({ tasks: [nightly, hourly] })
    await t.clock.advance('2h')
    const night = new Date('2000-01-01T01:00:00Z')
    const upcoming = Array.from(
      { length: 10 },
      (_, day) => new Date(night.getTime() + (day + 1) * 86_400_000),
    )
    expect(seen).toEqual([
      {
        type: 'DECLARATIVE',
        scheduleId: 'sched_nightly',
        timestamp: night,
        timezone: 'Europe/Vienna',
        upcoming,
      },
      night,
      new Date('2000-01-01T02:00:00Z'),
    ])
  })

  it('has no schedule in other environments than those of its cron', async () => {
    const nightly = schedules.task({
      id: 'nightly',
      cron: { pattern: '0 2 * * *', environments: ['PRODUCTION', 'STAGING'] },
      run: async () => 1,
    })
    await using t = await createTestEngine({ tasks: [nightly] })
    expect(await t.engine.schedules.list()).toEqual([])
  })

  it('has a schedule in all environments if its cron names none', async () => {
    const nightly = schedules.task({
      id: 'nightly',
      cron: { pattern: '0 2 * * *', environments: [] },
      run: async () => 1,
    })
    await using t = await createTestEngine({ tasks: [nightly] })
    expect(await t.engine.schedules.list()).toMatchObject([{ taskId: 'nightly' }])
  })

  it('has the patterns of the hosted service: the last Friday of a month, and any day', async () => {
    const last = schedules.task({ id: 'last', cron: '0 9 ? * 5L', run: async () => 1 })
    const made = schedules.task({ id: 'made', run: async () => 1 })
    await using t = await createTestEngine({ tasks: [last, made] })
    t.engine.makeDefault()
    const { nextRun } = await schedules.retrieve('sched_last')
    expect(nextRun).toEqual(new Date('2000-01-28T09:00:00Z'))
    const created = await schedules.create({ task: 'made', cron: '0 0 * * 1L,3L', deduplicationKey: 'a' })
    expect(created.nextRun).toEqual(new Date('2000-01-26T00:00:00Z'))
    await expect(
      schedules.create({ task: 'made', cron: '0 0 * * 9L', deduplicationKey: 'b' }),
    ).rejects.toThrow('the day of the week "9L" is not one')
  })

  it('lists and retrieves the schedules of its tasks', async () => {
    const nightly = schedules.task({ id: 'nightly', cron: '0 2 * * *', run: async () => 1 })
    await using t = await createTestEngine({ tasks: [nightly] })
    t.engine.makeDefault()
    const schedule = {
      id: 'sched_nightly',
      type: 'DECLARATIVE',
      task: 'nightly',
      active: true,
      generator: { type: 'CRON', expression: '0 2 * * *', description: '' },
      timezone: 'UTC',
      nextRun: new Date('2000-01-01T02:00:00Z'),
      nextRunEffectiveAt: new Date('2000-01-01T02:00:00Z'),
      environments: [{ id: 'local', type: 'DEVELOPMENT' }],
    }
    expect(await schedules.list()).toMatchObject({ data: [schedule], pagination: { count: 1 } })
    for await (const listed of schedules.list()) expect(listed).toEqual(schedule)
    expect(await schedules.retrieve('sched_nightly')).toEqual(schedule)
  })

  it.each([
    ['0 25 * * *', 'the hour "25" is not one'],
    [{ pattern: '0 2 * * *', timezone: 'Europe/Wien' }, 'it must be a time zone'],
    [{ pattern: '0 2 * * *', timeZone: 'UTC' }, 'no option "timeZone"'],
  ])('refuses the cron %j', (cron, message) => {
    expect(() => schedules.task({ id: 'x', cron, run: async () => 1 })).toThrow(message)
  })

  it('knows time zones', async () => {
    const { timezones } = await schedules.timezones()
    expect(timezones).toEqual(expect.arrayContaining(['UTC', 'Europe/Vienna']))
    expect((await schedules.timezones({ excludeUtc: true })).timezones).not.toContain('UTC')
  })
})
