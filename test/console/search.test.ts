import { describe, expect, it } from 'vitest'
import { task } from 'waitpoint'
import { createTestEngine, type TestEngine } from 'waitpoint/testing'
import { KEY, Visitor } from './visitor.ts'

const order = task({
  id: 'order',
  title: ({ title = '' }: { title?: string }) => title,
  run: async (
    { boom }: { title?: string; boom?: string; customer?: unknown; tags?: string[] },
    { metadata },
  ) => {
    metadata.set('step', 'sent out')
    if (boom !== undefined) throw new Error(boom)
    return { receipt: 'Nr. 7' }
  },
  retry: { maxAttempts: 1 },
})

const opened = (): Promise<TestEngine> =>
  createTestEngine({ tasks: [order], secretKey: KEY, retention: { maxAge: '30d' } })

/** The ids of the runs that a page lists. */
const listed = (page: string): readonly string[] =>
  [...page.matchAll(/id="row-(run_\w+)"/g)].map(([, id = '']) => id)

const addressOf = async (visitor: Visitor, list: string, typed: string): Promise<string | null> => {
  const answer = await visitor.get(`/${list}?${new URLSearchParams({ q: typed }).toString()}`)
  return answer.headers.get('location')
}

describe('a search of runs', () => {
  it.each([
    ['status:failed', { status: 'failed' }],
    ['status:failed tag:invoice  task:import', { status: 'failed', tag: 'invoice', task: 'import' }],
    ['since:2h queue:"task/my own"', { since: '2h', queue: 'task/my own' }],
    ['payload.customer.id:42', { 'payload.customer.id': '42' }],
    ['metadata.step:"sent \\"out\\""', { 'metadata.step': 'sent "out"' }],
    ['"connection refused"', { text: 'connection refused' }],
    ['connection refused', { text: 'connection refused' }],
    ['run_7', { id: 'run_7' }],
    ['"run_7"', { text: 'run_7' }],
    [
      'http://example.com/a payload.:1 status: Error:x',
      { text: 'http://example.com/a payload.:1 status: Error:x' },
    ],
    ['"not closed', { text: 'not closed' }],
    ['   ', {}],
    ['__proto__:a constructor:b', { text: '__proto__:a constructor:b' }],
  ])('takes %j for filters', async (typed, filters) => {
    await using t = await opened()
    const visitor = await Visitor.loggedIn(t.engine)
    const address = new URL((await addressOf(visitor, 'runs', typed)) ?? '', 'http://app.example')
    expect([address.pathname, Object.fromEntries(address.searchParams)]).toEqual(['/runs', filters])
  })

  it('adds to the filters of its list, and begins at its newest', async () => {
    await using t = await opened()
    const visitor = await Visitor.loggedIn(t.engine, { basePath: '/console' })
    const answer = await visitor.get('/console/runs?tag=a&status=FAILED&after=run_x&q=status:completed')
    expect(answer.headers.get('location')).toBe('/console/runs?tag=a&status=completed')
  })

  it('finds what was searched for, and shows it as chips that take themselves away', async () => {
    await using t = await opened()
    const visitor = await Visitor.loggedIn(t.engine)
    const payloads = [
      { title: 'A first ÉCLAIR', customer: { id: 42 } },
      { boom: 'Gateway said "no"\nand more', customer: { id: '42' }, tags: ['x', 'y'] },
      { customer: { id: 420 }, tags: ['xy'] },
    ]
    const runs: string[] = []
    for (const payload of payloads) runs.push((await t.engine.trigger(order, payload, { tags: 'shop' })).id)
    await t.clock.settle()
    const found = async (typed: string): Promise<readonly number[]> => {
      const address = (await addressOf(visitor, 'runs', typed)) ?? ''
      return listed((await visitor.get(address)).text).map((id) => runs.indexOf(id))
    }
    expect(await found('status:failed')).toEqual([1])
    expect(await found('éclair')).toEqual([0])
    expect(await found('"said \\"no\\""')).toEqual([1])
    expect(await found('receipt')).toEqual([2, 0])
    expect(await found('payload.customer.id:42')).toEqual([1, 0])
    expect(await found('payload.tags:x')).toEqual([1])
    expect(await found('payload.tags.0:xy')).toEqual([2])
    expect(await found('payload.customer.id.toString:42 payload.constructor:Object')).toEqual([])
    expect(await found('metadata.step:"sent out" tag:shop status:completed')).toEqual([2, 0])
    expect(await found('metadata.step:"sent out" payload.tags:y')).toEqual([1])
    expect(await found('nothing of this')).toEqual([])

    const { text } = await visitor.get('/runs?payload.customer.id=42&tag=shop')
    expect(text).toContain('Looked through 3 runs.')
    const chips = [...text.matchAll(/class="chip"\s+href="([^"]*)"\s+aria-label="([^"]*)"/g)]
    expect(chips.map(([, href, label]) => [href, label])).toEqual([
      ['/runs?tag=shop', 'Remove payload.customer.id 42'],
      ['/runs?payload.customer.id=42', 'Remove tag shop'],
    ])
    expect(text).toContain('<input type="hidden" name="payload.customer.id" value="42" />')
    expect((await visitor.get('/runs?text=none')).text).toContain('No run fits these filters.')
  })

  it('is what many runs are canceled or replayed by', async () => {
    await using t = await opened()
    const visitor = await Visitor.loggedIn(t.engine)
    await t.engine.trigger(order, { customer: 'ann' })
    await t.engine.trigger(order, { customer: 'bob' })
    await t.clock.settle()
    expect((await visitor.get('/many?payload.customer=bob&do=replay')).text).toContain('Replay 1 run?')
  })

  it('refuses what it cannot read', async () => {
    await using t = await opened()
    const visitor = await Visitor.loggedIn(t.engine)
    expect((await visitor.get(`/runs?q=${'"'.repeat(1_001)}`)).status).toBe(400)
    expect((await visitor.get('/runs?status=nonsense')).status).toBe(400)
  })
})

describe('a search of tokens', () => {
  it('takes what has no key for a tag, or an id', async () => {
    await using t = await opened()
    const visitor = await Visitor.loggedIn(t.engine)
    expect(await addressOf(visitor, 'tokens', 'status:all legal')).toBe('/tokens?status=all&tag=legal')
    expect(await addressOf(visitor, 'tokens', 'waitpoint_7 payload.a:1')).toBe(
      '/tokens?id=waitpoint_7&tag=payload.a%3A1',
    )
    await t.engine.wait.createToken({ tags: 'legal', timeout: '1h' })
    const { text } = await visitor.get('/tokens?status=all&tag=legal')
    expect(text).toContain('aria-label="Remove tag legal"')
    expect(text.match(/id="row-/g)).toHaveLength(1)
  })
})
