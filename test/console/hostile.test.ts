import { describe, expect, it } from 'vitest'
import { task } from 'waitpoint'
import { createTestEngine } from 'waitpoint/testing'
import { html, plainJson } from '../../src/primitives/html.ts'
import { KEY, Visitor } from './visitor.ts'

const BIDI = '\u202egnp.exe\u2066\u200b\u0007\ufeff'
const BIDI_MARKS = ['\u202e', '\u2066', '\u200b', '\u0007', '\ufeff']
const HOSTILE = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "'; alert(1) //",
  '</pre></textarea></title><svg onload=alert(1)>',
  '&lt;script&gt; ${alert(1)} {{7*7}}',
  BIDI,
]
/** 120 characters at most, as tags are. */
const mean = HOSTILE.join(' ')

describe('text that is hostile', () => {
  const everything = task({
    id: `task ${HOSTILE[0] ?? ''}`,
    queue: { name: `queue ${mean}`, concurrencyLimit: 9 },
    version: `version ${HOSTILE[0] ?? ''}`,
    run: async (payload: string, { metadata, streams, wait, tasks, ctx }) => {
      metadata.set(mean, mean)
      await streams.append(`key ${HOSTILE[1] ?? ''}`, mean)
      await streams.append(`objects ${HOSTILE[3] ?? ''}`, { [mean]: mean })
      if (ctx.run.parentId !== undefined)
        throw Object.assign(new Error(mean), { name: mean, stack: `${mean}\n${mean}` })
      await tasks.triggerAndWait(`task ${HOSTILE[0] ?? ''}`, payload)
      const question = { message: mean, data: { [mean]: mean }, choices: HOSTILE, onTimeoutText: mean }
      await wait.createToken({ timeout: '2h', ...question })
      return wait.forToken(await wait.createToken({ timeout: '1h', tags: HOSTILE })).unwrap()
    },
  })
  const scheduled = task({
    id: `scheduled ${HOSTILE[0] ?? ''}`,
    schedule: { cron: '0 0 1 1 *' },
    run: async () => undefined,
  })

  it('is text on every page, in every field and attribute', async () => {
    await using t = await createTestEngine({ tasks: [everything, scheduled], secretKey: KEY })
    const options = { tags: HOSTILE, idempotencyKey: mean, concurrencyKey: mean }
    const { id } = await t.engine.trigger(everything, mean, options)
    await t.clock.settle()
    await t.engine.streams.input({ id: mean }).send(id, { [mean]: mean }, { by: { id: 'ann', name: mean } })
    const { data: runs } = await t.engine.runs.list()
    const { data: tokens } = await t.engine.wait.listTokens()
    expect([runs.length, tokens.length]).toEqual([2, 2])
    const visitor = await Visitor.loggedIn(t.engine)
    const query = encodeURIComponent(mean)
    const paths = [
      '/runs',
      `/runs?tag=${query}`,
      `/runs?id=${query}`,
      `/runs?status=${query}`,
      `/runs?since=${query}`,
      `/runs?task=${query}&queue=${query}&after=run_${query}`,
      ...runs.map((run) => `/runs/${run.id}`),
      `/many?do=replay&${runs.map((run) => `run=${run.id}`).join('&')}`,
      `/many?do=cancel&tag=${query}`,
      `/many?do=${query}`,
      `/runs/${query}`,
      '/tokens',
      '/inbox',
      `/tokens/${tokens[1]?.id ?? ''}`,
      `/tokens?tag=${query}`,
      `/tokens/${tokens[0]?.id ?? ''}`,
      `/tokens/${query}`,
      '/tasks',
      '/queues',
      '/schedules',
      '/health',
      '/engines',
      `/login?next=${query}`,
      `/${query}`,
    ]
    for (const path of paths) {
      const { text } = await visitor.get(path)
      expect(tagsOf(text), path).toEqual([])
      const inFields = [...text.matchAll(/ value="([^"]*)"/g)].map(([, value]) => value ?? '')
      const shown = inFields.reduce((rest, value) => rest.replaceAll(value, ''), text)
      expect([path, BIDI_MARKS.some((mark) => shown.includes(mark))]).toEqual([path, false])
    }
    const page = (await visitor.get(`/runs/${id}`)).text
    expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
    const messages = page.split('<h2>Messages that wait</h2>')[1] ?? ''
    expect(messages).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
    const thrown = (await visitor.get(`/runs/${runs[0]?.id ?? ''}`)).text.split('<h2>Attempts</h2>')[1]
    expect(thrown).toContain('<summary>&lt;script&gt;alert(1)&lt;/script&gt;')
    expect((await visitor.get('/queues')).text).toContain('queue &lt;script&gt;alert(1)')
    expect(page).toContain('⟨U+202E⟩gnp.exe⟨U+2066⟩⟨U+200B⟩⟨U+0007⟩⟨U+FEFF⟩')
    expect((await visitor.get('/schedules')).text).toContain('scheduled &lt;script&gt;alert(1)')
    await visitor.post(`/tokens/${tokens[0]?.id ?? ''}/complete`, { output: JSON.stringify(mean) })
    expect(tagsOf((await visitor.get(`/tokens/${tokens[0]?.id ?? ''}`)).text)).toEqual([])
    expect(
      tagsOf((await visitor.post(`/tokens/${tokens[0]?.id ?? ''}/complete`, { output: mean })).text),
    ).toEqual([])
  })

  it('is cut if it is long, and can be had whole', async () => {
    const long = 'x'.repeat(1_048_576)
    const echo = task({
      id: 'echo',
      run: async (payload: string, { streams }) => {
        await streams.append('long', payload)
        throw new Error(payload)
      },
    })
    await using t = await createTestEngine({ tasks: [echo], secretKey: KEY })
    const { id } = await t.engine.trigger(echo, long)
    await t.clock.settle()
    const visitor = await Visitor.loggedIn(t.engine)
    for (const path of ['/runs', `/runs/${id}`]) {
      const { status, text } = await visitor.get(path)
      expect(status).toBe(200)
      expect(text.length).toBeLessThan(120_000)
    }
    expect((await visitor.get(`/runs/${id}`)).text).toContain('The first 20,000 of 1,048,578 characters.')
    expect(JSON.parse((await visitor.get(`/runs/${id}/payload.json`)).text)).toBe(long)
  })
})

/** What in a page could only be from a stored text: other elements, and attributes that act. */
function tagsOf(text: string): readonly string[] {
  return [
    ...text.matchAll(
      /<(?:script(?! src="[^"]*\/script\.js)|img|svg(?! (?:class="(?:i|unseen|ticks)" aria-hidden="true"|class="i" role="img" aria-label="[A-Z_]+"|class="bars" role="img" aria-label="[\w ,:×]+"|x="[\d.]+%" y="16")>|\s+class="(?:chart|spark)"\s+viewBox="0 0 \d+ \d+"\s+(?:preserveAspectRatio="none"\s+)?role="img"\s+aria-label="[\w ,:]+"\s*>))[^>]*>|<[^>"]*(?:"[^"]*"[^>"]*)*\son\w+=/gi,
    ),
  ].map(([tag]) => tag)
}

describe('plainJson', () => {
  it('shows marks as escapes, and keeps the value', () => {
    const value = { [mean]: [mean, '\u{e0041}', 'a\u202eb'] }
    const text = plainJson(JSON.stringify(value, undefined, 2))
    expect(JSON.parse(text)).toEqual(value)
    expect(text).toContain('"a\\u202eb"')
    expect(BIDI_MARKS.some((mark) => text.includes(mark))).toBe(false)
  })
})

describe('html', () => {
  it('takes no stored value for markup', () => {
    const stored = { isEscaped: true, toString: () => '<b>' } as never
    expect(html`<p title="${'"<'}">${stored}</p>`.toString()).toBe('<p title="&quot;&lt;">&lt;b&gt;</p>')
  })

  it('nests, lists, and leaves out what is not there', () => {
    const item = (text: string): ReturnType<typeof html> => html`<b>${text}</b>`
    expect(html`${['a', '<'].map(item)}${undefined}${false}${0}`.toString()).toBe('<b>a</b><b>&lt;</b>0')
  })
})
