import { describe, expect, it } from 'vitest'
import { type RunStatus, task, wait } from 'waitpoint'
import { createTestEngine, type TestEngine } from 'waitpoint/testing'
import { KEY, type Visited, Visitor } from './visitor.ts'

const sleeping = task({ id: 'sleeping', run: async (_: null) => wait.for({ hours: 1 }) })
const quick = task({ id: 'quick', run: async (_: null) => 'done' })

function opened(): Promise<TestEngine> {
  return createTestEngine({ tasks: [sleeping, quick], secretKey: KEY, clock: { mode: 'manual' } })
}

/** Runs that wait, with a tag. */
async function waiting(t: TestEngine, count: number, tag = 'import'): Promise<readonly string[]> {
  const ids: string[] = []
  for (let n = 0; n < count; n += 1) ids.push((await t.engine.trigger(sleeping, null, { tags: [tag] })).id)
  await t.clock.settle()
  return ids
}

/** Sends the form of a page that asks whether it is meant. */
function confirm(
  visitor: Visitor,
  { text }: Visited,
  typed: Readonly<Record<string, string>> = {},
): Promise<Visited> {
  const valueOf = (name: string): string => new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1] ?? ''
  const [, address = ''] = /<form method="post" action="([^"]*many[^"]*)"/.exec(text) ?? []
  return visitor.post(address.replaceAll('&amp;', '&'), {
    runs: valueOf('runs'),
    once: valueOf('once'),
    ...typed,
  })
}

const statusOf = async (t: TestEngine, id: string): Promise<RunStatus> =>
  (await t.engine.runs.retrieve(id)).status
const titleOf = ({ text }: Visited): string => /<h1>([^<]*)<\/h1>/.exec(text)?.[1] ?? ''
const linkOf = ({ text }: Visited, word: string): string =>
  (new RegExp(`<a\\s+href="(/many[^"]*)"\\s*>${word}…</a`).exec(text)?.[1] ?? '').replaceAll('&amp;', '&')

describe('many runs', () => {
  it('are all canceled that have a tag, by three clicks, and nothing before the last one', async () => {
    await using t = await opened()
    const ids = await waiting(t, 60)
    const [other = ''] = await waiting(t, 1, 'report')
    const visitor = await Visitor.loggedIn(t.engine)
    const list = await visitor.get('/runs?tag=import')
    const asked = await visitor.get(linkOf(list, 'cancel'))
    expect(titleOf(asked)).toBe('Cancel 60 runs?')
    expect(asked.text).toContain('The first 20 of them')
    expect((await t.engine.runs.counts({ tag: 'import' })).WAITING.count).toBe(60)
    // A run that the page has not shown is none of them.
    const [late = ''] = await waiting(t, 1)
    expect(titleOf(await confirm(visitor, asked))).toBe('60 runs were canceled')
    for (const id of ids) expect(await statusOf(t, id)).toBe('CANCELED')
    expect([await statusOf(t, other), await statusOf(t, late)]).toEqual(['WAITING', 'WAITING'])
  })

  it('are those that were selected, and what has ended stays as it is', async () => {
    await using t = await opened()
    const [first = '', second = ''] = await waiting(t, 2)
    const ended = await t.engine.trigger(quick, null)
    await t.clock.settle()
    const visitor = await Visitor.loggedIn(t.engine)
    const list = await visitor.get('/runs')
    for (const id of [first, second, ended.id]) expect(list.text).toContain(`name="run" value="${id}"`)
    const asked = await visitor.get(`/many?do=cancel&run=${first}&run=${ended.id}&run=run_none`)
    expect(titleOf(asked)).toBe('Cancel 1 run?')
    expect(asked.text).toContain('1 has ended, and stays as it is.')
    await confirm(visitor, asked)
    expect([await statusOf(t, first), await statusOf(t, second)]).toEqual(['CANCELED', 'WAITING'])
  })

  it('of which some have ended meanwhile, or are gone, are named with the reason', async () => {
    await using t = await opened()
    const [first = '', second = ''] = await waiting(t, 2)
    const visitor = await Visitor.loggedIn(t.engine)
    const asked = await visitor.get(`/many?do=cancel&run=${first}&run=${second}`)
    await t.clock.advance('2h')
    const done = await confirm(visitor, asked)
    expect(titleOf(done)).toBe('0 runs were canceled')
    expect(done.text).toContain('2 runs were not')
    expect(done.text).toContain('It had ended: COMPLETED')
    const gone = await visitor.post('/many?do=replay', { runs: `run_gone ${first} ${first}`, once: '1' })
    expect(titleOf(gone)).toBe('1 run was started again')
    expect(gone.text).toMatch(/run_gone[^]*run_gone/)
  })

  it('are replayed once, however often the form is sent, and again by another one', async () => {
    await using t = await opened()
    const runs = [await t.engine.trigger(quick, null), await t.engine.trigger(quick, null)]
    await t.clock.settle()
    const visitor = await Visitor.loggedIn(t.engine)
    const address = `/many?do=replay&${runs.map(({ id }) => `run=${id}`).join('&')}`
    const asked = await visitor.get(address)
    const total = async (): Promise<number> => {
      await t.clock.settle()
      return (await t.engine.runs.counts()).COMPLETED.count
    }
    await Promise.all([confirm(visitor, asked), confirm(visitor, asked)])
    expect(titleOf(await confirm(visitor, asked))).toBe('2 runs were started again')
    expect(await total()).toBe(4)
    await confirm(visitor, await visitor.get(address))
    expect(await total()).toBe(6)
    const { data } = await t.engine.runs.list()
    expect(data.map(({ idempotencyKey }) => idempotencyKey)).toEqual(Array(6).fill(undefined))
  })

  it('are tagged that have not ended, and found by the tag then', async () => {
    await using t = await opened()
    const [first = '', second = '', third = ''] = await waiting(t, 3)
    const ended = await t.engine.trigger(quick, null, { tags: ['import'] })
    await t.clock.settle()
    const visitor = await Visitor.loggedIn(t.engine)
    const asked = await visitor.get(linkOf(await visitor.get('/runs?tag=import'), 'tag'))
    expect(titleOf(asked)).toBe('Tag 3 runs?')
    expect(asked.text).toContain('1 has ended, and stays as it is.')
    for (const tag of ['', '  ', 'x'.repeat(129)]) {
      expect((await confirm(visitor, asked, { tag })).status).toBe(422)
      await visitor.get('/runs')
    }
    expect((await t.engine.runs.retrieve(first)).tags).toEqual(['import'])
    await t.engine.runs.cancel(second)
    const done = await confirm(visitor, asked, { tag: ' customer 7 ' })
    expect(titleOf(done)).toBe('2 runs were tagged')
    expect(done.text).toContain('it is already CANCELED')
    await confirm(visitor, asked, { tag: 'customer 7' })
    const { data } = await t.engine.runs.list({ tag: 'customer 7' })
    expect(data.map(({ id }) => id).sort()).toEqual([first, third].sort())
    expect(data.map(({ tags }) => tags)).toEqual(Array(2).fill(['import', 'customer 7']))
    expect((await t.engine.runs.retrieve(ended)).tags).toEqual(['import'])
  })

  it.each<[string, string, number]>([
    ['what cannot be done', '/many?do=delete', 400],
    ['nothing to do', '/many', 400],
    ['more runs than an address has', `/many?do=cancel${'&run=run_1'.repeat(51)}`, 400],
    ['a status that there is not', '/many?do=cancel&status=SLEEPING', 400],
  ])('are refused with %s', async (_, address, status) => {
    await using t = await opened()
    const visitor = await Visitor.loggedIn(t.engine)
    expect((await visitor.get(address)).status).toBe(status)
  })

  it('are only for those who may, from a page of their own session', async () => {
    await using t = await opened()
    const [id = ''] = await waiting(t, 1)
    const address = `/many?do=cancel&run=${id}`
    const reader = await Visitor.loggedIn(t.engine, { readOnly: true })
    const { text } = await reader.get('/runs?tag=import')
    expect(text).not.toMatch(/type="checkbox"|\/many\?|<button name="do"/)
    expect((await reader.get(address)).status).toBe(403)
    expect((await reader.post(address, { runs: id })).status).toBe(403)
    const authorize = (_: Request, action: string): boolean => action === 'read' || action === 'replay'
    const replayer = new Visitor(t.engine, { authorize })
    const list = await replayer.get('/runs?tag=import')
    expect([linkOf(list, 'cancel'), linkOf(list, 'replay')]).toEqual(['', '/many?tag=import&do=replay'])
    expect((await replayer.post(address, { runs: id })).status).toBe(403)
    const visitor = await Visitor.loggedIn(t.engine)
    await visitor.get(address)
    expect((await visitor.post(address, { runs: id, _token: '' })).status).toBe(403)
    await visitor.get(address)
    const many = Array.from({ length: 1_001 }, (_, at) => `run_${at}`).join(' ')
    for (const fields of [{ runs: many, once: '1' }, { runs: id }, { runs: id, once: 'x'.repeat(65) }]) {
      expect((await visitor.post(address, fields)).status).toBe(400)
      await visitor.get(address)
    }
    expect(await statusOf(t, id)).toBe('WAITING')
  })

  it('are a thousand at most, and the page says that there may be more', async () => {
    await using t = await opened()
    for (let n = 0; n < 1_010; n += 1) await t.engine.trigger(quick, null, { delay: '1h' })
    const visitor = await Visitor.loggedIn(t.engine)
    for (const [title, isMore] of [
      ['Cancel 1,000 runs?', true],
      ['Cancel 10 runs?', false],
    ] as const) {
      const asked = await visitor.get('/many?do=cancel&status=DELAYED')
      expect([titleOf(asked), asked.text.includes('More may fit')]).toEqual([title, isMore])
      await confirm(visitor, asked)
    }
    expect((await t.engine.runs.counts()).CANCELED.count).toBe(1_010)
  })
})
