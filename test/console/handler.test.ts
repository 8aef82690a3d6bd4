import { describe, expect, it } from 'vitest'
import { createEngine, memoryStorage, type Storage, task, wait } from 'waitpoint'
import { createConsole } from 'waitpoint/console'
import { createTestEngine, testClock, type TestEngine } from 'waitpoint/testing'
import { loginLink } from '../../src/console/login-link.ts'
import { rejection } from '../support/body-task.ts'
import { KEY, type Visited, Visitor } from './visitor.ts'

const FORM_TYPE = 'application/x-www-form-urlencoded'

const review = task({
  id: 'review',
  run: async (_payload: unknown, { metadata, streams }) => {
    metadata.set('step', 'asking')
    await streams.append('words', 'one ')
    await streams.append('words', 'two')
    return wait.forToken(await wait.createToken({ timeout: '1h', tags: ['legal'] })).unwrap()
  },
})
const double = task({ id: 'double', run: async (n: number) => n * 2 })
const failing = task({
  id: 'failing',
  run: async (message: string): Promise<never> => {
    throw new Error(message)
  },
})
const tasks = [review, double, failing]

const opened = (storage?: Storage): Promise<TestEngine> =>
  createTestEngine({ tasks, secretKey: KEY, retention: { maxAge: '30d' }, ...(storage && { storage }) })

/** A run that waits, and the token that it waits for. */
async function waiting(
  t: TestEngine,
  payload: unknown = { doc: 'd1' },
): Promise<{ run: string; token: string }> {
  const run = await t.engine.trigger(review, payload)
  await t.clock.settle()
  const { data } = await t.engine.wait.listTokens({ status: 'WAITING' })
  return { run: run.id, token: data[0]?.id ?? '' }
}

describe('createConsole', () => {
  it('refuses an engine without a key, unless the application says who may enter', async () => {
    await using engine = createEngine()
    expect(() => createConsole(engine)).toThrow(/anyone could open it/)
    expect(() => createConsole(engine, { authorize: () => true })).not.toThrow()
  })

  it('refuses options that cannot be used', async () => {
    await using t = await opened()
    const create = (options: object) => () => createConsole(t.engine, options)
    expect(create({ readonly: true })).toThrow(/there is no option "readonly"/)
    expect(create({ readOnly: 'yes' })).toThrow(TypeError)
    expect(create({ authorize: true })).toThrow(TypeError)
    expect(create({ sessionLength: 0 })).toThrow(RangeError)
    expect(create({ basePath: 'console' })).toThrow(/must be a plain path/)
  })

  it('rejects only for a value that is no request', async () => {
    await using t = await opened()
    const handler = createConsole(t.engine)
    expect(await rejection(handler('/runs' as never))).toBeInstanceOf(TypeError)
  })
})

describe('a login', () => {
  it('is asked for by every page, and leads back to it', async () => {
    await using t = await opened()
    const visitor = new Visitor(t.engine)
    for (const path of [
      '/',
      '/runs',
      '/runs/run_x',
      '/many?do=cancel',
      '/inbox',
      '/tokens',
      '/tokens/x',
      '/tasks',
      '/queues',
      '/schedules',
      '/health',
      '/engines',
      '/events',
      '/runs/x/payload.json',
    ]) {
      const { status, headers, text } = await visitor.get(path)
      expect([path, status, headers.get('location')]).toEqual([
        path,
        303,
        `/login?${new URLSearchParams({ next: path }).toString()}`,
      ])
      expect(text).toBe('')
    }
    expect((await visitor.get('/login?next=%2Ftokens%3Ftag%3Da')).text).toContain(
      'action="/login?next=%2Ftokens%3Ftag%3Da"',
    )
    expect((await visitor.logIn(KEY, '', '/tokens?tag=a')).headers.get('location')).toBe('/tokens?tag=a')
    expect((await visitor.get('/tokens?tag=a')).status).toBe(200)
  })

  it('sets a cookie that scripts cannot read and that other sites do not send', async () => {
    await using t = await opened()
    const visitor = new Visitor(t.engine, { basePath: '/console', sessionLength: '1h' })
    const { headers } = await visitor.logIn(KEY, '/console')
    expect(headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^waitpoint_console=key[\w.-]+; Path=\/console; Max-Age=3600; HttpOnly; SameSite=Strict$/,
      ),
      expect.stringMatching(
        /^waitpoint_console_known=known[\w.-]+; Path=\/console\/login; Max-Age=2592000; HttpOnly; SameSite=Strict$/,
      ),
    ])
    const proxied = await visitor.post('/console/login', { key: KEY }, { 'x-forwarded-proto': 'https' })
    for (const cookie of proxied.headers.getSetCookie()) expect(cookie).toMatch(/; Secure$/)
  })

  it('is refused with another key, and with none', async () => {
    await using t = await opened()
    const visitor = new Visitor(t.engine)
    for (const key of ['', 'tr_dev_xxxxxxxy', `${KEY} `]) {
      const { status, headers, text } = await visitor.logIn(key)
      expect([status, headers.get('set-cookie')]).toEqual([401, null])
      expect(text).toContain('This is no secret key')
      if (key !== '') expect(text).not.toContain(key)
    }
  })

  it('is refused for a while after wrong keys in a row, with the right key too', async () => {
    await using t = await opened()
    const visitor = new Visitor(t.engine)
    for (let count = 0; count < 5; count += 1) expect((await visitor.logIn('wrong')).status).toBe(401)
    await t.clock.advance('3.5s')
    for (const key of [KEY, 'wrong']) {
      const { status, headers, text } = await visitor.logIn(key, '', '/tokens')
      expect([status, headers.get('retry-after'), headers.getSetCookie()]).toEqual([429, '7', []])
      expect(text).toContain('Try again in 7 s.')
      expect(text).toContain('action="/login?next=%2Ftokens"')
    }
    await t.clock.advance('6.5s')
    expect((await visitor.logIn('wrong')).status).toBe(401)
    expect((await visitor.logIn(KEY)).headers.get('retry-after')).toBe('10')
    await t.clock.advance('10s')
    expect((await visitor.logIn(KEY)).status).toBe(303)
  })

  it('reads nothing of a form during the pause, and at most 4 KiB of any', async () => {
    await using t = await opened()
    const handler = createConsole(t.engine)
    const login = (key: string): Request =>
      new Request('http://app.example/login', { method: 'POST', body: new URLSearchParams({ key }) })
    expect((await handler(login('x'.repeat(4_096)))).status).toBe(413)
    const answers = await Promise.all(Array.from({ length: 6 }, () => handler(login('wrong'))))
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401, 429])
    const late = login(KEY)
    expect([(await handler(late)).status, late.bodyUsed]).toEqual([429, false])
  })

  it('counts wrong keys from the start after the right one', async () => {
    await using t = await opened()
    const visitor = new Visitor(t.engine)
    for (let count = 0; count < 4; count += 1) await visitor.logIn('wrong')
    await visitor.logIn(KEY)
    const stranger = visitor.another()
    for (let count = 0; count < 4; count += 1) await stranger.logIn('wrong')
    expect((await stranger.logIn(KEY)).status).toBe(303)
  })

  it('is not refused to a browser that has logged in before because strangers guess', async () => {
    await using t = await opened()
    const visitor = new Visitor(t.engine)
    const stranger = visitor.another()
    await visitor.logIn(KEY)
    await visitor.get('/runs')
    await visitor.post('/logout')
    for (let count = 0; count < 5; count += 1) await stranger.logIn('wrong')
    expect((await stranger.logIn(KEY)).status).toBe(429)
    for (let count = 0; count < 5; count += 1) expect((await visitor.logIn('wrong')).status).toBe(401)
    expect((await visitor.logIn(KEY)).status).toBe(429)
    await t.clock.advance('10s')
    expect((await visitor.logIn(KEY)).status).toBe(303)
  })

  it('leads to no other site', async () => {
    await using t = await opened()
    const visitor = new Visitor(t.engine, { basePath: '/c' })
    for (const next of [
      'https://evil.example/c/',
      '//evil.example/c/',
      '/other',
      '/c/../..//evil.example',
      '\\\\evil',
      'javascript:alert(1)',
      `/c/${'x'.repeat(2_048)}`,
    ])
      expect((await visitor.logIn(KEY, '/c', next)).headers.get('location')).toBe('/c/runs')
  })

  it('ends after its time, with a change of the key, and by logging out', async () => {
    await using t = await opened()
    const visitor = await Visitor.loggedIn(t.engine, { sessionLength: '1h' })
    expect((await visitor.get('/runs')).status).toBe(200)
    const cookie = visitor.cookie
    await using other = await createTestEngine({ secretKey: 'another key', clock: t.clock })
    const elsewhere = new Visitor(other.engine)
    elsewhere.cookie = cookie
    expect((await elsewhere.get('/runs')).status).toBe(303)
    const { headers } = await visitor.post('/logout')
    expect(headers.get('set-cookie')).toContain('waitpoint_console=; Path=/; Max-Age=0')
    visitor.cookie = cookie
    expect((await visitor.get('/runs')).status).toBe(303)
    await visitor.logIn(KEY)
    expect((await visitor.get('/runs')).status).toBe(200)
    await t.clock.advance('1h')
    expect((await visitor.get('/runs')).status).toBe(303)
  })

  it('cannot be forged', async () => {
    await using t = await opened()
    const visitor = new Visitor(t.engine)
    const { headers } = await visitor.logIn(KEY)
    const [own = '', known = ''] = headers.getSetCookie().map((line) => /=([^;]*)/.exec(line)?.[1])
    const [kind = '', end = '', nonce = '', signature = ''] = own.split('.')
    const forged = [
      known,
      `visit.${end}.${nonce}.${signature}`,
      `${kind}.${Number(end) + 1}.${nonce}.${signature}`,
      `${kind}.${end}.${nonce}.`,
      `${kind}.${end}.${nonce}.${signature}.x`,
      `${kind}.Infinity.${nonce}.${signature}`,
      '',
    ]
    for (const value of forged) {
      visitor.cookie = `waitpoint_console=${value}`
      expect((await visitor.get('/runs')).status).toBe(303)
    }
  })
})

describe('a link that logs in', () => {
  const ORIGIN = 'http://app.example'
  const pathOf = (t: TestEngine): string => loginLink(t.engine, `${ORIGIN}/console`).slice(ORIGIN.length)
  const opening = (t: TestEngine): Visitor => new Visitor(t.engine, { basePath: '/console' })

  it('does so once, in all processes of the storage', async () => {
    const storage = memoryStorage()
    await using t = await createTestEngine({ tasks, secretKey: KEY, storage })
    const path = pathOf(t)
    const visitor = opening(t)
    const { status, headers } = await visitor.get(path)
    expect([status, headers.get('location')]).toEqual([303, '/console/runs'])
    expect((await visitor.get('/console/runs')).status).toBe(200)
    // Its own browser is not asked for the key because of a second click.
    expect((await visitor.get(path)).headers.get('location')).toBe('/console/runs')
    await using other = await createTestEngine({ tasks, secretKey: KEY, storage, clock: t.clock })
    for (const engine of [t, other]) {
      const refused = await opening(engine).get(path)
      expect([refused.status, refused.headers.getSetCookie()]).toEqual([401, []])
      expect(refused.text).toContain('This link was used before, or its time is over.')
    }
  })

  it('is over after ten minutes, and with its key', async () => {
    await using t = await opened()
    const [early, late] = [pathOf(t), pathOf(t)]
    await using other = await createTestEngine({ secretKey: 'another key', clock: t.clock })
    expect((await opening(other).get(early)).status).toBe(401)
    await t.clock.advance(599_999)
    expect((await opening(t).get(early)).status).toBe(303)
    await t.clock.advance(1)
    expect((await opening(t).get(late)).status).toBe(401)
  })

  it('cannot be made of a cookie, nor the other way around', async () => {
    await using t = await opened()
    const visitor = opening(t)
    const { headers } = await visitor.logIn(KEY, '/console')
    for (const line of headers.getSetCookie()) {
      const [, value = ''] = /=([^;]*)/.exec(line) ?? []
      expect((await opening(t).get(`/console/login?link=${value}`)).status).toBe(401)
    }
    const stranger = opening(t)
    stranger.cookie = `waitpoint_console=${pathOf(t).split('=')[1] ?? ''}`
    expect((await stranger.get('/console/runs')).status).toBe(303)
  })

  it('is not used up by a browser that looks ahead', async () => {
    await using t = await opened()
    const path = pathOf(t)
    expect((await opening(t).get(path, { headers: { 'sec-purpose': 'prefetch;prerender' } })).status).toBe(
      200,
    )
    expect((await opening(t).get(path, { method: 'HEAD' })).status).toBe(200)
    expect((await opening(t).get(path)).status).toBe(303)
  })

  it('leads nowhere where the application decides who may enter', async () => {
    await using t = await opened()
    const visitor = new Visitor(t.engine, { basePath: '/console', authorize: () => true })
    expect((await visitor.get(pathOf(t))).status).toBe(404)
  })
})

describe('every answer', () => {
  it('has headers that let no page be framed and no script be slipped in', async () => {
    await using t = await opened()
    const { run } = await waiting(t)
    const visitor = await Visitor.loggedIn(t.engine)
    const paths = [
      '/runs',
      `/runs/${run}`,
      `/runs/${run}/payload.json`,
      '/none',
      '/login',
      '/style.css',
      '/script.js',
      '/',
    ]
    for (const path of paths) {
      const { headers, text } = await visitor.get(path)
      const policy = headers.get('content-security-policy') ?? ''
      expect([path, policy]).toEqual([path, expect.stringContaining("default-src 'none'")])
      expect(policy).toContain("script-src 'self'")
      expect(policy).toContain("frame-ancestors 'none'")
      expect(policy).not.toContain('unsafe')
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('x-frame-options')).toBe('DENY')
      if (!path.includes('.')) {
        expect(headers.get('cache-control')).toBe('no-store')
        expect(text).not.toMatch(/<style|<script(?! src=)|\sstyle=|\son\w+=/)
      }
    }
  })

  it('says what is wrong with an address', async () => {
    await using t = await opened()
    const visitor = await Visitor.loggedIn(t.engine, { basePath: '/console' })
    const statusOf = async (path: string): Promise<number> => (await visitor.get(path)).status
    expect(await statusOf('/console/runs/run_none')).toBe(404)
    expect(await statusOf('/console/tokens/waitpoint_none')).toBe(404)
    expect(await statusOf('/console/none')).toBe(404)
    expect(await statusOf('/console/runs/a/b/c')).toBe(404)
    expect(await statusOf('/console/runs/%E0%A4%A')).toBe(400)
    expect(await statusOf('/console/runs?status=NONE')).toBe(400)
    expect(await statusOf('/console/runs?since=nonsense')).toBe(400)
    expect(await statusOf('/consoles/runs')).toBe(404)
    expect((await visitor.get('/console/runs', { method: 'PUT' })).status).toBe(405)
    const head = await visitor.get('/console/runs', { method: 'HEAD' })
    expect([head.status, head.text]).toEqual([200, ''])
  })

  it('shows a fault without its details, and reports it', async () => {
    await using t = await opened()
    const errors: unknown[] = []
    t.engine.on('error', ({ error }) => errors.push(error))
    const cause = new Error('the password of the database is 1234')
    const visitor = new Visitor(t.engine, {
      authorize: () => {
        throw cause
      },
    })
    const { status, text } = await visitor.get('/runs')
    expect(status).toBe(500)
    expect(text).not.toContain('1234')
    await t.clock.settle()
    expect(errors).toEqual([cause])
  })
})

describe('the page of runs', () => {
  it('says what to do when there is none', async () => {
    await using t = await opened()
    const visitor = await Visitor.loggedIn(t.engine)
    expect((await visitor.get('/runs')).text).toContain('There are no runs yet.')
    expect((await visitor.get('/runs?tag=none')).text).toContain('No run fits these filters.')
  })

  it('filters by what is in the address', async () => {
    await using t = await opened()
    const old = await t.engine.trigger(double, 1, { tags: ['a', 'b'] })
    const queued = await t.engine.trigger(double, 2, { queue: { name: 'mail' }, delay: '2d' })
    await t.clock.advance('1d')
    const young = await t.engine.trigger(failing, 'no')
    await t.clock.settle()
    const visitor = await Visitor.loggedIn(t.engine)
    const shown = async (query: string): Promise<readonly string[]> => {
      const { text } = await visitor.get(`/runs?${query}`)
      return [old, queued, young].filter(({ id }) => text.includes(`id="row-${id}"`)).map(({ id }) => id)
    }
    expect(await shown('')).toEqual([old.id, queued.id, young.id])
    expect(await shown('status=COMPLETED')).toEqual([old.id])
    expect(await shown('task=failing')).toEqual([young.id])
    expect(await shown('tag=b')).toEqual([old.id])
    expect(await shown('queue=mail')).toEqual([queued.id])
    expect(await shown('queue=none')).toEqual([])
    expect(await shown('since=2h')).toEqual([young.id])
    expect(await shown(`id=${queued.id}`)).toEqual([queued.id])
    expect(await shown('status=FAILED&task=double')).toEqual([])
  })

  it('says in one line its error, else what a run waits for, else its title, else the first text of its payload', async () => {
    const steps = task({
      id: 'steps',
      title: ({ doc }: { readonly doc?: string }) => doc ?? '',
      run: async (given: { readonly doc?: string; readonly how: string }, { wait }) => {
        const asked = { message: 'Publish <it>?\nNow', choices: ['yes', 'no'], timeout: '1d' } as const
        if (given.how === 'ask') await wait.forToken(await wait.createToken(asked))
        if (given.how === 'wait')
          await wait.forToken(await wait.createToken({ timeout: '1d', tags: ['legal'] }))
        if (given.how === 'sleep') await wait.for({ hours: 2 })
      },
    })
    await using t = await createTestEngine({ tasks: [steps, failing, double], secretKey: KEY })
    const says = async (trigger: Promise<{ readonly id: string }>): Promise<string | undefined> => {
      const { id } = await trigger
      await t.clock.settle()
      const { text } = await visitor.get(`/runs?id=${id}`)
      const [, said] = /class="says[^>]*>([^]*?)<\/td>/.exec(text) ?? []
      return said?.replaceAll(/<[^>]*>/g, '').replaceAll(/\s+/g, ' ')
    }
    const visitor = await Visitor.loggedIn(t.engine)
    expect(await says(t.engine.trigger(failing, `no\n${'x'.repeat(300)}`))).toBe('no')
    expect(await says(t.engine.trigger(failing, 'x'.repeat(300)))).toBe(`${'x'.repeat(199)}…`)
    expect(await says(t.engine.trigger(steps, { how: 'ask' }))).toBe(
      'Waits for a person: Publish &lt;it&gt;?',
    )
    expect(await says(t.engine.trigger(steps, { how: 'wait' }))).toBe('Waits for a token: legal')
    expect(await says(t.engine.trigger(steps, { how: 'sleep' }))).toBe('Sleeps, over in 2 h')
    expect(await says(t.engine.trigger(steps, { doc: 'Report 7', how: 'return' }))).toBe('Report 7')
    expect(await says(t.engine.trigger(steps, { how: 'return' }))).toBe('return')
    expect(await says(t.engine.trigger(double, 2))).toBe('')
  })

  it('lists runs without a parent, with the number of those below them, until it is filtered', async () => {
    const parent = task({
      id: 'parent',
      run: (many: number) =>
        double.batchTriggerAndWait(Array.from({ length: many }, (_, n) => ({ payload: n }))),
    })
    await using t = await createTestEngine({ tasks: [parent, double], secretKey: KEY })
    const few = await t.engine.trigger(parent, 3)
    const many = await t.engine.trigger(parent, 120)
    const alone = await t.engine.trigger(double, 1)
    await t.clock.settle()
    const visitor = await Visitor.loggedIn(t.engine)
    const rows = async (query: string): Promise<readonly (readonly [string, string])[]> =>
      (await visitor.get(`/runs?${query}`)).text
        .split('<tr id="row-')
        .slice(1)
        .map((row) => [row.split('"', 1)[0] ?? '', /data-label="children">([^<]*)</.exec(row)?.[1] ?? ''])
    expect(await rows('')).toEqual([
      [alone.id, ''],
      [many.id, '50+'],
      [few.id, '3'],
    ])
    expect(await rows(`after=${many.id}`)).toEqual([[few.id, '3']])
    expect((await rows('show=all')).length).toBe(50)
    expect((await rows(`root=${few.id}`)).length).toBe(3)
    expect((await rows('status=COMPLETED')).length).toBe(50)
  })

  it('has fifty runs, and keeps the filters from page to page', async () => {
    await using t = await opened()
    for (let n = 0; n < 120; n += 1) await t.engine.trigger(double, n, { tags: n % 2 === 0 ? 'even' : 'odd' })
    await t.clock.settle()
    const visitor = await Visitor.loggedIn(t.engine)
    const seen: string[] = []
    let path: string | undefined = '/runs?tag=even'
    let pages = 0
    while (path !== undefined) {
      const { text } = await visitor.get(path)
      seen.push(...[...text.matchAll(/id="row-(\w+)"/g)].map(([, id = '']) => id))
      pages += 1
      path = /rel="next"[^>]*?href="([^"]+)"/
        .exec(text.replaceAll(/\s+/g, ' '))?.[1]
        ?.replaceAll('&amp;', '&')
      if (path !== undefined) expect(path).toContain('tag=even')
    }
    expect([pages, new Set(seen).size]).toEqual([2, 60])
  })
})

describe('the counts of a list', () => {
  it('are links that filter by status, and keep the other filters', async () => {
    await using t = await createTestEngine({ tasks: [review], secretKey: KEY, clock: { mode: 'manual' } })
    for (const tags of [['book'], ['book'], []]) await t.engine.trigger(review, { doc: 'd1' }, { tags })
    await t.engine.trigger(review, { doc: 'd1' }, { tags: ['book'], delay: '1h' })
    await t.clock.settle()
    const visitor = await Visitor.loggedIn(t.engine)
    const countsOf = (page: string): readonly string[] =>
      /<nav class="counts".*?<\/nav>/s
        .exec(page)?.[0]
        .split('<a')
        .slice(1)
        .map((link) => link.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ')) ?? []
    expect(countsOf((await visitor.get('/runs')).text)).toMatchObject([
      expect.stringMatching(/href="\/runs\?status=DELAYED" > DELAYED 1 /),
      expect.stringMatching(/href="\/runs\?status=WAITING" > WAITING 3 /),
    ])
    expect(countsOf((await visitor.get('/runs?tag=book&status=WAITING&after=run_z')).text)).toMatchObject([
      expect.stringMatching(/href="\/runs\?tag=book&amp;status=DELAYED" > DELAYED 1 /),
      expect.stringMatching(/href="\/runs\?tag=book&amp;status=WAITING" aria-current="true" > WAITING 2 /),
    ])
    expect(countsOf((await visitor.get('/tokens')).text)).toMatchObject([
      expect.stringMatching(/href="\/tokens\?status=WAITING" aria-current="true" > WAITING 3 /),
    ])
    expect(countsOf((await visitor.get('/runs?id=run_1')).text)).toEqual([])
  })
})

describe('the page of queues', () => {
  /** The cells of each row as text, and where its numbers lead to. */
  const rowsOf = (page: string): readonly (readonly string[])[] =>
    page
      .split('<tr>')
      .slice(2)
      .map((row) => row.split('<td').slice(1, 6))
      .map((cells) =>
        cells.map((cell) =>
          cell
            .replace(/^[^>]*>|<\/td>.*/gs, '')
            .replace(/<[^>]+>/g, '')
            .trim(),
        ),
      )
  const linksOf = (page: string): readonly string[] =>
    [...page.matchAll(/href="(\/runs\?queue[^"]*)"/g)].map(([, link = '']) => link.replaceAll('&amp;', '&'))

  it('shows limits and counts, which lead to the runs that they count', async () => {
    const clock = testClock({ mode: 'manual' })
    const mail = task({
      id: 'mail',
      queue: { name: 'mail & post', concurrencyLimit: 2 },
      run: () => clock.sleep('1h'),
    })
    const idle = task({ id: 'idle', run: async () => undefined })
    await using t = await createTestEngine({
      tasks: [mail, idle],
      secretKey: KEY,
      concurrency: 3,
      clock,
    })
    for (let count = 0; count < 5; count += 1) await t.engine.trigger(mail, undefined)
    await t.engine.trigger(mail, undefined, { queue: { name: 'other' }, concurrencyKey: 'a' })
    await t.engine.trigger(mail, undefined, { delay: '1h' })
    await t.clock.settle()
    const visitor = await Visitor.loggedIn(t.engine)
    const { text } = await visitor.get('/queues')
    expect(rowsOf(text)).toEqual([['mail &amp; post', '2', '2', '3', '1']])
    expect(linksOf(text)).toEqual([
      '/runs?queue=mail+%26+post',
      '/runs?queue=mail+%26+post&status=EXECUTING',
      '/runs?queue=mail+%26+post&status=QUEUED',
      '/runs?queue=mail+%26+post&status=DELAYED',
    ])
    for (const [at, found] of [2, 3, 1].entries())
      expect((await visitor.get(linksOf(text)[at + 1] ?? '')).text.match(/id="row-run_/g)).toHaveLength(found)
    await t.engine.trigger(idle, undefined, { queue: { name: 'crowded' } })
    await t.engine.trigger(idle, undefined)
    await t.clock.settle()
    expect(rowsOf((await visitor.get('/queues')).text)).toEqual([
      ['mail &amp; post', '2', '2', '3', '1'],
      ['crowded', 'not known here', '0', '1', '0'],
      ['task/idle', 'none', '0', '1', '0'],
    ])
    await t.engine.queue('mail & post').setLimit(1)
    await t.engine.queue('crowded').pause()
    await t.engine.queue('narrow').setLimit(4)
    await t.engine.queue('narrow').pause()
    expect((await visitor.get('/health')).text).toMatch(/mail &amp; post<\/td>\s*<td[^>]*>\s*1 \(set\)\s*</)
    expect(rowsOf((await visitor.get('/queues')).text).map(([name, limit]) => [name, limit])).toEqual([
      ['crowded', 'not known here, paused'],
      ['mail &amp; post', '1 (set)'],
      ['narrow', '4 (set), paused'],
      ['task/idle', 'none'],
    ])
  })

  it('says of a bounded look through runs that older ones may be of the queue', async () => {
    const idle = task({ id: 'idle', run: async () => undefined })
    await using t = await createTestEngine({ tasks: [idle], secretKey: KEY })
    await t.engine.trigger(idle, undefined, { queue: { name: 'old' } })
    await t.engine.tasks.batchTrigger(
      idle.id,
      Array.from({ length: 1_000 }, () => ({ payload: undefined })),
    )
    await t.clock.settle()
    const visitor = await Visitor.loggedIn(t.engine)
    const { text } = await visitor.get('/runs?queue=old')
    expect(text).toContain('None of these 1,000 runs fits.')
    const [, next = ''] = /rel="next" href="([^"]*)"/.exec(text) ?? []
    expect((await visitor.get(next.replaceAll('&amp;', '&'))).text).toContain('id="row-run_')
    expect((await visitor.get('/runs?queue=none&status=FAILED')).text).toContain('No run fits these filters.')
  })

  it('says what a number is that is bounded, and how many queues it leaves out', async () => {
    const clock = testClock({ mode: 'manual' })
    const tasks = Array.from({ length: 52 }, (_, at) =>
      task({
        id: `task ${at}`,
        queue: { concurrencyLimit: 1 },
        run: () => clock.sleep('1h'),
      }),
    )
    await using t = await createTestEngine({ tasks, secretKey: KEY, clock })
    for (let count = 0; count < 140; count += 1) await t.engine.trigger(tasks[7]!, undefined)
    await t.clock.settle()
    const { text } = await (await Visitor.loggedIn(t.engine)).get('/queues')
    expect(rowsOf(text)).toHaveLength(50)
    expect(text).toContain('2 more queues are not shown.')
    expect(rowsOf(text)).toContainEqual(['task/task 7', '1', '1', '133+', '0'])
    expect(text).toContain('among the newest 133 runs of its status')
  })

  it('pauses and resumes a queue, sets its limit and resets it', async () => {
    const name = ' a/../b?c&d\n"<'
    const mail = task({ id: 'mail', queue: { name, concurrencyLimit: 2 }, run: async () => undefined })
    await using t = await createTestEngine({ tasks: [mail], secretKey: KEY })
    const visitor = await Visitor.loggedIn(t.engine)
    const { text } = await visitor.get('/queues')
    const [action = ''] = text.match(/(?<=<form method="post" action=")\/queues\?[^"]+/) ?? []
    expect(text).toContain('Pause: give its runs no slots')
    expect(text).not.toContain('Back to the limit')
    const press = (change: string, limit = ''): Promise<Visited> => visitor.post(action, { change, limit })
    const { status, headers } = await press('pause')
    expect([status, headers.get('location')]).toEqual([303, '/queues'])
    expect(await t.engine.queues()).toMatchObject([{ name, isPaused: true }])
    expect((await visitor.get('/queues')).text).toContain('Resume: give its runs slots again')
    expect((await press('resume')).status).toBe(303)
    expect(await t.engine.queues()).toMatchObject([{ name, isPaused: false }])
    expect((await press('set-limit', ' 7 ')).status).toBe(303)
    expect(await t.engine.queues()).toMatchObject([{ name, limit: 7 }])
    expect((await visitor.get('/queues')).text).toMatch(/value="7"[^]*Back to the limit of its tasks: 2/)
    for (const limit of ['', '-1', '1.5', '100001', 'many']) {
      const wrong = await press('set-limit', limit)
      expect([limit, wrong.status]).toEqual([limit, 422])
      expect(wrong.text).toContain('was not changed: the limit must be a whole number from 0 to 100000.')
    }
    expect((await press('reset-limit')).status).toBe(303)
    expect(await t.engine.queues()).toMatchObject([{ name, limit: 2, isPaused: false }])
    for (const [path, change, refused] of [
      [action, 'drop', 400],
      ['/queues', 'pause', 400],
      ['/queues/mail', 'pause', 404],
    ] as const) {
      await visitor.get('/queues')
      expect([path, (await visitor.post(path, { change })).status]).toEqual([path, refused])
    }
    expect(await t.engine.queues()).toMatchObject([{ isPaused: false }])
  })

  it('offers no changes on a storage that keeps nothing of queues', async () => {
    const { queues: _, ...storage } = memoryStorage()
    const mail = task({ id: 'mail', queue: { concurrencyLimit: 2 }, run: async () => undefined })
    await using t = await createTestEngine({ tasks: [mail], secretKey: KEY, storage })
    const visitor = await Visitor.loggedIn(t.engine)
    expect((await visitor.get('/queues')).text).not.toContain('Change')
    expect((await visitor.post('/queues?queue=task%2Fmail', { change: 'pause' })).status).toBe(409)
  })

  it('says what to do when there is none', async () => {
    await using t = await opened()
    const { text } = await (await Visitor.loggedIn(t.engine)).get('/queues')
    expect(text).toContain('No queue has a limit, and no run is in line.')
    expect(text).toContain('concurrencyLimit: 5')
    await using without = await createTestEngine({ tasks: [], secretKey: KEY })
    expect((await (await Visitor.loggedIn(without.engine)).get('/queues')).text).toContain(
      'No run is in line.',
    )
  })

  it('counts on a storage that has no counts', async () => {
    const { counts: _counts, ...storage } = memoryStorage()
    const clock = testClock({ mode: 'manual' })
    const slow = task({ id: 'slow', queue: { concurrencyLimit: 1 }, run: () => clock.sleep('1h') })
    await using t = await createTestEngine({
      tasks: [slow],
      secretKey: KEY,
      storage,
      clock,
    })
    for (let count = 0; count < 3; count += 1) await t.engine.trigger(slow, undefined)
    await t.clock.settle()
    const { text } = await (await Visitor.loggedIn(t.engine)).get('/queues')
    expect(rowsOf(text)).toEqual([['task/slow', '1', '1', '2', '0']])
  })
})

describe('the page of schedules', () => {
  it('shows when each schedule is due next, and the newest run of its task', async () => {
    const late = task({ id: 'late', schedule: { cron: '0 0 1 1 *' }, run: async () => undefined })
    const hourly = task({
      id: 'hourly <b>',
      schedule: { cron: '0 * * * *', timezone: 'Europe/Berlin', catchUp: 'last' },
      run: async () => undefined,
    })
    await using t = await createTestEngine({ tasks: [late, hourly, double], secretKey: KEY })
    await t.clock.advance('90m')
    const visitor = await Visitor.loggedIn(t.engine)
    const { text } = await visitor.get('/schedules')
    const [first, second, ...others] = text.split('<tr id="row-').slice(1)
    expect(others).toEqual([])
    expect(first).toContain('/runs?task=hourly+%3Cb%3E">hourly &lt;b&gt;</a>')
    expect(first).toContain('<code>0 * * * *</code>')
    expect(first).toContain('Europe/Berlin</span>')
    expect(first).toContain('in 30 min')
    expect(first).toContain('a run for the last one')
    const { data } = await t.engine.runs.list({ taskIdentifier: 'hourly <b>' })
    expect(data).toHaveLength(1)
    expect(first).toContain(`/runs/${data[0]?.id}`)
    expect(first).toContain('30 min ago')
    expect(second).toContain('late')
    expect(second).toContain('<span class="none">–</span>')
  })

  it('shows what else is due next', async () => {
    await using t = await opened()
    const { run, token } = await waiting(t)
    const { id } = await t.engine.trigger(double, 1, { delay: '5m' })
    const { text } = await (await Visitor.loggedIn(t.engine)).get('/schedules')
    const [, first, second] = text.slice(text.indexOf('Due next')).split('<td data-label="what">')
    expect(first).toContain(`href="/runs/${id}"`)
    expect(first).toContain('starts: its delay is over')
    expect(second).toContain(`href="/tokens/${token}"`)
    expect(second).toContain(`href="/runs/${run}"`)
  })

  it('shows those that were created, and which are not active', async () => {
    const remind = task({ id: 'remind', schedule: {}, run: async () => undefined })
    await using t = await createTestEngine({ tasks: [remind], secretKey: KEY })
    const { schedules } = t.engine
    const create = (user: string) =>
      schedules.create({ task: remind, cron: '0 * * * *', externalId: user, deduplicationKey: user })
    const { id } = await create('<ada>')
    await create('bob')
    await schedules.deactivate(id)
    const { text } = await (await Visitor.loggedIn(t.engine)).get('/schedules')
    const [first, second] = text.split('<tr id="row-').slice(1)
    expect(first).toContain('bob</span>')
    expect(first).toContain('in 1 h')
    expect(second).toContain('&lt;ada&gt;</span>')
    expect(second).toContain('not active')
  })

  it('says what to do when there is none', async () => {
    await using t = await opened()
    const { text } = await (await Visitor.loggedIn(t.engine)).get('/schedules')
    expect(text).toContain('No task has a schedule.')
    await using without = await createTestEngine({ tasks: [], secretKey: KEY })
    expect((await (await Visitor.loggedIn(without.engine)).get('/schedules')).text).toContain(
      'This engine has no tasks.',
    )
  })
})

describe('the page of engines', () => {
  it('says which are alive, which is lost, and which one serves the page', async () => {
    const storage = memoryStorage()
    await using t = await createTestEngine({ tasks: [], secretKey: KEY, storage, clock: { mode: 'manual' } })
    await t.engine.ready()
    const visitor = await Visitor.loggedIn(t.engine)
    const rows = async (): Promise<readonly string[]> =>
      (await visitor.get('/engines')).text
        .split('<tr id="row-')
        .slice(1)
        .map((row) => row.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' '))
    expect(await rows()).toEqual([expect.stringMatching(/this engine ALIVE – – no end while it is alone/)])
    const now = t.clock.now()
    await storage.tick({ owner: 'engine_other', now, leaseUntil: now + 5_000, limit: 10 })
    await t.clock.advance('2s')
    expect(await rows()).toEqual([
      expect.stringMatching(/this engine ALIVE – 2 s ago in/),
      expect.stringMatching(/^engine_other"> engine_other ALIVE – 2 s ago in 3 s/),
    ])
    await t.clock.advance('20s')
    expect(await rows()).toEqual([
      expect.stringMatching(/this engine ALIVE/),
      expect.stringMatching(/^engine_other"> engine_other LOST – 22 s ago 17 s ago/),
    ])
  })
})

describe('the page of a run', () => {
  /** The rows of the drawing: the depth and the name, what is drawn, and how long it took. */
  const rowsOf = (page: string): readonly (readonly string[])[] =>
    [
      ...page.matchAll(
        /<div class="name d(\d)">(.*?)<\/div>\s*<svg class="bars"[^>]*?aria-label="([^"]*)".*?class="num"\s*>(.*?)<\/span\s*>/gs,
      ),
    ].map(([, depth = '', name = '', drawn = '', took = '']) => [
      `${depth} ${name
        .replace(/<[^>]+>/g, '')
        .trim()
        .replace(/\s*\n\s*/g, '')}`,
      drawn,
      took.replace(/<[^>]+>/g, '').trim(),
    ])

  it('tells where it stands, and shows all that it has', async () => {
    await using t = await opened()
    const { run, token } = await waiting(t)
    const visitor = await Visitor.loggedIn(t.engine)
    const { text } = await visitor.get(`/runs/${run}`)
    expect(text).toContain('The run is waiting for token')
    expect(text).toContain(`href="/tokens/${token}"`)
    expect(text).toContain('&quot;doc&quot;: &quot;d1&quot;')
    expect(text).toContain('&quot;step&quot;: &quot;asking&quot;')
    expect(text).toContain('one two')
    const { owner } = await t.engine.runs.retrieve(run)
    expect(text).toContain(`<a class="id" href="/engines">${owner?.id}</a>`)
    expect((await visitor.get(`/runs/${run}/payload.json`)).text).toBe('{"doc":"d1"}')
    expect((await visitor.get(`/runs/${run}/output.json`)).status).toBe(404)
  })

  it('shows the error of a run that failed, with its stack', async () => {
    await using t = await opened()
    const run = await t.engine.trigger(failing, 'no paper')
    await t.clock.settle()
    const { text } = await (await Visitor.loggedIn(t.engine)).get(`/runs/${run.id}`)
    expect(text).toMatch(/The run failed at .*: no paper\./)
    expect(text).toMatch(/Error: no paper\n\s+at /)
  })

  it('draws what happened when, to scale', async () => {
    const child = task({ id: 'child', run: () => wait.for({ minutes: 15 }) })
    const parent = task({
      id: 'parent',
      run: async () => {
        await wait.for({ minutes: 30 })
        await child.triggerAndWait(undefined)
        return wait.forToken(await wait.createToken({ timeout: '1h', tags: ['legal'] }))
      },
    })
    await using t = await createTestEngine({
      tasks: [parent, child],
      secretKey: KEY,
      retention: { maxAge: '30d' },
      clock: { mode: 'manual' },
    })
    const visitor = await Visitor.loggedIn(t.engine)
    const { id } = await t.engine.trigger(parent, undefined, { delay: '30m' })
    await t.clock.settle()
    expect((await visitor.get(`/runs/${id}`)).text).not.toContain('Timeline')
    await t.clock.advance('90m')
    const spans = async (): Promise<readonly (readonly string[])[]> =>
      rowsOf((await visitor.get(`/runs/${id}`)).text)
    expect(await spans()).toEqual([
      ['0 parent', 'in line, or delayed 30 min 0 s, waiting 1 h 0 min, goes on', '1 h 30 min'],
      ['1 sleep', 'waiting 30 min 0 s', '30 min 0 s'],
      ['1 child', 'waiting 15 min 0 s', '15 min 0 s'],
      ['1 legal', 'waiting 15 min 0 s, goes on', '15 min 0 s'],
    ])
    await t.clock.advance('2h')
    expect((await spans()).at(-1)).toEqual(['1 legal', 'waiting 1 h 0 min', '1 h 0 min'])
    const { text } = await visitor.get(`/runs/${id}`)
    const took = Array.from(text.matchAll(/<li class="(\w+)">([^<]*)<span>/g), ([, kind, ms]) => [
      kind,
      ms?.trim(),
    ])
    expect(took).toEqual([
      ['queued', '30 min 0 s'],
      ['waiting', '1 h 45 min'],
    ])
  })

  it('names in the timeline who has answered', async () => {
    const asking = task({
      id: 'asking',
      run: async () => wait.forToken(await wait.createToken({ tags: ['legal'] })),
    })
    await using t = await createTestEngine({ tasks: [asking], secretKey: KEY })
    const { id } = await t.engine.trigger(asking, undefined)
    await t.clock.settle()
    const [token] = (await t.engine.wait.listTokens()).data
    await t.engine.wait.completeToken(token!, null, { by: { id: 'u1', name: '<Ann>', via: 'mail' } })
    await t.clock.settle()
    const visitor = await Visitor.loggedIn(t.engine)
    expect((await visitor.get(`/runs/${id}`)).text).toContain(
      '<span class="soft">&lt;Ann&gt;, via mail</span>',
    )
  })

  it('draws the whole tree, to any depth, wherever in it the run is', async () => {
    const leaf = task({ id: 'leaf', run: (_n: number, { wait }) => wait.for({ minutes: 1 }) })
    const middle = task({ id: 'middle', run: () => leaf.triggerAndWait(1).unwrap() })
    const root = task({ id: 'root', run: () => middle.triggerAndWait(undefined).unwrap() })
    await using t = await createTestEngine({
      tasks: [leaf, middle, root],
      secretKey: KEY,
      clock: { mode: 'manual' },
    })
    const { id } = await t.engine.trigger(root, undefined)
    await t.clock.settle()
    const visitor = await Visitor.loggedIn(t.engine)
    const below = (await t.engine.runs.list({ root: id })).data
    for (const shown of [id, ...below.map((run) => run.id)]) {
      const { text } = await visitor.get(`/runs/${shown}`)
      expect(
        rowsOf(text)
          .slice(0, 3)
          .map(([name]) => name),
      ).toEqual(['0 root', '1 middle', '2 leaf'])
      expect(/href="\/runs\/(\w+)"\s+aria-current="true"/.exec(text)?.[1]).toBe(shown)
    }
  })

  it('folds what has gone well of many alike, and stays small', async () => {
    const leaf = task({
      id: 'leaf',
      retry: { maxAttempts: 1 },
      run: (n: number) => {
        if (n === 7) throw new Error('n is 7')
      },
    })
    const root = task({
      id: 'root',
      run: async (many: number, { wait }) => {
        for (let n = 0; n < 8; n += 1) await wait.for({ seconds: 1 })
        await leaf.batchTriggerAndWait(Array.from({ length: many }, (_, n) => ({ payload: n })))
      },
    })
    await using t = await createTestEngine({ tasks: [leaf, root], secretKey: KEY })
    const visitor = await Visitor.loggedIn(t.engine)
    const pageFor = async (many: number): Promise<string> => {
      const run = await t.engine.trigger(root, many)
      await run.outcome()
      return (await visitor.get(`/runs/${run.id}`)).text
    }
    const few = rowsOf(await pageFor(60)).map(([name]) => name)
    expect(few.slice(0, 2)).toEqual(['0 root', '1 sleep× 8'])
    expect(few).toContain('1 leafn is 7')
    expect(few).toContain('1 leaf× 59')
    const many = await pageFor(1_000)
    expect(many).toContain('× 499+')
    expect(many).toContain('Not all runs of this tree are drawn.')
    expect(many.length).toBeLessThan(50_000)
  })

  it('draws no sleep beyond the end of its run', async () => {
    const nap = task({ id: 'nap', run: () => wait.for({ hours: 1 }) })
    await using t = await createTestEngine({ tasks: [nap], secretKey: KEY, clock: { mode: 'manual' } })
    const { id } = await t.engine.trigger(nap, undefined)
    await t.clock.advance('10m')
    await t.engine.runs.cancel(id)
    const visitor = await Visitor.loggedIn(t.engine)
    const took = async (): Promise<unknown> => rowsOf((await visitor.get(`/runs/${id}`)).text)[1]?.at(-1)
    expect(await took()).toBe('10 min 0 s')
    await t.clock.advance('2h')
    expect(await took()).toBe('10 min 0 s')
  })

  it('shows what its attempts have thrown, with the stacks', async () => {
    const tries = task({
      id: 'tries',
      retry: { maxAttempts: 2, minTimeoutInMs: 0 },
      run: async (_: null, { ctx }) => {
        if (ctx.attempt.number === 1) throw new Error('no ink')
      },
    })
    await using t = await createTestEngine({ tasks: [tries, double], secretKey: KEY })
    const run = await t.engine.trigger(tries, null)
    const other = await t.engine.trigger(double, 1)
    await t.clock.settle()
    expect((await t.engine.runs.retrieve(run.id)).status).toBe('COMPLETED')
    const visitor = await Visitor.loggedIn(t.engine)
    const { text } = await visitor.get(`/runs/${run.id}`)
    expect(text).toMatch(/<h2>Attempts<\/h2>/)
    expect(text).toMatch(/<summary>Error: no ink<\/summary>\s*<pre[^>]*>Error: no ink\n\s+at /)
    expect(text).toMatch(/aria-label="[^"]*thrown 1 ×"/)
    expect((await visitor.get(`/runs/${other.id}`)).text).not.toContain('<h2>Attempts</h2>')
  })

  it('cancels the run', async () => {
    await using t = await opened()
    const { run } = await waiting(t)
    const visitor = await Visitor.loggedIn(t.engine)
    await visitor.get(`/runs/${run}`)
    const { status, headers } = await visitor.post(`/runs/${run}/cancel`)
    expect([status, headers.get('location')]).toEqual([303, `/runs/${run}`])
    expect((await t.engine.runs.retrieve(run)).status).toBe('CANCELED')
    expect((await visitor.get(`/runs/${run}`)).text).not.toContain('/cancel"')
  })

  it('starts a new run with the payload of the old one', async () => {
    await using t = await opened()
    const run = await t.engine.trigger(double, 21)
    await t.clock.settle()
    const visitor = await Visitor.loggedIn(t.engine)
    await visitor.get(`/runs/${run.id}`)
    const { headers } = await visitor.post(`/runs/${run.id}/replay`)
    const id = headers.get('location')?.replace('/runs/', '') ?? ''
    expect(id).not.toBe(run.id)
    await t.clock.settle()
    expect((await t.engine.runs.retrieve(id)).output).toBe(42)
  })

  it('starts a new run with another payload, which has to be JSON', async () => {
    await using t = await opened()
    const run = await t.engine.trigger(double, 21)
    await t.clock.settle()
    const visitor = await Visitor.loggedIn(t.engine)
    expect((await visitor.get(`/runs/${run.id}`)).text).toContain('>\n21</textarea>')
    const wrong = await visitor.post(`/runs/${run.id}/trigger`, { payload: '4 <' })
    expect([wrong.status, wrong.text.includes('No run was started: this is no JSON')]).toEqual([422, true])
    expect(wrong.text).toContain('>\n4 &lt;</textarea>')
    expect((await t.engine.runs.list()).data).toHaveLength(1)
    const { headers } = await visitor.post(`/runs/${run.id}/trigger`, { payload: ' 4 ' })
    await t.clock.settle()
    const id = headers.get('location')?.replace('/runs/', '') ?? ''
    const { payload, output } = await t.engine.runs.retrieve(id)
    expect([payload, output]).toEqual([4, 8])
  })

  it.each([
    ['1e400', '$ cannot be stored: '],
    ['['.repeat(3_000) + ']'.repeat(3_000), 'cannot be stored: nested deeper than 1,000 levels'],
  ])('starts no run with a payload that no trigger would take', async (payload, why) => {
    await using t = await opened()
    const run = await t.engine.trigger(double, 21)
    const token = await t.engine.wait.createToken({ timeout: '1h' })
    const visitor = await Visitor.loggedIn(t.engine)
    await visitor.get(`/runs/${run.id}`)
    const wrong = await visitor.post(`/runs/${run.id}/trigger`, { payload })
    expect([wrong.status, wrong.text.includes(why)]).toEqual([422, true])
    expect((await t.engine.runs.list()).data).toHaveLength(1)
    const answer = await visitor.post(`/tokens/${token.id}/complete`, { output: payload })
    expect([answer.status, answer.text.includes(why)]).toEqual([422, true])
  })

  it('starts a new run of a task that only another engine knows', async () => {
    const storage = memoryStorage()
    await using t = await opened(storage)
    await using beside = createEngine({ storage, clock: t.clock, secretKey: KEY })
    const run = await t.engine.trigger(double, 21)
    await t.clock.settle()
    const visitor = await Visitor.loggedIn(beside)
    await visitor.get(`/runs/${run.id}`)
    const { headers } = await visitor.post(`/runs/${run.id}/replay`)
    const id = headers.get('location')?.replace('/runs/', '') ?? ''
    expect(id).not.toBe(run.id)
    await t.clock.settle()
    expect((await t.engine.runs.retrieve(id)).output).toBe(42)
  })

  it('names the debounce key that puts it off, which is no idempotency key', async () => {
    const later = task({ id: 'later', run: () => undefined })
    await using t = await createTestEngine({ tasks: [later], secretKey: KEY, clock: { mode: 'manual' } })
    const { id } = await t.engine.trigger(later, undefined, { debounce: { key: 'doc 7', delay: '1h' } })
    const { text } = await (await Visitor.loggedIn(t.engine)).get(`/runs/${id}`)
    expect(text).toMatch(/Debounce key<\/dt>\s*<dd[^>]*>\s*doc 7/)
    expect(text).not.toContain('Idempotency key')
    expect(text).toContain('debounced with the key &quot;doc 7&quot;')
  })
})

describe('the page of a token', () => {
  it('shows what waits, with the run that asks', async () => {
    await using t = await opened()
    const visitor = await Visitor.loggedIn(t.engine)
    expect((await visitor.get('/tokens')).text).toContain('Nothing waits for an answer.')
    const { run, token } = await waiting(t)
    expect((await visitor.get('/tokens?tag=legal')).text).toContain(`id="row-${token}"`)
    expect((await visitor.get('/tokens?tag=other')).text).toContain('No token fits these filters.')
    expect((await visitor.get(`/tokens?id=${token}`)).text).toContain(`id="row-${token}"`)
    const { text } = await visitor.get(`/tokens/${token}`)
    expect(text).toContain(`href="/runs/${run}"`)
    expect(text).toContain('&quot;doc&quot;: &quot;d1&quot;')
  })

  it('completes the token with JSON', async () => {
    await using t = await opened()
    const { run, token } = await waiting(t)
    const visitor = await Visitor.loggedIn(t.engine)
    await visitor.get(`/tokens/${token}`)
    const { status, headers } = await visitor.post(`/tokens/${token}/complete`, {
      output: '{"approved":true}',
    })
    expect([status, headers.get('location')]).toEqual([303, `/tokens/${token}`])
    await t.clock.settle()
    expect((await t.engine.runs.retrieve(run)).output).toEqual({ approved: true })
    expect((await visitor.get(`/tokens/${token}`)).text).toContain('&quot;approved&quot;: true')
    expect((await visitor.get(`/tokens/${token}/complete`)).headers.get('location')).toBe(`/tokens/${token}`)
  })

  it('keeps a text that is no JSON, says why, and completes nothing', async () => {
    await using t = await opened()
    const { token } = await waiting(t)
    const visitor = await Visitor.loggedIn(t.engine)
    await visitor.get(`/tokens/${token}`)
    const { status, text } = await visitor.post(`/tokens/${token}/complete`, { output: '{approved: <b>}' })
    expect(status).toBe(422)
    expect(text).toContain('this is no JSON')
    expect(text).toContain('{approved: &lt;b&gt;}</textarea>')
    const large = await visitor.post(`/tokens/${token}/complete`, { output: `[${'[],'.repeat(200_000)}1]` })
    expect(large.status).toBe(413)
    expect((await t.engine.wait.retrieveToken(token)).status).toBe('WAITING')
  })

  it('tells the second of two people that another answer was first, and which', async () => {
    await using t = await opened()
    const { token } = await waiting(t)
    const [first, second] = [await Visitor.loggedIn(t.engine), await Visitor.loggedIn(t.engine)]
    await first.get(`/tokens/${token}`)
    await second.get(`/tokens/${token}`)
    await first.post(`/tokens/${token}/complete`, { output: '"yes"' })
    const { status, text } = await second.post(`/tokens/${token}/complete`, { output: '"no"' })
    expect(status).toBe(409)
    expect(text).toContain(
      'Your answer came too late and changed nothing: another answer completed the token',
    )
    expect(text).toContain('&quot;yes&quot;')
  })

  it('names the runs that wait for it, and withdraws it', async () => {
    await using t = await opened()
    const { run, token } = await waiting(t)
    const visitor = await Visitor.loggedIn(t.engine)
    const { text } = await visitor.get(`/tokens/${token}`)
    expect(text.slice(text.indexOf('Runs that wait for it'))).toContain(`href="/runs/${run}"`)
    const { status, headers } = await visitor.post(`/tokens/${token}/withdraw`, { reason: 'Too <late>.' })
    expect([status, headers.get('location')]).toEqual([303, `/tokens/${token}`])
    expect(await t.engine.wait.retrieveToken(token)).toMatchObject({
      status: 'TIMED_OUT',
      timeoutAt: new Date(t.clock.now()),
      completedAt: new Date(t.clock.now()),
    })
    await t.clock.settle()
    expect((await t.engine.runs.retrieve(run)).isWaiting).toBe(false)
    const late = await visitor.post(`/tokens/${token}/withdraw`)
    expect(late.status).toBe(409)
    expect(late.text).toContain('Your change came too late and changed nothing: the token was withdrawn')
    expect(late.text).toContain('Too &lt;late&gt;.')
  })

  it('withdraws, extends and reassigns a question', async () => {
    await using t = await opened()
    const token = await t.engine.wait.createToken({ message: 'Refund?', timeout: '1h', approvers: ['bob'] })
    const visitor = await Visitor.loggedIn(t.engine)
    const post = async (change: string, form: Readonly<Record<string, string>>): Promise<number> =>
      (await visitor.post(`/tokens/${token.id}/${change}`, form)).status
    await visitor.get(`/tokens/${token.id}`)
    expect(await post('extend', { timeout: '2d' })).toBe(303)
    expect(await post('extend', { timeout: 'soon' })).toBe(422)
    expect(await post('reassign', { approvers: 'ann\nrole:lead\n' })).toBe(303)
    expect(await post('reassign', { approvers: ' ' })).toBe(422)
    expect(await t.engine.wait.retrieveToken(token)).toMatchObject({
      timeoutAt: new Date(t.clock.now() + 2 * 86_400_000),
      question: { approvers: ['ann', 'role:lead'] },
    })
    expect((await visitor.get(`/tokens/${token.id}`)).text).toContain('Who may answer: ann, role:lead')
    expect(await post('withdraw', {})).toBe(303)
    expect((await t.engine.wait.retrieveToken(token)).withdrawn).toEqual({ via: 'console' })
  })

  it('offers no withdrawal on a storage that cannot do it', async () => {
    const { timesOut: _, ...storage } = memoryStorage()
    await using t = await createTestEngine({ tasks: [], storage, secretKey: KEY })
    const { id } = await t.engine.wait.createToken()
    const visitor = await Visitor.loggedIn(t.engine)
    expect((await visitor.get(`/tokens/${id}`)).text).not.toContain('end the wait without an answer')
    expect((await visitor.post(`/tokens/${id}/withdraw`)).status).toBe(409)
    expect((await t.engine.wait.retrieveToken(id)).status).toBe('WAITING')
  })

  it('tells an answer after the deadline that it came too late', async () => {
    await using t = await opened()
    const token = await t.engine.wait.createToken({ timeout: '1m' })
    const visitor = await Visitor.loggedIn(t.engine)
    await visitor.get(`/tokens/${token.id}`)
    await t.clock.advance('1m')
    const { text } = await visitor.post(`/tokens/${token.id}/complete`, { output: '"no"' })
    expect(text).toContain('Your answer came too late and changed nothing: the token timed out')
  })

  it('shows a question with its data and the form of its schema, and takes what fits', async () => {
    await using t = await opened()
    const { id } = await t.engine.wait.createToken({
      message: 'Refund <b>€ 184</b>?',
      data: { order: 48_213 },
      schema: { type: 'object', required: ['note'], properties: { note: { type: 'string', maxLength: 5 } } },
      onTimeoutText: 'The refund is rejected.',
    })
    const visitor = await Visitor.loggedIn(t.engine)
    const { text } = await visitor.get(`/tokens/${id}`)
    for (const part of ['Refund &lt;b&gt;', '48213', 'The refund is rejected.', 'name="answer.0"'])
      expect(text).toContain(part)
    expect(text).not.toContain('name="output"')
    const wrong = await visitor.post(`/tokens/${id}/complete`, { form: '1', 'answer.0': 'too long' })
    expect(wrong.status).toBe(422)
    expect(wrong.text).toContain('The token was not completed: the answer does not fit')
    expect(wrong.text).toContain('value="too long"')
    const { status } = await visitor.post(`/tokens/${id}/complete`, { form: '1', 'answer.0': 'fine' })
    expect(status).toBe(303)
    const { output, answeredBy } = await t.engine.wait.retrieveToken(id)
    expect([output, answeredBy]).toEqual([{ note: 'fine' }, { via: 'console' }])
    expect((await visitor.get(`/tokens/${id}`)).text).toContain('via console')
  })

  it('answers no question that has approvers, as it knows no names', async () => {
    await using t = await opened()
    const { id } = await t.engine.wait.createToken({ choices: ['yes', 'no'], approvers: ['ann'] })
    const visitor = await Visitor.loggedIn(t.engine)
    await visitor.get(`/tokens/${id}`)
    const { status, text } = await visitor.post(`/tokens/${id}/complete`, { form: '1', answer: '0' })
    expect([status, text]).toEqual([403, expect.stringContaining('This question has approvers') as string])
    expect((await t.engine.wait.retrieveToken(id)).status).toBe('WAITING')
  })
})

describe('an action', () => {
  it('is refused without the token of the form, and with that of another session', async () => {
    await using t = await opened()
    const { run, token } = await waiting(t)
    const [visitor, other] = [await Visitor.loggedIn(t.engine), await Visitor.loggedIn(t.engine)]
    await visitor.get(`/runs/${run}`)
    await other.get(`/runs/${run}`)
    for (const path of [
      `/runs/${run}/cancel`,
      `/runs/${run}/replay`,
      `/runs/${run}/trigger`,
      `/tokens/${token}/complete`,
      '/queues?queue=mail',
      '/logout',
    ]) {
      for (const _token of ['', 'x', other.formToken])
        expect([path, (await visitor.post(path, { _token })).status]).toEqual([path, 403])
    }
    expect((await t.engine.runs.retrieve(run)).status).toBe('WAITING')
    expect((await t.engine.runs.list()).data).toHaveLength(1)
  })

  it('is refused from another site, as another kind of body, without a login, and as a body without end', async () => {
    await using t = await opened()
    const { token } = await waiting(t)
    const visitor = await Visitor.loggedIn(t.engine)
    await visitor.get(`/tokens/${token}`)
    const path = `/tokens/${token}/complete`
    expect((await visitor.post(path, {}, { 'sec-fetch-site': 'cross-site' })).status).toBe(403)
    expect((await visitor.post('/login', { key: KEY }, { 'sec-fetch-site': 'same-site' })).status).toBe(403)
    expect((await visitor.post(path, {}, { 'content-type': 'text/plain' })).status).toBe(415)
    expect((await visitor.post(path, { output: `"${'x'.repeat(3_200_000)}"` })).status).toBe(413)
    expect((await visitor.post(`/tokens/${token}/destroy`)).status).toBe(404)
    expect((await new Visitor(t.engine).post(path)).status).toBe(401)
    expect((await t.engine.wait.retrieveToken(token)).status).toBe('WAITING')
  })

  it.each<
    [name: string, output: string, headers: Readonly<Record<string, string>>, status: number, stored?: string]
  >([
    ['UTF-8', '"%C3%A4"', {}, 303, 'ä'],
    ['bytes that are no UTF-8', '"%E4"', {}, 400],
    ['raw bytes that are no UTF-8', '"\xe4"', {}, 400],
    ['a charset that is named', '"%E4"', { 'content-type': `${FORM_TYPE}; charset=iso-8859-1` }, 303, 'ä'],
    ['an unknown charset', '"a"', { 'content-type': `${FORM_TYPE}; charset=x-none` }, 400],
    ['an encoding', '"a"', { 'content-encoding': 'gzip' }, 415],
    ['a false length', '"a"', { 'content-length': '1' }, 400],
  ])('is read strictly: %s', async (_name, output, headers, status, stored) => {
    await using t = await opened()
    const { token } = await waiting(t)
    const visitor = await Visitor.loggedIn(t.engine)
    await visitor.get(`/tokens/${token}`)
    const answer = await visitor.get(`/tokens/${token}/complete`, {
      method: 'POST',
      headers: { 'content-type': FORM_TYPE, ...headers },
      body: Buffer.from(`_token=${visitor.formToken}&output=${output}`, 'latin1'),
    })
    const { status: settled, output: kept } = await t.engine.wait.retrieveToken(token)
    expect([answer.status, settled, kept]).toEqual([
      status,
      stored === undefined ? 'WAITING' : 'COMPLETED',
      stored,
    ])
  })

  it('is neither offered nor done by a console that is read-only', async () => {
    await using t = await opened()
    const { run, token } = await waiting(t)
    const visitor = await Visitor.loggedIn(t.engine, { readOnly: true })
    await t.engine.queue('mail').pause()
    for (const path of [`/runs/${run}`, `/tokens/${token}`, '/queues']) {
      const { text } = await visitor.get(path)
      expect(text).not.toMatch(/\/(cancel|replay|complete)"|callback|<textarea|Change/)
    }
    expect((await visitor.post('/queues?queue=mail', { change: 'resume' })).status).toBe(403)
    expect((await t.engine.queue('mail').retrieve()).isPaused).toBe(true)
    expect((await visitor.post(`/runs/${run}/cancel`)).status).toBe(403)
    expect((await visitor.post(`/tokens/${token}/complete`)).status).toBe(403)
    expect((await t.engine.runs.retrieve(run)).status).toBe('WAITING')
  })
})

describe('authorize', () => {
  it('is asked again for the page that says what was wrong with a form', async () => {
    await using t = await opened()
    const { run, token } = await waiting(t)
    const visitor = new Visitor(t.engine, { authorize: async (request) => (await request.text()) !== 'x' })
    await visitor.get(`/runs/${run}`)
    const replay = await visitor.post(`/runs/${run}/trigger`, { payload: '{' })
    expect([replay.status, replay.text.includes('No run was started')]).toEqual([422, true])
    const complete = await visitor.post(`/tokens/${token}/complete`, { output: '{' })
    expect([complete.status, complete.text.includes('was not completed')]).toEqual([422, true])
  })

  it('decides for each request and each action, in place of a login', async () => {
    await using t = await createTestEngine({ tasks })
    const { run, token } = await waiting(t)
    const asked: string[] = []
    const visitor = new Visitor(t.engine, {
      authorize: (request, action) => {
        asked.push(action)
        return request.headers.get('x-user') === 'ada'
          ? !['cancel', 'trigger', 'queue'].includes(action)
          : false
      },
    })
    expect((await visitor.get(`/runs/${run}`)).status).toBe(403)
    expect((await visitor.post(`/runs/${run}/cancel`)).status).toBe(403)
    const ada = { headers: { 'x-user': 'ada' } }
    const { status, text } = await visitor.get(`/runs/${run}`, ada)
    expect(status).toBe(200)
    expect(text).toContain('/replay"')
    expect(text).not.toMatch(/\/(cancel|trigger)"/)
    expect(text).not.toContain('Log out')
    expect((await visitor.get('/login', ada)).status).toBe(404)
    for (const refused of ['cancel', 'trigger'])
      expect((await visitor.post(`/runs/${run}/${refused}`, {}, ada.headers)).status).toBe(403)
    expect((await visitor.post(`/tokens/${token}/complete`, { _token: '' }, ada.headers)).status).toBe(403)
    await visitor.get(`/tokens/${token}`, ada)
    expect((await visitor.post(`/tokens/${token}/complete`, {}, ada.headers)).status).toBe(303)
    await t.engine.queue('mail').setLimit(1)
    expect((await visitor.get('/queues', ada)).text).not.toContain('Change')
    expect((await visitor.post('/queues?queue=mail', { change: 'pause' }, ada.headers)).status).toBe(403)
    expect((await t.engine.queue('mail').retrieve()).isPaused).toBe(false)
    expect(new Set(asked)).toEqual(new Set(['read', 'cancel', 'replay', 'trigger', 'complete', 'queue']))
  })

  it('lets in for nothing but true', async () => {
    await using t = await createTestEngine({ tasks })
    const visitor = new Visitor(t.engine, { authorize: () => 'no' as unknown as boolean })
    expect((await visitor.get('/runs')).status).toBe(403)
  })
})

describe('a run with many tokens', () => {
  it('shows the newest of them', async () => {
    const many = task({
      id: 'many',
      run: async () => {
        for (let at = 0; at < 201; at += 1) await wait.createToken({ tags: [`number ${at}`] })
      },
    })
    await using t = await createTestEngine({ tasks: [many], secretKey: KEY })
    const run = await t.engine.trigger(many, undefined)
    await run.result()
    const visitor = await Visitor.loggedIn(t.engine)
    const { text } = await visitor.get(`/runs/${run.id}`)
    expect([text.includes('>number 0<'), text.includes('>number 1<')]).toEqual([false, true])
    expect(text).toContain('The last 200 of 201 tokens')
  })
})

describe('the events of a page', () => {
  it('tell of changes, as one if they come together, and cost nothing once the page has left', async () => {
    await using t = await opened()
    const { run } = await waiting(t)
    const visitor = await Visitor.loggedIn(t.engine)
    const rows = [
      [`/events?of=${run}`, 'a token', ''],
      [`/events?of=${run}`, run, run],
      ['/events', 'a run', 'runs'],
      [`/events?of=runs&of=${run}`, 'a run', 'runs'],
      [`/events?of=runs&of=${run}`, run, `${run} runs`],
    ]
    for (const [path = '', change, told] of rows) {
      const leaving = new AbortController()
      const answer = await visitor.stream(path, leaving.signal)
      expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
      const reader = answer.body!.getReader()
      const next = async (): Promise<string> =>
        new TextDecoder().decode((await reader.read()).value as Uint8Array)
      expect(await next()).toBe('retry: 2000\n\n')
      if (change === 'a run') await t.engine.trigger(double, 1)
      else if (change === 'a token') await t.engine.wait.completeToken(await t.engine.wait.createToken(), 1)
      else await t.engine.runs.addTags(run, String(path.length))
      await t.clock.advance('200ms')
      expect(await next()).toBe(`event: changed\ndata: ${told}\n\n`)
      leaving.abort()
      expect((await reader.read()).done).toBe(true)
    }
    expect((await visitor.get('/health')).text.replaceAll(/\s+/g, ' ')).toMatch(
      /Readers that follow runs<\/dt> ?<dd>0</,
    )
  })

  it('are a bounded number of connections', async () => {
    await using t = await opened()
    const visitor = await Visitor.loggedIn(t.engine)
    const leaving = new AbortController()
    for (let open = 0; open < 200; open += 1) await visitor.stream('/events', leaving.signal)
    expect((await visitor.get('/events')).status).toBe(503)
    leaving.abort()
    const again = await visitor.stream('/events', new AbortController().signal)
    expect(again.status).toBe(200)
    await again.body?.cancel()
  })
})
