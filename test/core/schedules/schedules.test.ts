import { Cron } from 'croner'
import { describe, expect, it } from 'vitest'
import { createEngine, type Engine, type ScheduledPayload, schedules, task } from 'waitpoint'
import { createTestEngine, testClock } from 'waitpoint/testing'
import { abandonable, memoryOfProject, projectStorage } from '../../support/abandon.ts'
import { steeredStorage } from '../../support/steered-storage.ts'

const MINUTE = 60_000
const HOUR = 3_600_000
/** Memory forgets runs after an hour. */
const KEPT = { maxAge: '2000d' }

function scheduled(
  schedule: { cron?: string; timezone?: string; catchUp?: 'none' | 'last' | 'all' },
  seen: ScheduledPayload[] = [],
) {
  return task({
    id: 'report',
    schedule,
    run: (payload) => {
      seen.push(payload)
      return payload.timestamp.toISOString()
    },
  })
}

/** The instants that have runs, in order. */
async function instantsOf({ runs }: Engine): Promise<string[]> {
  const instants: string[] = []
  for await (const { id } of runs.list({ limit: 100 })) {
    const { output } = await runs.retrieve(id)
    instants.push(String(output))
  }
  return instants.sort()
}

describe('the schedule of a task', () => {
  it('executes the task at each instant, with the instants before and after it', async () => {
    const seen: ScheduledPayload[] = []
    const report = scheduled({ cron: '30 9 * * MON-FRI', timezone: 'Europe/Berlin' }, seen)
    await using t = await createTestEngine({ tasks: [report] })
    await t.clock.advance('5d')
    expect(seen.map(({ timestamp }) => timestamp.toISOString())).toEqual([
      '2000-01-03T08:30:00.000Z',
      '2000-01-04T08:30:00.000Z',
      '2000-01-05T08:30:00.000Z',
    ])
    const [first, second] = seen
    expect(first?.lastTimestamp).toBeUndefined()
    expect(second?.lastTimestamp).toEqual(first?.timestamp)
    expect(first?.upcoming).toHaveLength(10)
    expect(first?.upcoming[4]?.toISOString()).toBe('2000-01-10T08:30:00.000Z')
    expect(second).toMatchObject({
      type: 'DECLARATIVE',
      scheduleId: 'sched_report',
      timezone: 'Europe/Berlin',
    })
  })

  it.each(['Europe/Berlin', 'America/New_York'])(
    'passes a year in %s, with the changes of its time',
    async (timezone) => {
      const seen: ScheduledPayload[] = []
      const start = Date.UTC(2026, 0, 1)
      const report = scheduled({ cron: '30 2 * * *', timezone }, seen)
      await using t = await createTestEngine({
        tasks: [report],
        clock: { start },
        storage: memoryOfProject(),
      })
      await t.clock.advance('365d')
      const local = seen.map(({ timestamp }) => timestamp.toLocaleString('sv', { timeZone: timezone }))
      expect(new Set(local.map((text) => text.slice(0, 10))).size).toBe(365)
      expect(local).toHaveLength(365)
      // 02:30 is left out on one day, and comes twice on another.
      const [spring, autumn, late] =
        timezone === 'Europe/Berlin'
          ? ['2026-03-29T01:00:00.000Z', '2026-10-25T00:30:00.000Z', '2026-10-25T01:30:00.000Z']
          : ['2026-03-08T07:00:00.000Z', '2026-11-01T06:30:00.000Z', '2026-11-01T07:30:00.000Z']
      const instants = seen.map(({ timestamp }) => timestamp.toISOString())
      expect(local.filter((text) => !text.endsWith(' 02:30:00'))).toEqual([`${spring.slice(0, 10)} 03:00:00`])
      expect(instants).toContain(spring)
      expect([autumn, late].filter((instant) => instants.includes(instant))).toHaveLength(1)
      const cron = new Cron('30 2 * * *', { timezone, paused: true })
      expect(instants).toEqual(cron.nextRuns(365, new Date(start)).map((instant) => instant.toISOString()))
    },
  )

  it('executes an interval in both of the hours that the clocks show twice', async () => {
    const seen: ScheduledPayload[] = []
    const report = scheduled({ cron: '*/30 1-3 * * *', timezone: 'Europe/Berlin' }, seen)
    await using t = await createTestEngine({
      tasks: [report],
      clock: { start: Date.UTC(2026, 9, 24, 22, 45) },
    })
    await t.clock.advance('5h')
    expect(seen).toHaveLength(8)
  })

  it('counts seconds with six fields', async () => {
    const seen: ScheduledPayload[] = []
    await using t = await createTestEngine({ tasks: [scheduled({ cron: '*/20 * * * * *' }, seen)] })
    await t.clock.advance('1m')
    expect(seen.map(({ timestamp }) => timestamp.getUTCSeconds())).toEqual([20, 40, 0])
  })

  it('is nothing that a test waits for', async () => {
    const seen: ScheduledPayload[] = []
    await using t = await createTestEngine({ tasks: [scheduled({ cron: '* * * * *' }, seen)] })
    const before = t.clock.now()
    await t.clock.settle()
    await t.clock.runAll()
    expect(t.clock.now()).toBe(before)
    expect(seen).toEqual([])
  })

  it('leaves nothing behind when its engine is closed', async () => {
    const seen: ScheduledPayload[] = []
    await using clock = testClock()
    const t = await createTestEngine({ tasks: [scheduled({ cron: '* * * * *' }, seen)], clock })
    await t.close()
    expect(clock.pending()).toEqual([])
    expect(clock.timeline()).not.toContain('sched_report')
    await clock.advance('1h')
    expect(seen).toEqual([])
  })

  it('is not executed by an engine that does not execute', async () => {
    await using t = await createTestEngine({ tasks: [scheduled({ cron: '* * * * *' })], execute: false })
    await t.clock.advance('1h')
    expect((await t.engine.runs.list()).data).toEqual([])
    expect(await t.engine.schedules.list()).toHaveLength(1)
  })

  it('has one run for each instant, however many engines there are', async () => {
    const storage = projectStorage()
    await using clock = testClock()
    const tasks = [scheduled({ cron: '*/10 * * * *' })]
    const options = { tasks, storage, clock, retention: KEPT, leaseMs: HOUR }
    await using a = await createTestEngine(options)
    await using b = await createTestEngine(options)
    await clock.advance('3h')
    expect(await instantsOf(a.engine)).toHaveLength(18)
    expect(await instantsOf(b.engine)).toEqual(every(10 * MINUTE, { from: 0, count: 18 }))
  })

  it('has no second run of an engine whose clock is behind', async () => {
    const storage = projectStorage()
    await using clock = testClock()
    await using behind = testClock()
    const tasks = [scheduled({ cron: '*/10 * * * *' })]
    const retention = { maxAge: '1s', maxCount: 0 }
    const a = await createTestEngine({ tasks, storage, clock, retention, leaseMs: 86_400_000 })
    const b = await createTestEngine({ tasks, storage, clock: behind, retention, leaseMs: 86_400_000 })
    const runs: string[] = []
    for (const { engine } of [a, b])
      engine.on('run', ({ id, status }) => status === 'QUEUED' && runs.push(id))
    await clock.advance('50m')
    await behind.advance('50m')
    expect(runs).toHaveLength(5)
    await b.close()
    await a.close()
  })

  it('has one run for each instant when the clock is set back', async () => {
    await using t = await createTestEngine({ tasks: [scheduled({ cron: '*/10 * * * *' })], retention: KEPT })
    await t.clock.advance('2h')
    await t.clock.setWall(t.clock.now() - HOUR)
    await t.clock.advance('2h')
    expect(await instantsOf(t.engine)).toEqual(every(10 * MINUTE, { from: 0, count: 18 }))
  })

  it('has one run for each instant when the clock is set back and the process starts anew', async () => {
    const storage = projectStorage()
    await using clock = testClock()
    const tasks = [scheduled({ cron: '*/10 * * * *' })]
    const before = await createTestEngine({ tasks, storage, clock, retention: KEPT })
    await clock.advance('2h')
    await before.close()
    await clock.setWall(clock.now() - HOUR)
    await using after = await createTestEngine({ tasks, storage, clock, retention: KEPT })
    await clock.advance('2h')
    expect(await instantsOf(after.engine)).toEqual(every(10 * MINUTE, { from: 0, count: 18 }))
  })

  it('tries again when storage is away at the instant', async () => {
    const steered = steeredStorage(projectStorage())
    await using t = await createTestEngine({
      tasks: [scheduled({ cron: '0 * * * *' })],
      storage: steered.storage,
    })
    const errors: unknown[] = []
    t.engine.on('error', ({ error }) => errors.push(error))
    const away = steered.fail('runs.insert', 3)
    await t.clock.advance('3h')
    expect(await instantsOf(t.engine)).toEqual(every(HOUR, { from: 0, count: 3 }))
    expect(errors).toContain(away)
  })

  it('has one run for an instant whose answer was lost', async () => {
    const steered = steeredStorage(projectStorage())
    await using t = await createTestEngine({
      tasks: [scheduled({ cron: '0 * * * *' })],
      storage: steered.storage,
    })
    steered.loseAnswer('runs.insert')
    await t.clock.advance('3h')
    expect(await instantsOf(t.engine)).toEqual(every(HOUR, { from: 0, count: 3 }))
  })

  it('is listed and found, also by the functions of the module', async () => {
    const report = scheduled({ cron: '0 9 * * *', timezone: 'America/New_York', catchUp: 'last' })
    const plain = task({ id: 'plain', run: () => schedules.retrieve('report') })
    await using t = await createTestEngine({ tasks: [plain, report] })
    const expected = {
      id: 'sched_report',
      type: 'DECLARATIVE',
      isActive: true,
      taskId: 'report',
      cron: '0 9 * * *',
      timezone: 'America/New_York',
      catchUp: 'last',
      nextAt: new Date('2000-01-01T14:00:00Z'),
    }
    expect(await t.engine.schedules.list()).toEqual([expected])
    expect(await t.engine.schedules.retrieve('sched_report')).toEqual(expected)
    const run = await t.engine.trigger(plain, undefined)
    expect(await run.result()).toMatchObject({ taskId: 'report' })
    await expect(t.engine.schedules.retrieve('plain')).rejects.toMatchObject({
      code: 'ERR_SCHEDULE_NOT_FOUND',
    })
  })

  it('can be triggered by hand, with dates', async () => {
    const seen: ScheduledPayload[] = []
    const report = scheduled({ cron: '0 9 * * *' }, seen)
    await using t = await createTestEngine({ tasks: [report] })
    const timestamp = new Date('2026-01-01T09:00:00Z')
    const payload: ScheduledPayload = {
      type: 'DECLARATIVE',
      scheduleId: 'by hand',
      timestamp,
      timezone: 'UTC',
      upcoming: [timestamp],
    }
    await (await t.engine.trigger(report, payload)).result()
    expect(seen).toEqual([payload])
  })
})

describe('catchUp', () => {
  const cases = [
    { catchUp: 'none', caughtUp: [] },
    { catchUp: 'last', caughtUp: ['2000-01-01T09:00:00.000Z'] },
    { catchUp: 'all', caughtUp: every(HOUR, { from: 2, count: 7 }) },
  ] as const

  it.each(cases)('$catchUp: an engine that was away from 02:30 to 09:30', async ({ catchUp, caughtUp }) => {
    const storage = projectStorage()
    await using clock = testClock()
    const tasks = [scheduled({ cron: '0 * * * *', catchUp })]
    const before = await createTestEngine({ tasks, storage, clock, retention: KEPT })
    await clock.advance('150m')
    const ran = await instantsOf(before.engine)
    expect(ran).toEqual(every(HOUR, { from: 0, count: 2 }))
    await before.close()
    await clock.advance('7h')
    await using after = await createTestEngine({ tasks, storage, clock, retention: KEPT })
    await clock.settle()
    expect(await instantsOf(after.engine)).toEqual([...ran, ...caughtUp])
    await clock.advance('1h')
    expect(await instantsOf(after.engine)).toEqual([...ran, ...caughtUp, '2000-01-01T10:00:00.000Z'])
  })

  it.each(cases)(
    '$catchUp: a process that was suspended from 02:30 to 09:30',
    async ({ catchUp, caughtUp }) => {
      await using t = await createTestEngine({
        tasks: [scheduled({ cron: '0 * * * *', catchUp })],
        retention: KEPT,
      })
      await t.clock.advance('150m')
      const ran = every(HOUR, { from: 0, count: 2 })
      await t.clock.jump('7h')
      expect(await instantsOf(t.engine)).toEqual([...ran, ...caughtUp])
      await t.clock.advance('1h')
      expect(await instantsOf(t.engine)).toEqual([...ran, ...caughtUp, '2000-01-01T10:00:00.000Z'])
    },
  )

  it.each(['last', 'all'] as const)(
    '%s: nothing was missed before the schedule was there',
    async (catchUp) => {
      await using t = await createTestEngine({
        tasks: [scheduled({ cron: '0 * * * *', catchUp })],
        clock: { start: Date.UTC(2026, 5, 1, 12, 30) },
      })
      await t.clock.settle()
      expect(await instantsOf(t.engine)).toEqual([])
    },
  )

  it('all: an instant that another engine has executed meanwhile is not missed', async () => {
    const storage = projectStorage()
    await using clock = testClock()
    await using late = testClock()
    const tasks = [scheduled({ cron: '0 * * * *', catchUp: 'all' })]
    const a = await createTestEngine({ tasks, storage, clock, retention: KEPT, leaseMs: 86_400_000 })
    const b = await createTestEngine({ tasks, storage, clock: late, retention: KEPT, leaseMs: 86_400_000 })
    await clock.advance('9h')
    // As after the machine of the second one was suspended.
    await late.jump('570m')
    expect(await instantsOf(a.engine)).toEqual(every(HOUR, { from: 0, count: 9 }))
    await b.close()
    await a.close()
  })

  it('all: at most the last thousand, and says so', async () => {
    const storage = memoryOfProject()
    await using clock = testClock()
    const tasks = [scheduled({ cron: '*/30 * * * * *', catchUp: 'all' })]
    await (await createTestEngine({ tasks, storage, clock })).close()
    await clock.advance('10h')
    const engine = createEngine({ tasks, storage, clock, retention: KEPT })
    const errors: Error[] = []
    engine.on('error', ({ error }) => errors.push(error as Error))
    await engine.ready()
    await clock.settle()
    let count = 0
    for await (const _ of engine.runs.list({ limit: 100 })) count += 1
    expect(count).toBe(1_000)
    expect(errors.map(({ message }) => message)).toEqual([expect.stringContaining('the last 1000 instants')])
    await engine.close()
  })
})

describe('a crash at the instant', () => {
  /** Engines on one storage; the first one dies before or after its n-th storage call at nine o'clock. */
  async function crashedAt(
    call: number,
    moment: 'before' | 'after',
    { isAlone, isCreated }: { readonly isAlone: boolean; readonly isCreated: boolean },
  ) {
    const storage = projectStorage()
    await using clock = testClock()
    const cron = '0 9 * * *'
    const tasks = [scheduled({ ...(isCreated ? {} : { cron }), catchUp: 'last' })]
    let calls = -Infinity
    const death = { hasCome: false }
    const look = (now: 'before' | 'after'): void => {
      if (now === 'before') calls += 1
      if (calls !== call || now !== moment) return
      death.hasCome = true
      ports.abandon()
    }
    const ports = abandonable(clock, storage, { before: () => look('before'), after: () => look('after') })
    const dying = await createTestEngine({
      tasks,
      clock: ports.clock,
      storage: ports.storage,
      seed: 'dying',
      retention: KEPT,
      leaseMs: 24 * HOUR,
    })
    const witness = isAlone
      ? undefined
      : await createTestEngine({ tasks, storage, clock, retention: KEPT, leaseMs: 24 * HOUR })
    if (isCreated) await dying.engine.schedules.create({ task: 'report', cron, deduplicationKey: 'daily' })
    await clock.advance(9 * HOUR - 1)
    calls = 0
    await clock.advance(2)
    if (!death.hasCome) ports.abandon()
    await clock.advance('20m')
    await using t = await createTestEngine({ tasks, storage, clock, retention: KEPT, leaseMs: 24 * HOUR })
    await clock.advance('1d')
    const instants = await instantsOf(t.engine)
    await witness?.close()
    return { hasDied: death.hasCome, instants }
  }

  it.each([
    { isAlone: true, isCreated: false },
    { isAlone: false, isCreated: false },
    { isAlone: true, isCreated: true },
    { isAlone: false, isCreated: true },
  ])('loses no run and makes none twice: %j', async (others) => {
    let crashes = 0
    for (const moment of ['before', 'after'] as const) {
      for (let call = 1; ; call += 1) {
        const { hasDied, instants } = await crashedAt(call, moment, others)
        expect(instants).toEqual(['2000-01-01T09:00:00.000Z', '2000-01-02T09:00:00.000Z'])
        if (!hasDied) break
        crashes += 1
      }
    }
    expect(crashes).toBeGreaterThan(3)
  })
})

describe('a schedule that cannot be used', () => {
  const define = (schedule: object) => () => task({ id: 'x', schedule, run: () => 1 } as never)

  it.each([
    [
      { cron: '61 * * * *' },
      'Cannot use cron of the schedule of task "x" "61 * * * *": the minute "61" is not one (0 to 59)',
    ],
    [{ cron: '* * *' }, 'it must have the five fields'],
    [{ cron: '* * * * MOO' }, 'the day of the week "MOO" is not one'],
    [{ cron: '*/0 * * * *' }, 'the minute "*/0" is not one'],
    [{ cron: '5-1 * * * *' }, 'the minute "5-1" is not one'],
    [{ cron: '@reboot' }, 'it must have the five fields'],
    [{ cron: 5 }, 'it must be a string'],
    [{ cron: '* * * * *', timezone: 'Mars/Base' }, 'it must be a time zone such as "Europe/Berlin"'],
    [{ cron: '* * * * *', timezone: '' }, 'it must be a time zone'],
    [{ cron: '* * * * *', catchUp: 'some' }, 'use none, last, all'],
    [{ cron: '* * * * *', timeZone: 'UTC' }, 'there is no option "timeZone"'],
    [{ cron: null }, 'it must be a string'],
  ])('is refused when the task is defined: %j', (schedule, message) => {
    expect(define(schedule)).toThrow(message)
  })

  it('is refused beside a schema', () => {
    const schema = { '~standard': { version: 1, vendor: 'x', validate: (value: unknown) => ({ value }) } }
    expect(() => task({ id: 'x', schema, schedule: { cron: '* * * * *' }, run: () => 1 } as never)).toThrow(
      'its schedule says what its payload is',
    )
  })

  it('is refused by the engine if it has no instant', async () => {
    const engine = createEngine({ tasks: [scheduled({ cron: '0 0 30 2 *' })] })
    await expect(engine.ready()).rejects.toThrow('it has no instant')
    await engine.close()
  })
})

/** So many instants, the first one a step after `from` steps into the year 2000. */
function every(step: number, { from, count }: { readonly from: number; readonly count: number }): string[] {
  return Array.from({ length: count }, (_, index) =>
    new Date(Date.UTC(2000, 0, 1) + (from + index + 1) * step).toISOString(),
  )
}
