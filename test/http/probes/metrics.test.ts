import { describe, expect, it } from 'vitest'
import { task, wait } from 'waitpoint'
import { createHandler, type Handler } from 'waitpoint/http'
import { ask, stillEngine } from '../requests.ts'

/** The samples by their names, with labels. Throws for a line that format 0.0.4 does not have. */
async function samples(handler: Handler): Promise<Readonly<Record<string, number>>> {
  const { status, body, headers } = await ask(handler, 'GET /metrics')
  expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
  const lines = String(body).split('\n')
  expect(lines.at(-1)).toBe('')
  const found: Record<string, number> = {}
  const typed = new Set<string>()
  for (const line of lines.slice(0, -1)) {
    const comment = /^# (?:HELP|TYPE) (waitpoint_[a-z_]+) \S/.exec(line)
    if (comment !== null) {
      typed.add(comment[1] ?? '')
      continue
    }
    const [, name = '', labels = '', value] =
      /^([a-z_]+)(\{[a-z]+="[A-Z_]+"\})? (\d+)$/.exec(line) ?? expect.fail(line)
    expect(typed).toContain(name)
    found[name + labels] = Number(value)
  }
  return found
}

describe('GET /metrics', () => {
  it('counts ended runs by their status, and what executes and waits', async () => {
    const approve = task({
      id: 'approve',
      run: async (_payload: null) => wait.forToken(await wait.createToken()).unwrap(),
    })
    const fail = task({
      id: 'fail',
      retry: { maxAttempts: 1 },
      run: async () => {
        throw new Error('no')
      },
    })
    await using t = await stillEngine({ tasks: [approve, fail], concurrency: 7 })
    const handler = createHandler(t.engine)
    expect(await samples(handler)).toMatchObject({
      'waitpoint_runs_ended_total{status="COMPLETED"}': 0,
      waitpoint_slots: 7,
      waitpoint_lease_renewals_total: expect.any(Number) as number,
    })

    const waiting = await t.engine.trigger(approve, null)
    const canceled = await t.engine.trigger(approve, null)
    const failed = await t.engine.trigger(fail, undefined)
    await t.clock.settle()
    await failed.outcome()
    await t.engine.runs.cancel(canceled.id)
    expect(await samples(handler)).toEqual({
      'waitpoint_runs_ended_total{status="COMPLETED"}': 0,
      'waitpoint_runs_ended_total{status="FAILED"}': 1,
      'waitpoint_runs_ended_total{status="CANCELED"}': 1,
      'waitpoint_runs_ended_total{status="TIMED_OUT"}': 0,
      'waitpoint_runs_ended_total{status="EXPIRED"}': 0,
      'waitpoint_runs_ended_total{status="CRASHED"}': 0,
      waitpoint_attempts: 1,
      waitpoint_slots_used: 0,
      waitpoint_slots: 7,
      waitpoint_attempts_waiting: 1,
      waitpoint_waits_open: 1,
      waitpoint_lease_renewals_total: expect.any(Number) as number,
      waitpoint_storage_away: 0,
      waitpoint_http_subscriptions_open: 0,
    })

    const { data } = await t.engine.wait.listTokens({ status: 'WAITING' })
    for (const token of data) await t.engine.wait.completeToken(token, 'yes')
    await waiting.result()
    expect(await samples(handler)).toMatchObject({
      'waitpoint_runs_ended_total{status="COMPLETED"}': 1,
      waitpoint_attempts: 0,
      waitpoint_attempts_waiting: 0,
      waitpoint_waits_open: 0,
    })
  })

  it('counts renewals of the lease', async () => {
    const sleepy = task({ id: 'sleepy', run: () => wait.for({ minutes: 2 }) })
    await using t = await stillEngine({ tasks: [sleepy] })
    const handler = createHandler(t.engine)
    await t.engine.trigger(sleepy, undefined)
    const before = await samples(handler)
    await t.clock.advance('2m')
    const after = await samples(handler)
    expect(after['waitpoint_lease_renewals_total']).toBeGreaterThan(
      before['waitpoint_lease_renewals_total'] ?? 0,
    )
  })
})
