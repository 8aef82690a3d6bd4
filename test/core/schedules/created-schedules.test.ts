import { describe, expect, it } from 'vitest'
import {
  createEngine,
  type Engine,
  type ScheduledPayload,
  schedules,
  StorageUnavailableError,
  task,
} from 'waitpoint'
import { createTestEngine, testClock } from 'waitpoint/testing'
import { chain } from '../../../src/primitives/awaitable.ts'
import { wrapStorage } from '../../../src/testing/storages/wrapped.ts'
import { memoryOfProject, projectStorage, steadyStorage } from '../../support/abandon.ts'
import { awayStorage } from '../../support/away-storage.ts'
import { steeredStorage } from '../../support/steered-storage.ts'

const HOUR = 3_600_000
const KEPT = { maxAge: '2000d' }
const HOURLY = { task: 'remind', cron: '0 * * * *', deduplicationKey: 'ada' }

function reminder(seen: ScheduledPayload[] = [], catchUp: 'none' | 'last' | 'all' = 'none') {
  return task({
    id: 'remind',
    schedule: { catchUp },
    run: (payload) => {
      seen.push(payload)
      return payload.timestamp.getTime() / HOUR
    },
  })
}

/** The hours since the beginning of the clock that have runs, in order. */
async function hoursOf({ runs }: Engine): Promise<number[]> {
  const hours: number[] = []
  for await (const { id } of runs.list({ limit: 100 })) {
    const { output } = await runs.retrieve(id)
    hours.push(Number(output) - Date.UTC(2000, 0) / HOUR)
  }
  return hours.sort((one, other) => one - other)
}

describe('schedules.create', () => {
  it('executes the task at each instant, with what the schedule was given', async () => {
    const seen: ScheduledPayload[] = []
    const remind = reminder(seen)
    await using t = await createTestEngine({ tasks: [remind], retention: KEPT })
    const created = await t.engine.schedules.create({
      task: remind,
      cron: '30 9 * * MON-FRI',
      timezone: 'Europe/Berlin',
      externalId: 'user 1',
      deduplicationKey: 'ada',
    })
    expect(created).toEqual({
      id: expect.stringMatching(/^sched_[0-9a-f]{24}$/) as string,
      type: 'IMPERATIVE',
      taskId: 'remind',
      cron: '30 9 * * MON-FRI',
      timezone: 'Europe/Berlin',
      catchUp: 'none',
      isActive: true,
      externalId: 'user 1',
      deduplicationKey: 'ada',
      nextAt: new Date('2000-01-03T08:30:00Z'),
    })
    await t.clock.advance('4d')
    const [first, second, ...others] = seen
    expect(others).toEqual([])
    expect(first).toEqual({
      type: 'IMPERATIVE',
      scheduleId: created.id,
      timestamp: new Date('2000-01-03T08:30:00Z'),
      timezone: 'Europe/Berlin',
      externalId: 'user 1',
      upcoming: expect.arrayContaining([new Date('2000-01-04T08:30:00Z')]) as Date[],
    })
    expect(second).toMatchObject({ lastTimestamp: first?.timestamp })
  })

  it('stands beside the schedule that the task declares', async () => {
    const seen: ScheduledPayload[] = []
    const both = task({
      id: 'both',
      schedule: { cron: '0 * * * *' },
      run: (payload) => void seen.push(payload),
    })
    await using t = await createTestEngine({ tasks: [both] })
    await t.engine.schedules.create({ task: both, cron: '0 * * * *', deduplicationKey: 'ada' })
    await t.clock.advance('2h')
    expect(seen.map(({ type }) => type).sort()).toEqual([
      'DECLARATIVE',
      'DECLARATIVE',
      'IMPERATIVE',
      'IMPERATIVE',
    ])
    expect((await t.engine.schedules.list()).map(({ type }) => type)).toEqual(['DECLARATIVE', 'IMPERATIVE'])
  })

  it('changes the schedule that has the key', async () => {
    await using t = await createTestEngine({ tasks: [reminder()], retention: KEPT })
    const first = await t.engine.schedules.create({ ...HOURLY, externalId: 'x', timezone: 'Asia/Tokyo' })
    const second = await t.engine.schedules.create({ ...HOURLY, cron: '0 */6 * * *' })
    expect(second).toMatchObject({ id: first.id, cron: '0 */6 * * *', timezone: 'UTC' })
    expect(second).not.toHaveProperty('externalId')
    expect(await t.engine.schedules.list()).toEqual([second])
    await t.clock.advance('12h')
    expect(await hoursOf(t.engine)).toEqual([6, 12])
  })

  it('lists the oldest first, and finds one by its id, also in a run and by the functions of the module', async () => {
    const inRun = task({
      id: 'in run',
      run: async () => {
        const { id } = await schedules.create({ ...HOURLY, deduplicationKey: 'in run' })
        await schedules.update(id, { externalId: 'x' })
        await schedules.deactivate(id)
        return { listed: (await schedules.list()).length, found: await schedules.retrieve(id) }
      },
    })
    await using t = await createTestEngine({ tasks: [reminder(), inRun] })
    const ids: string[] = []
    for (const deduplicationKey of ['b', 'c', 'a']) {
      ids.push((await t.engine.schedules.create({ ...HOURLY, deduplicationKey })).id)
      await t.clock.advance('1s')
    }
    expect((await t.engine.schedules.list()).map(({ id }) => id)).toEqual(ids)
    const run = await t.engine.trigger(inRun, undefined)
    expect(await run.result()).toMatchObject({
      listed: 4,
      found: { deduplicationKey: 'in run', externalId: 'x', isActive: false },
    })
  })

  it('creates one when two callers create it at once', async () => {
    const storage = projectStorage()
    await using clock = testClock()
    const tasks = [reminder()]
    await using a = await createTestEngine({ tasks, storage, clock })
    await using b = await createTestEngine({ tasks, storage, clock })
    await Promise.all(
      [a, b].flatMap(({ engine }) =>
        ['UTC', 'Asia/Tokyo'].map((timezone) => engine.schedules.create({ ...HOURLY, timezone })),
      ),
    )
    const [schedule, ...others] = await a.engine.schedules.list()
    expect(others).toEqual([])
    expect(await b.engine.schedules.list()).toEqual([schedule])
  })

  it('is done, or can be done again, when its answer is lost', async () => {
    const steered = steeredStorage(steadyStorage())
    await using t = await createTestEngine({ tasks: [reminder()], storage: steered.storage })
    steered.loseAnswer('schedules.put')
    await expect(t.engine.schedules.create(HOURLY)).rejects.toThrow('no answer')
    const [{ id } = { id: '' }] = await t.engine.schedules.list()
    expect(await t.engine.schedules.create(HOURLY)).toMatchObject({ id })
    steered.loseAnswer('schedules.put')
    await expect(t.engine.schedules.del(id)).rejects.toThrow('no answer')
    expect(await t.engine.schedules.list()).toEqual([])
  })

  it('waits in a run for a storage that is away, and is done once', async () => {
    const puts: unknown[] = []
    const losing = wrapStorage(steadyStorage(), (name, operation) => (...args) => {
      const answer = operation(...args)
      if (name !== 'schedules.put') return answer
      return chain(answer, (isPut) => {
        puts.push(isPut)
        if (puts.length % 2 === 0) return isPut
        throw new StorageUnavailableError('no answer', { mayBeDone: true })
      })
    })
    const inRun = task({
      id: 'in run',
      run: async () => {
        const { id } = await schedules.create(HOURLY)
        return [id, (await schedules.del(id)).id]
      },
    })
    await using t = await createTestEngine({ tasks: [reminder(), inRun], storage: losing })
    t.engine.on('error', () => undefined)
    const [created, removed] = await (await t.engine.trigger(inRun, undefined)).result()
    expect(removed).toBe(created)
    expect(puts).toEqual([true, false, true, false])
    expect(await t.engine.schedules.list()).toEqual([])
  })
})

describe('a schedule that is changed', () => {
  it('is in force as it is from then on', async () => {
    await using t = await createTestEngine({ tasks: [reminder([], 'all')], retention: KEPT })
    const { schedules: all } = t.engine
    const { id } = await all.create(HOURLY)
    await t.clock.advance('150m')
    expect(await all.update(id, { cron: '0 */4 * * *' })).toMatchObject({ id, timezone: 'UTC' })
    await t.clock.advance('6h')
    const inactive = await all.deactivate(id)
    expect(inactive).toMatchObject({ isActive: false })
    expect(inactive).not.toHaveProperty('nextAt')
    await t.clock.advance('8h')
    expect(await all.activate(id)).toMatchObject({ isActive: true, nextAt: new Date('2000-01-01T20:00:00Z') })
    await t.clock.advance('4h')
    expect(await hoursOf(t.engine)).toEqual([1, 2, 4, 8, 20])
    expect(await all.del(id)).toEqual({ id })
    await t.clock.advance('1d')
    expect(await hoursOf(t.engine)).toEqual([1, 2, 4, 8, 20])
    expect(await all.list()).toEqual([])
  })

  it('has the instant before it in its payload, but not that of one that was removed', async () => {
    const seen: ScheduledPayload[] = []
    await using t = await createTestEngine({ tasks: [reminder(seen)], retention: KEPT })
    const { id } = await t.engine.schedules.create(HOURLY)
    await t.clock.advance('1h')
    await t.engine.schedules.update(id, { externalId: 'x' })
    await t.clock.advance('1h')
    await t.engine.schedules.del(id)
    await t.engine.schedules.create(HOURLY)
    await t.clock.advance('1h')
    expect(seen.map(({ lastTimestamp }) => lastTimestamp?.getUTCHours())).toEqual([undefined, 1, undefined])
  })

  it('has not the instant of one that was removed after a restart either', async () => {
    const storage = projectStorage()
    await using clock = testClock()
    const seen: ScheduledPayload[] = []
    const options = { tasks: [reminder(seen)], storage, clock, retention: KEPT }
    const before = await createTestEngine(options)
    const { id } = await before.engine.schedules.create(HOURLY)
    await clock.advance('90m')
    await before.engine.schedules.del(id)
    await before.engine.schedules.create(HOURLY)
    await before.close()
    await using _after = await createTestEngine(options)
    await clock.advance('2h')
    expect(seen.map(({ lastTimestamp }) => lastTimestamp?.getUTCHours())).toEqual([undefined, undefined, 2])
  })

  it('does not trigger an instant anew when only its name is changed', async () => {
    await using t = await createTestEngine({ tasks: [reminder([], 'all')], retention: KEPT })
    const { id } = await t.engine.schedules.create(HOURLY)
    await t.clock.advance('3h')
    await t.engine.schedules.update(id, { externalId: 'x' })
    await t.clock.advance('1h')
    expect(await hoursOf(t.engine)).toEqual([1, 2, 3, 4])
  })
})

describe('schedules that were created, on several engines', () => {
  it('have one run for each instant, and every engine knows of a change by the next one', async () => {
    const storage = projectStorage()
    await using clock = testClock()
    const options = { tasks: [reminder()], storage, clock, retention: KEPT, leaseMs: HOUR }
    await using a = await createTestEngine(options)
    await using b = await createTestEngine(options)
    await using web = await createTestEngine({ ...options, execute: false })
    const { id } = await web.engine.schedules.create(HOURLY)
    await clock.advance('3h')
    expect(await hoursOf(a.engine)).toEqual([1, 2, 3])
    await web.engine.schedules.deactivate(id)
    await clock.advance('2h')
    expect(await hoursOf(b.engine)).toEqual([1, 2, 3])
    await web.engine.schedules.activate(id)
    await clock.advance('1h')
    expect(await hoursOf(b.engine)).toEqual([1, 2, 3, 6])
  })

  it('are found by an engine that hears of nothing', async () => {
    const storage = steadyStorage()
    const deaf = { ...storage, subscribe: () => () => undefined }
    await using clock = testClock()
    const options = { tasks: [reminder()], clock, retention: KEPT, leaseMs: 60_000 }
    await using web = await createTestEngine({ ...options, storage, execute: false })
    await using t = await createTestEngine({ ...options, storage: deaf })
    await clock.advance('30m')
    await web.engine.schedules.create(HOURLY)
    await clock.advance('90m')
    expect(await hoursOf(t.engine)).toEqual([1, 2])
  })

  it('are not triggered by an engine that hears nothing of their end', async () => {
    const storage = steadyStorage()
    const deaf = { ...storage, subscribe: () => () => undefined }
    await using clock = testClock()
    const options = { tasks: [reminder()], clock, retention: KEPT, leaseMs: 86_400_000 }
    await using web = await createTestEngine({ ...options, storage, execute: false })
    const { id } = await web.engine.schedules.create(HOURLY)
    await using t = await createTestEngine({ ...options, storage: deaf })
    await clock.advance('1h')
    await web.engine.schedules.del(id)
    await clock.advance('2h')
    expect(await hoursOf(t.engine)).toEqual([1])
  })

  it('are executed by engines that have the task', async () => {
    const storage = projectStorage()
    await using clock = testClock()
    await using other = await createTestEngine({
      tasks: [task({ id: 'other', schedule: {}, run: () => 1 })],
      storage,
      clock,
    })
    await using t = await createTestEngine({ tasks: [reminder()], storage, clock, retention: KEPT })
    await t.engine.schedules.create(HOURLY)
    expect(await other.engine.schedules.list()).toHaveLength(1)
    await clock.advance('2h')
    expect(await hoursOf(t.engine)).toEqual([1, 2])
  })

  it.each([
    { catchUp: 'none', caughtUp: [] },
    { catchUp: 'last', caughtUp: [9] },
    { catchUp: 'all', caughtUp: [3, 4, 5, 6, 7, 8, 9] },
  ] as const)(
    'survive a restart, and catch up as their task says: $catchUp',
    async ({ catchUp, caughtUp }) => {
      const storage = projectStorage()
      await using clock = testClock()
      const options = { tasks: [reminder([], catchUp)], storage, clock, retention: KEPT }
      const before = await createTestEngine(options)
      await before.engine.schedules.create(HOURLY)
      await before.engine.schedules.create({ ...HOURLY, cron: '15 * * * *', deduplicationKey: 'of another' })
      const { id } = await before.engine.schedules.create({ ...HOURLY, deduplicationKey: 'off' })
      await before.engine.schedules.deactivate(id)
      await clock.advance('150m')
      await before.close()
      await clock.advance('7h')
      await using after = await createTestEngine(options)
      await clock.settle()
      const whole = (await hoursOf(after.engine)).filter(Number.isInteger)
      expect(whole).toEqual([1, 2, ...caughtUp])
      await clock.advance('30m')
      expect((await hoursOf(after.engine)).filter(Number.isInteger)).toEqual([...whole, 10])
    },
  )

  it('leave nothing behind when the engine is closed', async () => {
    await using clock = testClock()
    const t = await createTestEngine({ tasks: [reminder()], clock })
    await t.engine.schedules.create(HOURLY)
    await t.close()
    expect(clock.pending()).toEqual([])
  })

  it('try again when storage is away at the instant', async () => {
    const steered = steeredStorage(steadyStorage())
    await using t = await createTestEngine({ tasks: [reminder()], storage: steered.storage, retention: KEPT })
    await t.engine.schedules.create(HOURLY)
    const errors: unknown[] = []
    t.engine.on('error', ({ error }) => errors.push(error))
    const away = steered.fail('schedules.get', 3)
    await t.clock.advance('2h')
    expect(await hoursOf(t.engine)).toEqual([1, 2])
    expect(errors).toContain(away)
  })
})

describe('an outage of the storage', () => {
  it.each(['none', 'last', 'all'] as const)('%s: is no missed time', async (catchUp) => {
    const away = awayStorage(steadyStorage())
    const seen: ScheduledPayload[] = []
    const tasks = [reminder(seen, catchUp)]
    await using t = await createTestEngine({ tasks, storage: away.storage, retention: KEPT })
    t.engine.on('error', () => undefined)
    await t.engine.schedules.create({ ...HOURLY, cron: '*/10 * * * *' })
    away.goAway()
    await t.clock.advance('35m')
    away.comeBack()
    await t.clock.advance('1m')
    const minutes = seen.map(({ timestamp }) => timestamp.getUTCMinutes())
    expect(minutes.sort((one, other) => one - other)).toEqual([10, 20, 30])
  })

  it('leaves a thousand instants of a schedule at most, and says so once', async () => {
    const away = awayStorage(memoryOfProject())
    await using t = await createTestEngine({ tasks: [reminder()], storage: away.storage, retention: KEPT })
    const errors: string[] = []
    t.engine.on('error', ({ error }) => errors.push((error as Error).message))
    await t.engine.schedules.create({ ...HOURLY, cron: '* * * * * *' })
    away.goAway()
    await t.clock.advance('1100s')
    away.comeBack()
    await t.clock.advance('1s')
    expect(await hoursOf(t.engine)).toHaveLength(1_000)
    expect(errors.filter((message) => message.includes('the last 1000 instants'))).toHaveLength(1)
  })

  it('is not longer for a schedule that is changed when it ends', async () => {
    const away = awayStorage(steadyStorage())
    await using t = await createTestEngine({ tasks: [reminder()], storage: away.storage, retention: KEPT })
    t.engine.on('error', () => undefined)
    const { id } = await t.engine.schedules.create(HOURLY)
    away.goAway()
    await t.clock.advance('61m')
    away.comeBack()
    await t.engine.schedules.update(id, { cron: '0 */2 * * *' })
    await t.clock.advance('3h')
    expect(await hoursOf(t.engine)).toEqual([1, 2, 4])
  })
})

describe('the last instant of a schedule', () => {
  it('is known whatever else was triggered since, so that nothing is caught up on twice', async () => {
    const storage = memoryOfProject()
    await using clock = testClock()
    const seen: ScheduledPayload[] = []
    const remind = reminder(seen, 'all')
    const before = await createTestEngine({ tasks: [remind], storage, clock, retention: KEPT })
    await before.engine.schedules.create(HOURLY)
    await clock.advance('3h')
    const byHand = { ...seen[0]!, externalId: 'by hand' }
    for (let left = 1_100; left > 0; left -= 1) await before.engine.trigger(remind, byHand)
    await clock.settle()
    await before.close()
    seen.length = 0
    await using after = await createTestEngine({ tasks: [remind], storage, clock, seed: 2, retention: KEPT })
    await after.engine.ready()
    await clock.advance('1h')
    expect(seen).toMatchObject([
      { timestamp: new Date('2000-01-01T04:00:00Z'), lastTimestamp: new Date('2000-01-01T03:00:00Z') },
    ])
  })

  it('is in the payload of a schedule that is active again', async () => {
    const seen: ScheduledPayload[] = []
    await using t = await createTestEngine({
      tasks: [reminder(seen)],
      storage: steadyStorage(),
      retention: KEPT,
    })
    const { id } = await t.engine.schedules.create(HOURLY)
    await t.clock.advance('1h')
    await t.engine.schedules.deactivate(id)
    await t.clock.advance('2h')
    await t.engine.schedules.activate(id)
    await t.clock.advance('1h')
    expect(seen[1]?.lastTimestamp).toEqual(seen[0]?.timestamp)
  })
})

describe('a schedule that cannot be created', () => {
  const plain = task({ id: 'plain', run: () => 1 })

  it.each([
    [{ cron: '61 * * * *' }, 'the minute "61" is not one'],
    [{ cron: '0 0 30 2 *' }, 'Cannot use cron "0 0 30 2 *": it has no instant'],
    [{ cron: undefined }, 'Cannot use cron'],
    [{ timezone: 'Mars/Base' }, 'it must be a time zone'],
    [{ externalId: 5 }, 'Cannot use externalId 5'],
    [{ deduplicationKey: '' }, 'Cannot use deduplicationKey'],
    [{ deduplicationKey: undefined }, 'Cannot use deduplicationKey'],
    [{ task: 'unknown' }, 'the engine does not know it'],
    [{ task: 'plain' }, 'give the task the option schedule'],
    [{ timeZone: 'UTC' }, 'there is no option "timeZone"'],
  ])('is refused: %j', async (options, problem) => {
    await using t = await createTestEngine({ tasks: [reminder(), plain] })
    await expect(t.engine.schedules.create({ ...HOURLY, ...options } as never)).rejects.toThrow(problem)
    const { id } = await t.engine.schedules.create(HOURLY)
    if (!('deduplicationKey' in options || 'cron' in options))
      await expect(t.engine.schedules.update(id, options as never)).rejects.toThrow(problem)
    expect(await t.engine.schedules.list()).toHaveLength(1)
  })

  it('is refused where a task declares it, where there is none, and by a storage that keeps none', async () => {
    const declaring = task({ id: 'declaring', schedule: { cron: '0 * * * *' }, run: () => 1 })
    await using t = await createTestEngine({ tasks: [declaring] })
    const all = t.engine.schedules
    const refused = (promise: Promise<unknown>, code: string) =>
      expect(promise).rejects.toMatchObject({ code })
    for (const id of ['declaring', 'sched_declaring']) {
      await refused(all.update(id, { externalId: 'x' }), 'ERR_CANNOT_SCHEDULE')
      await refused(all.del(id), 'ERR_CANNOT_SCHEDULE')
      await refused(all.deactivate(id), 'ERR_CANNOT_SCHEDULE')
    }
    await refused(all.activate('sched_x'), 'ERR_SCHEDULE_NOT_FOUND')
    await refused(all.retrieve('sched_x'), 'ERR_SCHEDULE_NOT_FOUND')
    await expect(all.del('')).rejects.toThrow('the id of the schedule')

    const { schedules: _, ...storage } = steadyStorage()
    await using engine = createEngine({ tasks: [reminder()], storage })
    await refused(engine.schedules.create(HOURLY), 'ERR_CANNOT_SCHEDULE')
    await refused(engine.schedules.retrieve('sched_x'), 'ERR_SCHEDULE_NOT_FOUND')
    expect(await engine.schedules.list()).toEqual([])
  })
})
