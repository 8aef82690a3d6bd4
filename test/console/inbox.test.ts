import { describe, expect, it } from 'vitest'
import { type Engine, type QuestionOptions, task } from 'waitpoint'
import type { ConsoleOptions } from 'waitpoint/console'
import { createTestEngine, type TestEngine } from 'waitpoint/testing'
import { KEY, Visitor } from './visitor.ts'

const FORM = {
  type: 'object',
  required: ['note'],
  properties: { note: { type: 'string', maxLength: 5 } },
} as const
const publish = task({
  id: 'publish',
  run: async (_payload: undefined, { wait }) =>
    wait
      .forToken(await wait.createToken({ message: 'Publish it?', choices: ['yes', 'no'], timeout: '2h' }))
      .unwrap(),
})

const opened = (): Promise<TestEngine> => createTestEngine({ tasks: [publish], secretKey: KEY })

const asks = async (
  engine: Engine,
  message: string,
  more: QuestionOptions & { readonly timeout?: string } = {},
): Promise<string> => (await engine.wait.createToken({ message, ...more } as QuestionOptions)).id

/** What the rows ask, in their order. */
const askedIn = (text: string): readonly string[] =>
  Array.from(
    text.matchAll(/<li class="ask".*?<h2 dir="auto">\s*<a[^>]*>(.*?)<\/a/gs),
    ([, name = '']) => name,
  )

/** One row. */
const rowIn = (text: string, id: string): string =>
  text.split(`id="ask-${id}"`)[1]?.split('<li class="ask"')[0]?.split('</ol>')[0] ?? ''

describe('the inbox', () => {
  it('shows what waits, most urgent first, and tells how many in the title', async () => {
    await using t = await opened()
    await asks(t.engine, 'In a day?', { timeout: '1d' })
    await t.engine.trigger(publish)
    await t.clock.settle()
    await t.clock.advance('1s')
    await asks(t.engine, 'In a day, and younger?', { timeout: '86399s' })
    await asks(t.engine, 'Now?', { timeout: '5m' })
    const plain = await t.engine.wait.createToken({ timeout: '3h', tags: ['legal'] })
    const visitor = await Visitor.loggedIn(t.engine)
    const { text } = await visitor.get('/inbox')
    expect(askedIn(text)).toEqual(['Now?', 'Publish it?', 'legal', 'In a day?', 'In a day, and younger?'])
    expect(text).toContain('<title>(5) Inbox · waitpoint</title>')
    expect(rowIn(text, plain.id)).toContain('a token without a question')
    expect(text).toMatch(/>publish<\/a/)
    await t.clock.advance('5m')
    expect((await visitor.get('/inbox')).text).toContain('<title>(4) Inbox · waitpoint</title>')
  })

  it('shows the data in short, who may answer, and what no answer means', async () => {
    await using t = await opened()
    const items = Array.from({ length: 9 }, (_, at) => [`part${at}`, 'x'.repeat(1_000)] as const)
    const id = await asks(t.engine, 'Refund?\nIn full.', {
      data: { orderId: 48_213, isNew: true, tags: ['a', 'b'], list: [{}], ...Object.fromEntries(items) },
      approvers: ['ann', 'lead', 'c', 'd', 'e'],
      onTimeoutText: 'It is rejected.',
    })
    const row = rowIn((await (await Visitor.loggedIn(t.engine)).get('/inbox')).text, id)
    for (const part of [
      /<dt>Order id<\/dt>\s*<dd>48213<\/dd>/,
      /<dt>Is new<\/dt>\s*<dd>Yes<\/dd>/,
      /<dd>a, b<\/dd>/,
      /<dd>1 entries<\/dd>/,
      /and 7 more/,
      /ann, lead, c, d and 1 more may answer · without an answer: It is rejected\./,
    ])
      expect(row).toMatch(part)
    expect(row).not.toContain('In full.')
    expect(row.length).toBeLessThan(4_000)
  })

  it.each([
    ['of choices has buttons', { choices: ['yes', 'no'] }, /<button name="answer" value="1"/],
    ['of a boolean has buttons', { schema: { type: 'boolean' } }, /<button name="answer" value="1"/],
    ['of a schema has its form', { schema: FORM }, /<details.*name="answer\.0"/s],
    [
      'of a long schema is answered on its page',
      { schema: { ...FORM, description: 'd'.repeat(5_000) } },
      /href="\/tokens\/\w+#answer"/,
    ],
    ['without a schema is answered in JSON', {}, /href="\/tokens\/\w+#answer"/],
  ] as const)('a question %s', async (_what, question, expected) => {
    await using t = await opened()
    const id = await asks(t.engine, 'So?', question)
    const row = rowIn((await (await Visitor.loggedIn(t.engine)).get('/inbox')).text, id)
    expect(row).toMatch(expected)
    expect(row.includes('<form')).toBe(!row.includes('#answer"'))
    expect(row).not.toContain('<textarea class="json"')
  })

  it('takes an answer in the row, goes on there, and shows who has answered', async () => {
    await using t = await opened()
    const id = await asks(t.engine, 'So?', { choices: ['Good', 'Bad'] })
    const visitor = await Visitor.loggedIn(t.engine, { user: () => ({ id: 'ann', name: 'Ann' }) })
    await visitor.get('/inbox')
    const answer = await visitor.post(`/inbox/${id}/answer?who=all`, { form: '1', answer: '1' })
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/inbox?who=all'])
    const { output, answeredBy } = await t.engine.wait.retrieveToken(id)
    expect([output, answeredBy]).toEqual(['Bad', { id: 'ann', name: 'Ann', via: 'console' }])
    const { text } = await visitor.get('/inbox?who=all')
    expect(askedIn(text)).toEqual([])
    expect(text).toContain(`data-of="ask-${id}"`)
    expect(text).toMatch(/<b dir="auto">Bad<\/b>\s*<span class="soft">Ann, via console/)
    expect((await visitor.get(`/inbox/${id}/answer`)).headers.get('location')).toBe(`/tokens/${id}`)
    const late = await visitor.post(`/inbox/${id}/answer`, { form: '1', answer: '0' })
    expect([late.status, late.text]).toEqual([409, expect.stringContaining('came too late')])
  })

  it('has a form on the page of its token for an approver, and lets no other reassign it', async () => {
    await using t = await opened()
    const id = await asks(t.engine, 'So?', { schema: FORM, approvers: ['ann'] })
    let asked = 0
    const user = (): { id: string } => (asked++, { id: 'ann' })
    const ann = await Visitor.loggedIn(t.engine, { user })
    expect((await ann.get(`/tokens/${id}`)).text).toContain('name="answer.0"')
    const bob = await Visitor.loggedIn(t.engine, { user: () => ({ id: 'bob' }) })
    expect((await bob.get(`/tokens/${id}`)).text).not.toContain('name="answer.0"')
    expect((await bob.post(`/tokens/${id}/reassign`, { approvers: 'bob' })).status).toBe(403)
    asked = 0
    expect((await ann.post(`/tokens/${id}/withdraw`, { reason: 'no' })).status).toBe(303)
    expect(asked).toBe(1)
    const { withdrawn } = await t.engine.wait.retrieveToken(id)
    expect(withdrawn).toMatchObject({ id: 'ann', via: 'console', reason: 'no' })
  })

  it.each<[string, unknown]>([
    ['roles that are no list', { id: 'ann', roles: 5 }],
    ['a role that is no text', { id: 'ann', roles: [5] }],
    ['a name that is no text', { id: 'ann', name: {} }],
    ['no id', { name: 'Ann' }],
    ['a text', 'ann'],
  ])('says on the page, and once to its developer, that user answers %s', async (_what, person) => {
    await using t = await opened()
    const errors: unknown[] = []
    t.engine.on('error', ({ error }) => errors.push(error))
    const id = await asks(t.engine, 'So?', { approvers: ['ann'] })
    const visitor = await Visitor.loggedIn(t.engine, { user: () => person as { id: string } })
    for (const path of ['/inbox', `/tokens/${id}`, '/inbox']) {
      const { status, text } = await visitor.get(path)
      expect([status, text]).toEqual([500, expect.stringContaining('The console cannot tell who you are.')])
    }
    expect(errors.map(String)).toEqual([
      expect.stringMatching(/^TypeError: Cannot .*what user of the console answers/),
    ])
  })

  it('shows an answer that does not fit with what is wrong', async () => {
    await using t = await opened()
    const id = await asks(t.engine, 'So?', { schema: FORM })
    const visitor = await Visitor.loggedIn(t.engine)
    await visitor.get('/inbox')
    const wrong = await visitor.post(`/inbox/${id}/answer`, { form: '1', 'answer.0': 'too long' })
    expect([wrong.status, wrong.text]).toEqual([422, expect.stringContaining('value="too long"')])
    const any = await asks(t.engine, 'What?', { data: 1 })
    const deep = await visitor.post(`/inbox/${any}/answer`, {
      form: '1',
      answer: '['.repeat(3_000) + ']'.repeat(3_000),
    })
    expect([deep.status, deep.text]).toEqual([422, expect.stringContaining('the answer does not fit')])
    expect((await t.engine.wait.retrieveToken(id)).status).toBe('WAITING')
  })

  it.each<readonly [string, ConsoleOptions['user'], readonly string[], readonly string[]]>([
    ['nothing of approvers, as the user is not known', undefined, ['anyone'], []],
    ['what they may answer by their id', async () => ({ id: 'ann' }), ['ann', 'anyone'], ['ann']],
    ['what they may answer by a role', () => ({ id: 'x', roles: ['lead'] }), ['lead', 'anyone'], ['lead']],
  ])('shows for a user %s', async (_what, user, mine, answered) => {
    await using t = await opened()
    const ids = {
      ann: await asks(t.engine, 'ann', { approvers: ['ann'], choices: ['a', 'b'], timeout: '1h' }),
      lead: await asks(t.engine, 'lead', { approvers: ['lead'], choices: ['a', 'b'], timeout: '2h' }),
      anyone: await asks(t.engine, 'anyone', { choices: ['a', 'b'], timeout: '3h' }),
    }
    const visitor = await Visitor.loggedIn(t.engine, user === undefined ? {} : { user })
    expect(askedIn((await visitor.get('/inbox?who=me')).text)).toEqual(mine)
    expect(askedIn((await visitor.get('/inbox')).text).length).toBe(user === undefined ? 3 : 2)
    const { text } = await visitor.get('/inbox?who=all')
    for (const [name, id] of Object.entries(ids)) {
      expect([name, rowIn(text, id).includes('<form')]).toEqual([name, mine.includes(name)])
      if (name === 'anyone') continue
      await visitor.get('/inbox')
      const { status } = await visitor.post(`/inbox/${id}/answer`, { form: '1', answer: '0' })
      expect([name, status]).toEqual([name, answered.includes(name) ? 303 : 403])
    }
    expect((await visitor.get('/inbox?who=others')).status).toBe(400)
  })

  it('says how far it has looked, and looks further', async () => {
    await using t = await opened()
    const oldest = await asks(t.engine, 'The oldest?', { timeout: '1h' })
    for (let count = 0; count < 500; count += 1) await t.engine.wait.createToken({ timeout: '2h' })
    const visitor = await Visitor.loggedIn(t.engine)
    const { text } = await visitor.get('/inbox')
    expect(text).toContain('<title>(500+) Inbox')
    expect(text).toMatch(/These are of the 500 newest tokens that wait/)
    expect(text).toContain('450 less urgent ones are not shown')
    const next = /href="(\/inbox\?[^"]*after=[^"]*)"/.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? ''
    const rest = (await visitor.get(next)).text
    expect(askedIn(rest)).toEqual(['The oldest?'])
    expect(rest).toContain(`id="ask-${oldest}"`)
    expect(rest).not.toContain('Older ones may be more urgent')
  })

  it('reads no more of long questions than is bounded', async () => {
    await using t = await opened()
    for (let count = 0; count < 12; count += 1) await asks(t.engine, 'So?', { data: 'x'.repeat(200_000) })
    const { text } = await (await Visitor.loggedIn(t.engine)).get('/inbox')
    expect(text).toMatch(/These are of the 10 newest tokens/)
    expect(text.length).toBeLessThan(40_000)
  })

  it('changes nothing for a visitor that may only look, and without the token of the form', async () => {
    await using t = await opened()
    const id = await asks(t.engine, 'So?', { choices: ['a', 'b'] })
    const looking: readonly ConsoleOptions[] = [
      { readOnly: true },
      { authorize: (_request, action) => action === 'read' },
    ]
    for (const options of looking) {
      const visitor = await Visitor.loggedIn(t.engine, options)
      const { text } = await visitor.get('/inbox')
      expect(askedIn(text)).toEqual(['So?'])
      expect(rowIn(text, id)).not.toContain('<form')
      expect((await visitor.post(`/inbox/${id}/answer`, { form: '1', answer: '0' })).status).toBe(403)
    }
    const visitor = await Visitor.loggedIn(t.engine)
    await visitor.get('/inbox')
    const forged = await visitor.post(`/inbox/${id}/answer`, { _token: '', form: '1', answer: '0' })
    expect(forged.status).toBe(403)
    expect((await t.engine.wait.retrieveToken(id)).status).toBe('WAITING')
  })

  it('says that nothing waits, and what others are asked', async () => {
    await using t = await opened()
    const visitor = await Visitor.loggedIn(t.engine)
    const { text } = await visitor.get('/inbox')
    expect(text).toContain('<title>Inbox · waitpoint</title>')
    expect(text).toContain('Nothing waits for an answer.')
    await asks(t.engine, 'So?', { approvers: ['ann'] })
    expect((await visitor.get('/inbox?who=me')).text).toContain('Nothing waits for you.')
  })
})
