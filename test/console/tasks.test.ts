import { describe, expect, it } from 'vitest'
import { task } from 'waitpoint'
import { createTestEngine } from 'waitpoint/testing'
import { KEY, Visitor } from './visitor.ts'

const double = task({
  id: 'math/double <b>',
  description: 'Twice as <much>.',
  queue: { name: 'math' },
  retry: { maxAttempts: 1 },
  run: async (n: number) => {
    if (n < 0) throw new RangeError('below 0')
    return n * 2
  },
})
const strict = task({
  id: 'strict',
  schema: {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value: unknown) =>
        typeof value === 'string' ? { value } : { issues: [{ message: 'must be a <text>' }] },
    },
  },
  run: async () => undefined,
})
const nightly = task({ id: 'nightly', schedule: { cron: '0 3 * * *' }, run: async () => undefined })
const PLACE = `/tasks?${new URLSearchParams({ task: double.id }).toString()}`

function opened() {
  return createTestEngine({ tasks: [strict, nightly, double], secretKey: KEY, clock: { mode: 'manual' } })
}

/** The texts of the cells of each row, by the id of its task. */
function rowsOf(page: string): ReadonlyMap<string, string> {
  const rows = page.split('<tr id="row-').slice(1)
  return new Map(
    rows.map((row) => [
      row.slice(0, row.indexOf('"')),
      row.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' '),
    ]),
  )
}

describe('the page of tasks', () => {
  it('shows what each is, its schedule, its queue and its newest run', async () => {
    await using t = await opened()
    const { id } = await t.engine.trigger(double, 21)
    await t.clock.settle()
    const { text } = await (await Visitor.loggedIn(t.engine)).get('/tasks')
    const rows = rowsOf(text)
    expect([...rows.keys()]).toEqual(['math/double &lt;b&gt;', 'nightly', 'strict'])
    expect(rows.get('math/double &lt;b&gt;')).toMatch(
      /Twice as &lt;much&gt;\. p50 0 ms – math COMPLETED now Run…/,
    )
    expect(rows.get('nightly')).toMatch(/– 0 3 \* \* \* UTC task\/nightly – Run…/)
    expect(text).toContain(`href="/runs/${id}"`)
  })

  it('shows how the newest runs of each ended, and how long they took', async () => {
    await using t = await opened()
    for (let count = 0; count < 25; count += 1) {
      const run = await t.engine.trigger(double, count % 10 === 0 ? -1 : 1)
      expect((await run.outcome()).ok).toBe(count % 10 !== 0)
    }
    const { id } = await t.engine.trigger(double, 1, { delay: '1h' })
    await t.engine.runs.cancel(id)
    await t.engine.trigger(double, 1, { delay: '1h' })
    const { text } = await (await Visitor.loggedIn(t.engine)).get('/tasks')
    expect(text).toContain('aria-label="The last 20 runs: 2 failed"')
    const bars = [...text.matchAll(/<rect\s+class="(ok|no|off|busy)"\s+x="(\d+)"/g)].map(
      ([, kind, x]) => `${kind} ${x}`,
    )
    expect(bars.slice(0, 3)).toEqual(['ok 0', 'ok 6', 'ok 12'])
    expect(bars.filter((bar) => bar.startsWith('no'))).toEqual(['no 18', 'no 78'])
    expect(bars.slice(-3)).toEqual(['ok 102', 'off 108', 'busy 114'])
  })

  it('starts a run with what was typed, and begins with the payload of the newest one', async () => {
    await using t = await opened()
    const visitor = await Visitor.loggedIn(t.engine)
    await visitor.get('/tasks')
    const { status, headers } = await visitor.post(PLACE, { payload: ' 21 ' })
    const place = headers.get('location') ?? ''
    expect([status, place]).toEqual([303, expect.stringMatching(/^\/runs\/run_/)])
    await t.clock.settle()
    expect((await t.engine.runs.retrieve(place.slice('/runs/'.length))).output).toBe(42)
    expect((await visitor.get('/tasks')).text).toContain('>\n21</textarea>')
    await visitor.post('/tasks?task=nightly', { payload: '' })
    await t.clock.settle()
    const { data } = await t.engine.runs.list({ taskIdentifier: 'nightly' })
    expect(data.map((run) => run.status)).toEqual(['COMPLETED'])
  })

  it('says why it starts no run, and keeps what was typed', async () => {
    await using t = await opened()
    const visitor = await Visitor.loggedIn(t.engine)
    await visitor.get('/tasks')
    for (const [payload, why] of [
      ['4 <', 'this is no JSON'],
      ['1e400', '$ cannot be stored'],
      ['4', 'payload: must be a &lt;text&gt;'],
      ['', 'payload: must be a &lt;text&gt;'],
    ] as const) {
      const { status, text } = await visitor.post('/tasks?task=strict', { payload })
      const told = text.split('No run was started: ').slice(1)
      expect([payload, status, told.length, told[0]?.includes(why)]).toEqual([payload, 422, 1, true])
      expect(text).toContain(`>\n${payload.replace('<', '&lt;')}</textarea>`)
    }
    for (const unknown of ['?task=none', '?task=', '']) {
      await visitor.get('/tasks')
      expect((await visitor.post(`/tasks${unknown}`, { payload: '1' })).status).toBe(422)
    }
    expect((await t.engine.runs.list()).data).toEqual([])
  })

  it('starts no run for another session or site, or where nothing may be changed', async () => {
    await using t = await opened()
    const [visitor, other] = [await Visitor.loggedIn(t.engine), await Visitor.loggedIn(t.engine)]
    await visitor.get('/tasks')
    await other.get('/tasks')
    for (const _token of ['', 'x', other.formToken])
      expect((await visitor.post(PLACE, { _token, payload: '1' })).status).toBe(403)
    const foreign = { 'sec-fetch-site': 'cross-site' }
    expect((await visitor.post(PLACE, { payload: '1' }, foreign)).status).toBe(403)
    const reader = await Visitor.loggedIn(t.engine, { readOnly: true })
    const guest = new Visitor(t.engine, { authorize: (_request, action) => action === 'read' })
    for (const one of [reader, guest]) {
      expect((await one.get('/tasks')).text).not.toMatch(/Run…|<textarea/)
      expect((await one.post(PLACE, { payload: '1' })).status).toBe(403)
    }
    expect((await t.engine.runs.list()).data).toEqual([])
  })

  it('is bounded: a long payload is not filled in, and not all of many tasks are shown', async () => {
    const many = Array.from({ length: 101 }, (_, at) => task({ id: `t${at}`, run: async () => at }))
    await using t = await createTestEngine({ tasks: [double, ...many], secretKey: KEY })
    await t.engine.trigger(double, 'x'.repeat(2_000) as never, { delay: '1h' })
    const { text } = await (await Visitor.loggedIn(t.engine)).get('/tasks')
    expect(rowsOf(text).size).toBe(100)
    expect(text).toContain('2 more tasks are not shown.')
    expect(text).not.toContain('xxx')
  })

  it('says so when the engine has no tasks', async () => {
    await using t = await createTestEngine({ tasks: [], secretKey: KEY })
    expect((await (await Visitor.loggedIn(t.engine)).get('/tasks')).text).toContain(
      'This engine has no tasks.',
    )
  })
})
