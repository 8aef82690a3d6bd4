import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createEngine, type Engine, type QuestionOptions, task } from 'waitpoint'
import { type HttpServer, serve } from 'waitpoint/http'
import { PushSource } from '../support/streams.ts'
import {
  type Browser,
  chromiumPath,
  type ConsolePage,
  type ContextOptions,
  openChromium,
  openPage,
  STEP_MS,
} from './chromium.ts'

const KEY = 'tr_dev_xxxxxxxx'
const TEST_MS = 300_000
const SHOWN = { timeout: STEP_MS }
const WIDTHS = [360, 800, 1_100, 1_440]

const words = new PushSource<string>()
const review = task({
  id: 'review',
  run: async (_payload: { doc: string }, { metadata, wait }) => {
    metadata.set('step', 'asking')
    await metadata.stream('draft', words)
    return wait.forToken(await wait.createToken({ timeout: '1h', tags: ['legal'] })).unwrap()
  },
})
/** What the task `tail` reads next. */
const tailed: { source: PushSource<string> } = { source: words }
const tail = task({
  id: 'tail',
  run: async (_payload: undefined, { metadata }) => {
    for await (const _line of await metadata.stream('lines', tailed.source));
  },
})
const failing = task({
  id: 'failing',
  run: async (message: string): Promise<never> => {
    throw new Error(message)
  },
})
const mail = task({
  id: 'mail',
  queue: { name: `mail for ${'everyone '.repeat(12)}`, concurrencyLimit: 1 },
  run: (_payload: undefined, { wait }) => wait.for({ days: 1 }),
})
const family = task({
  id: 'family',
  run: async (_payload: undefined, { tasks }) => {
    await tasks.batchTriggerAndWait(
      'mail',
      Array.from({ length: 2 }, () => ({ payload: undefined, options: { queue: { name: 'of a family' } } })),
    )
  },
})
const report = task({
  id: `report for ${'everyone '.repeat(12)}`,
  schedule: { cron: '0,5,10,15,20,25,30,35,40,45,50,55 0 1 1 *', timezone: 'America/Argentina/Buenos_Aires' },
  run: async () => undefined,
})

const VIOLATIONS = `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html.slice(0, 200))]))`
/** With buttons, with a form, for others, and in JSON. */
const QUESTIONS: readonly (readonly [message: string, more: QuestionOptions])[] = [
  ['Publish it?', { choices: ['Now', 'Never'], data: { words: 1_840, pictures: ['a', 'b'] } }],
  [
    `A headline ${'for everyone '.repeat(12)}`,
    {
      schema: {
        type: 'object',
        required: ['headline'],
        properties: { headline: { type: 'string', maxLength: 80 }, kind: { enum: ['a', 'b'] } },
      },
      onTimeoutText: 'It stays as it is.',
    },
  ],
  ['Who may?', { choices: ['a', 'b'], approvers: ['ann'] }],
  ['Anything?', {}],
]

describe.skipIf(chromiumPath === undefined)('the console in Chromium', () => {
  let engine: Engine
  let server: HttpServer
  let browser: Browser
  let axe: string
  /** The path of each page, by its name. */
  let paths: Readonly<Record<string, string>>

  beforeAll(async () => {
    axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
    engine = createEngine({ tasks: [review, failing, mail, report, tail, family], secretKey: KEY })
    server = await serve(engine, { console: true })
    browser = await openChromium()
    const run = await engine.trigger(review, { doc: 'd1' }, { tags: ['eu', 'legal'] })
    const failed = await engine.trigger(failing, `${'long '.repeat(50)}${'x'.repeat(1_000_000)}`)
    await failed.outcome()
    for (let count = 0; count < 3; count += 1) await engine.trigger(mail, undefined)
    await engine.tasks.trigger(report.id, {})
    const parent = await engine.trigger(family, undefined)
    for await (const { status } of engine.runs.subscribeToRun(parent)) if (status === 'WAITING') break
    await engine.trigger(mail, undefined, { queue: { name: 'q'.repeat(120) }, delay: '1h' })
    // It executes, as its source is open, and waits beside that.
    for await (const tokens of engine.wait.subscribeToTokens()) if (tokens.length > 0) break
    const { data } = await engine.wait.listTokens()
    for (const [message, more] of QUESTIONS) await engine.wait.createToken({ message, ...more })
    const settled = await engine.wait.createToken({ tags: ['done'] })
    await engine.wait.completeToken(settled, true)
    paths = {
      runs: '/console/runs',
      'no run': '/console/runs?tag=none',
      searched: `/console/runs?status=failed&text=long&payload.${'x'.repeat(60)}=${'y'.repeat(60)}`,
      run: `/console/runs/${run.id}`,
      tree: `/console/runs/${parent.id}`,
      'failed run': `/console/runs/${failed.id}`,
      'many runs': '/console/many?do=tag&status=WAITING',
      'no runs': '/console/many?do=cancel&run=none',
      inbox: '/console/inbox',
      tokens: '/console/tokens',
      token: `/console/tokens/${data[0]?.id ?? ''}`,
      'settled token': `/console/tokens/${settled.id}`,
      tasks: '/console/tasks',
      queues: '/console/queues',
      schedules: '/console/schedules',
      health: '/console/health',
      engines: '/console/engines',
      login: '/console/login',
      'unknown page': '/console/none',
    }
  }, TEST_MS)

  afterAll(async () => {
    await browser.close()
    await server.close()
    await engine.close()
  })

  /** A window in which the visitor has logged in. */
  async function open(options?: ContextOptions): Promise<ConsolePage & AsyncDisposable> {
    const page = await openPage(browser, options)
    await page.goto(`${server.url}/console`)
    await page.fill('[name=key]', KEY)
    await page.click('main button')
    return page
  }

  it.each(['light', 'dark'] as const)(
    'shows each page without a violation at each width (%s)',
    { timeout: TEST_MS },
    async (colorScheme) => {
      await using page = await open({ colorScheme })
      for (const [name, path] of Object.entries(paths)) {
        for (const width of WIDTHS) {
          await page.setViewportSize({ width, height: 900 })
          await page.goto(server.url + path)
          const overflow = await page.evaluate<number>(
            'document.documentElement.scrollWidth - document.documentElement.clientWidth',
          )
          expect([name, width, overflow]).toEqual([name, width, 0])
          const gap = await page.evaluate<number | null>(
            `(() => { const title = document.querySelector('main > h1'); const next = title?.nextElementSibling?.firstElementChild; return next ? next.getBoundingClientRect().top - title.getBoundingClientRect().bottom : null })()`,
          )
          // Under its title a page begins with some room.
          expect([name, width, gap ?? 14]).toEqual([name, width, expect.toSatisfy((px) => px > 8)])
          await page.evaluate(axe)
          const violations = await page.evaluate<readonly unknown[]>(VIOLATIONS)
          expect([name, width, violations]).toEqual([name, width, []])
        }
      }
    },
  )

  it('searches by words and the Enter key, with and without JavaScript', { timeout: TEST_MS }, async () => {
    for (const javaScriptEnabled of [true, false]) {
      await using page = await open({ javaScriptEnabled })
      await page.fill('[name=q]', 'status:failed "long long"')
      await page.keyboard.press('Enter')
      await page.waitForURL(`${server.url}/console/runs?status=failed&text=long+long`)
      expect(await page.textContent('#list')).toContain('failing')
      expect(await page.textContent('#list')).not.toContain('review')
      await page.click('.chip[aria-label="Remove status failed"]')
      await page.waitForURL(`${server.url}/console/runs?text=long+long`)
    }
  })

  it('works without JavaScript', { timeout: TEST_MS }, async () => {
    await using page = await open({ javaScriptEnabled: false })
    const token = await engine.wait.createToken({ tags: ['plain'] })
    await page.goto(`${server.url}/console/tokens?tag=plain`)
    await page.click('td a.name')
    await page.fill('[name=output]', '{"approved":true}')
    await page.click('main form button')
    expect(await page.textContent('main')).toContain('The token was completed at')
    expect((await engine.wait.retrieveToken(token)).output).toEqual({ approved: true })
    const asked = await engine.wait.createToken({ message: 'Plain?', choices: ['x', 'y'] })
    await page.goto(`${server.url}/console/inbox`)
    await page.click(`#ask-${asked.id} button[value="1"]`)
    expect(await page.textContent('#settled')).toContain('Plain?')
    expect((await engine.wait.retrieveToken(asked)).output).toBe('y')
    await page.goto(`${server.url}/console/runs`)
    await page.click('td a.name')
    expect(await page.textContent('main')).toContain('The run')
    await page.goto(`${server.url}/console/tasks`)
    await page.click('#row-failing summary')
    await page.fill('#row-failing textarea', '"by hand"')
    await page.click('#row-failing button')
    expect(await page.textContent('#payload')).toContain('"by hand"')
  })

  it('shows chunks and runs as they come, where they belong', { timeout: TEST_MS }, async () => {
    await using page = await open()
    await page.goto(server.url + (paths['run'] ?? ''))
    await expect.poll(() => page.textContent('.live'), SHOWN).toBe('Live')
    words.push('A word that ')
    words.push('came late.')
    await expect.poll(() => page.textContent('#streams'), SHOWN).toContain('A word that came late.')
    await page.goto(`${server.url}/console/runs?tag=young`)
    await expect.poll(() => page.textContent('.live'), SHOWN).toBe('Live')
    expect(await page.textContent('#list')).toContain('No run fits these filters.')
    await engine.trigger(failing, 'no', { tags: 'young' })
    await expect.poll(() => page.textContent('#list'), SHOWN).toContain('FAILED')
  })

  it('keeps what was typed when the run changes', { timeout: TEST_MS }, async () => {
    await using page = await open()
    const { id } = await engine.trigger(mail, undefined, { delay: '1h' })
    await page.goto(`${server.url}/console/runs/${id}`)
    await expect.poll(() => page.textContent('.live'), SHOWN).toBe('Live')
    await page.click('details.wide summary')
    await page.fill('[name=payload]', '{"typed":true}')
    await page.evaluate('document.activeElement.blur()')
    await engine.runs.cancel(id)
    await expect.poll(() => page.textContent('#head'), SHOWN).toContain('CANCELED')
    // All parts of a page are taken over at once.
    expect(await page.evaluate('document.querySelector("[name=payload]").value')).toBe('{"typed":true}')
  })

  it(
    'takes the form away when another person has answered, and shows the answer',
    {
      timeout: TEST_MS,
    },
    async () => {
      await using page = await open()
      const token = await engine.wait.createToken({ tags: ['shared'] })
      await page.goto(`${server.url}/console/tokens/${token.id}`)
      await expect.poll(() => page.textContent('.live'), SHOWN).toBe('Live')
      await page.fill('[name=output]', '"mine"')
      await engine.wait.completeToken(token, 'that of another person')
      await expect.poll(() => page.textContent('#answer'), SHOWN).toContain('that of another person')
      expect(await page.evaluate('document.querySelectorAll("main form").length')).toBe(0)
    },
  )

  it.each([
    ['that are seen, as they share one event source', false],
    ['in a browser without shared workers, as those that are not seen let go and catch up', true],
  ])('opens eight tabs %s', { timeout: TEST_MS }, async (_how, isAlone) => {
    const context = await browser.newContext({})
    if (isAlone) await context.addInitScript('delete window.SharedWorker')
    const tag = isAlone ? 'eight' : 'shared'
    const tab = async (): Promise<ConsolePage> => {
      const page = await context.newPage()
      page.setDefaultTimeout(STEP_MS)
      await page.goto(`${server.url}/console/runs?tag=${tag}`)
      return page
    }
    const show = (page: ConsolePage, isHidden: boolean): Promise<unknown> =>
      page.evaluate(
        `Object.defineProperty(document, 'hidden', { configurable: true, value: ${String(isHidden)} }), document.dispatchEvent(new Event('visibilitychange'))`,
      )
    const first = await tab()
    await first.fill('[name=key]', KEY)
    await first.click('main button')
    const tabs = [first]
    for (let more = 0; more < 7; more += 1) {
      await expect.poll(() => tabs.at(-1)?.textContent('.live'), SHOWN).toBe('Live')
      if (isAlone) await show(tabs.at(-1) ?? first, true)
      tabs.push(await tab())
    }
    await expect.poll(() => tabs.at(-1)?.textContent('.live'), SHOWN).toBe('Live')
    const run = await engine.trigger(failing, 'no', { tags: tag })
    await run.outcome()
    if (isAlone) expect(await first.textContent('#list')).toContain('No run fits')
    if (isAlone) await show(first, false)
    for (const each of isAlone ? [first] : tabs)
      await expect.poll(() => each.textContent('#list'), SHOWN).toContain('FAILED')
    const token = await engine.wait.createToken()
    // Of a run and of a token, beside lists: each is told what it shows.
    if (!isAlone) {
      await tabs[1]?.goto(`${server.url}/console/tokens/${token.id}`)
      await expect.poll(() => tabs[1]?.textContent('.live'), SHOWN).toBe('Live')
      await engine.wait.completeToken(token, 'shared answer')
      await expect.poll(() => tabs[1]?.textContent('main'), SHOWN).toContain('shared answer')
    }
    await context.close()
  })

  it('is gone through by keys', { timeout: TEST_MS }, async () => {
    await using page = await open()
    await page.goto(`${server.url}/console/runs`)
    await page.keyboard.press('/')
    expect(await page.evaluate('document.activeElement.name')).toBe('q')
    await page.keyboard.press('Escape')
    await page.evaluate('document.activeElement.blur()')
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('k')
    const selected = await page.evaluate<string>(
      'document.querySelector("tr[data-at] a").getAttribute("href")',
    )
    expect(selected).toBe(await page.evaluate('document.querySelector("tbody a").getAttribute("href")'))
    await page.keyboard.press('?')
    expect(await page.evaluate('document.getElementById("keys").open')).toBe(true)
    await page.keyboard.press('Escape')
    await page.keyboard.press('Enter')
    await page.waitForURL(server.url + selected)
  })

  it('folds the rows of a tree by keys', { timeout: TEST_MS }, async () => {
    await using page = await open()
    await page.goto(`${server.url}${paths['tree']}`)
    const shown = (): Promise<number> =>
      page.evaluate('[...document.querySelectorAll(".tree .row")].filter((row) => row.offsetParent).length')
    const all = await shown()
    expect(all).toBeGreaterThan(2)
    const first = 'document.querySelector("[data-at]") === document.querySelector(".tree .row")'
    for (let step = 0; !(await page.evaluate<boolean>(first)); step += 1) {
      expect(step).toBeLessThan(20)
      await page.keyboard.press('j')
    }
    await page.keyboard.press('h')
    expect(await shown()).toBe(1)
    await page.keyboard.press('l')
    expect(await shown()).toBe(all)
  })

  it(
    'keeps what is typed, focus and place in the inbox while others answer, and counts in its title',
    { timeout: TEST_MS },
    async () => {
      await using page = await open()
      const asks = (message: string, timeout: string) =>
        engine.wait.createToken({ message, timeout, ...QUESTIONS[1]?.[1], tags: ['inbox'] })
      const [first, second] = [await asks('First?', '1m'), await asks('Second?', '2m')]
      await page.goto(`${server.url}/console/inbox`)
      await expect.poll(() => page.textContent('.live'), SHOWN).toBe('Live')
      const before = Number(/^\((\d+)\) Inbox/.exec(await page.evaluate('document.title'))?.[1])
      await page.keyboard.press('j')
      await page.keyboard.press('j')
      await page.keyboard.press('a')
      await page.keyboard.press('Tab')
      const field = `#${second.id}-answer\\.0`
      await page.evaluate(`document.querySelector(${JSON.stringify(field)}).focus()`)
      // Keys that are typed are text.
      for (const key of ['j', 'a', 'c', '?', '/']) await page.keyboard.press(key)
      await page.evaluate(`document.querySelector(${JSON.stringify(field)}).setSelectionRange(1, 3)`)
      await page.evaluate(
        'window.kept = [document.activeElement, document.querySelector("#ask-' + first.id + ' h2 a")]',
      )
      await engine.wait.completeToken(first, { headline: 'Elsewhere' }, { by: { id: 'ann', name: 'Ann' } })
      await expect.poll(() => page.textContent(`#ask-${first.id}`), SHOWN).toContain('Ann, via call')
      expect(await page.evaluate('document.title')).toBe(`(${before - 1}) Inbox · waitpoint`)
      const kept = await page.evaluate<readonly unknown[]>(
        '[document.activeElement === kept[0], kept[1].isConnected, document.activeElement.value, document.activeElement.selectionStart, document.activeElement.selectionEnd]',
      )
      expect(kept).toEqual([true, true, 'jac?/', 1, 3])
      await page.evaluate(axe)
      expect(await page.evaluate(VIOLATIONS)).toEqual([])
      // A new one waits until it is asked for: rows do not move under the reader.
      const third = await asks('Third?', '30s')
      await expect.poll(() => page.textContent('#fresher'), SHOWN).toBe('1 new')
      expect(await page.evaluate(`document.getElementById('ask-${third.id}')`)).toBe(null)
      await page.keyboard.press('Escape')
      await page.click('#fresher')
      await expect.poll(() => page.textContent(`#ask-${third.id}`), SHOWN).toContain('Third?')
      // Its answer is sent from the row, and the others stay as they are.
      await page.click(`#open-${third.id} summary`)
      await page.fill(`#${third.id}-answer\\.0`, 'From the row')
      await page.keyboard.press('Enter')
      await expect
        .poll(async () => (await engine.wait.retrieveToken(third)).output, SHOWN)
        .toEqual({ headline: 'From the row' })
      await expect.poll(() => page.textContent('#settled'), SHOWN).toContain('via console')
      expect(await page.evaluate(`document.querySelector(${JSON.stringify(field)}).value`)).toBe('jac?/')
    },
  )

  it(
    'follows the end of a stream until one scrolls up, and keeps what is selected',
    { timeout: TEST_MS },
    async () => {
      await using page = await open()
      const lines = new PushSource<string>()
      tailed.source = lines
      const { id } = await engine.trigger(tail, undefined)
      const push = (from: number): void => {
        for (let at = from; at < from + 100; at += 1) lines.push(`line ${at}\n`)
      }
      push(0)
      await page.goto(`${server.url}/console/runs/${id}`)
      await expect.poll(() => page.textContent('#streams'), SHOWN).toContain('line 99')
      const isAtEnd = `(() => { const tail = document.querySelector('#streams pre'); return tail.scrollTop > 0 && tail.scrollTop + tail.clientHeight >= tail.scrollHeight - 4 })()`
      await expect.poll(() => page.evaluate(isAtEnd), SHOWN).toBe(true)
      push(100)
      await expect.poll(() => page.textContent('#streams'), SHOWN).toContain('line 199')
      expect(await page.evaluate(isAtEnd)).toBe(true)
      await page.evaluate(
        `(() => { const tail = document.querySelector('#streams pre'); tail.scrollTop = 50; getSelection().setBaseAndExtent(tail.firstChild, 0, tail.firstChild, 6) })()`,
      )
      push(200)
      await expect.poll(() => page.textContent('#streams'), SHOWN).toContain('line 299')
      expect(
        await page.evaluate('[document.querySelector("#streams pre").scrollTop, String(getSelection())]'),
      ).toEqual([50, 'line 0'])
      lines.end()
    },
  )

  it('answers and cancels by keys, and gives the keys back', { timeout: TEST_MS }, async () => {
    await using page = await open()
    const { id } = await engine.trigger(mail, undefined, { delay: '1h', tags: 'keyed' })
    await page.goto(`${server.url}/console/runs?tag=keyed`)
    await page.keyboard.press('c')
    // Without a row there is nothing to cancel.
    expect(await page.evaluate('location.pathname')).toBe('/console/runs')
    await page.keyboard.press('j')
    await page.keyboard.press('c')
    await page.waitForURL(`${server.url}/console/runs/${id}#cancel`)
    await expect.poll(() => page.evaluate('document.activeElement.textContent'), SHOWN).toBe('Cancel it now')
    expect((await engine.runs.retrieve(id)).status).toBe('DELAYED')
    await page.keyboard.press('Enter')
    await page.waitForURL(`${server.url}/console/runs/${id}`)
    await expect.poll(async () => (await engine.runs.retrieve(id)).status, SHOWN).toBe('CANCELED')
    const token = await engine.wait.createToken({ message: 'Keyed?', choices: ['x', 'y'], timeout: '10s' })
    await page.goto(`${server.url}/console/inbox`)
    await page.keyboard.press('a')
    await page.keyboard.press('Enter')
    await expect.poll(async () => (await engine.wait.retrieveToken(token)).output, SHOWN).toBe('x')
    await page.goto(`${server.url}/console/tokens?tag=none`)
    await page.keyboard.press('/')
    expect(await page.evaluate('document.activeElement.name')).toBe('q')
    await page.keyboard.press('Escape')
    expect(await page.evaluate('document.activeElement === document.body')).toBe(true)
  })

  it('comes back to its filters, its row and its place', { timeout: TEST_MS }, async () => {
    await using page = await open()
    for (let count = 0; count < 40; count += 1)
      await engine.trigger(mail, undefined, { delay: '1h', tags: 'back' })
    await page.setViewportSize({ width: 800, height: 400 })
    await page.goto(`${server.url}/console/runs?tag=back&status=DELAYED`)
    for (let count = 0; count < 30; count += 1) await page.keyboard.press('j')
    const [row, top] = await page.evaluate<readonly [string, number]>(
      '[document.querySelector("[data-at]").id, scrollY]',
    )
    expect(top).toBeGreaterThan(200)
    await page.keyboard.press('Enter')
    await page.waitForURL(`${server.url}/console/runs/${row.slice('row-'.length)}`)
    await page.evaluate('history.back()')
    await page.waitForURL(`${server.url}/console/runs?tag=back&status=DELAYED`)
    await expect
      .poll(() => page.evaluate('[document.querySelector("[data-at]")?.id, scrollY]'), SHOWN)
      .toEqual([row, top])
    expect(await page.evaluate('document.querySelector("[name=tag]").value')).toBe('back')
  })

  it('says since when it is not live, and catches up', { timeout: TEST_MS }, async () => {
    const own = await serve(engine, { console: true })
    await using page = await openPage(browser)
    await page.goto(`${own.url}/console/runs?tag=missed`)
    await page.fill('[name=key]', KEY)
    await page.click('main button')
    await expect.poll(() => page.textContent('.live'), SHOWN).toBe('Live')
    await own.close()
    await expect.poll(() => page.textContent('.live'), SHOWN).toMatch(/^Not live since \d/)
    await engine.trigger(mail, undefined, { delay: '1h', tags: 'missed' })
    const again = await serve(engine, { console: true, port: Number(new URL(own.url).port) })
    await expect.poll(() => page.textContent('.live'), SHOWN).toBe('Live')
    await expect.poll(() => page.textContent('#list'), SHOWN).toContain('DELAYED')
    await again.close()
  })

  it('executes no script that is not its own', { timeout: TEST_MS }, async () => {
    const context = await browser.newContext({})
    const page = await context.newPage()
    await page.goto(`${server.url}/console/login`)
    const isRun = await page.evaluate<boolean>(
      `(() => { const one = document.createElement('script'); one.textContent = 'window.isRun = true'; document.body.append(one); return window.isRun === true })()`,
    )
    expect(isRun).toBe(false)
    await context.close()
  })
})
