import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createEngine, type Engine, task } from 'waitpoint'
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
const report = task({
  id: `report for ${'everyone '.repeat(12)}`,
  schedule: { cron: '0,5,10,15,20,25,30,35,40,45,50,55 0 1 1 *', timezone: 'America/Argentina/Buenos_Aires' },
  run: async () => undefined,
})

describe.skipIf(chromiumPath === undefined)('the console in Chromium', () => {
  let engine: Engine
  let server: HttpServer
  let browser: Browser
  let axe: string
  /** The path of each page, by its name. */
  let paths: Readonly<Record<string, string>>

  beforeAll(async () => {
    axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
    engine = createEngine({ tasks: [review, failing, mail, report], secretKey: KEY })
    server = await serve(engine, { console: true })
    browser = await openChromium()
    const run = await engine.trigger(review, { doc: 'd1' }, { tags: ['eu', 'legal'] })
    const failed = await engine.trigger(failing, `${'long '.repeat(50)}${'x'.repeat(1_000_000)}`)
    await failed.outcome()
    for (let count = 0; count < 3; count += 1) await engine.trigger(mail, undefined)
    await engine.trigger(mail, undefined, { queue: { name: 'q'.repeat(120) }, delay: '1h' })
    // It executes, as its source is open, and waits beside that.
    for await (const tokens of engine.wait.subscribeToTokens()) if (tokens.length > 0) break
    const { data } = await engine.wait.listTokens()
    const settled = await engine.wait.createToken({ tags: ['done'] })
    await engine.wait.completeToken(settled, true)
    paths = {
      runs: '/console/runs',
      'no run': '/console/runs?tag=none',
      run: `/console/runs/${run.id}`,
      'failed run': `/console/runs/${failed.id}`,
      tokens: '/console/tokens',
      token: `/console/tokens/${data[0]?.id ?? ''}`,
      'settled token': `/console/tokens/${settled.id}`,
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
          const buttons = await page.evaluate<readonly number[]>(
            `Array.from(document.querySelectorAll('form.filters .actions > *'), (button) => button.getBoundingClientRect().top)`,
          )
          // Show and Reset stand side by side.
          expect([name, width, new Set(buttons).size < 2]).toEqual([name, width, true])
          await page.evaluate(axe)
          const violations = await page.evaluate<readonly unknown[]>(
            `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html.slice(0, 200))]))`,
          )
          expect([name, width, violations]).toEqual([name, width, []])
        }
      }
    },
  )

  it('works without JavaScript', { timeout: TEST_MS }, async () => {
    await using page = await open({ javaScriptEnabled: false })
    const token = await engine.wait.createToken({ tags: ['plain'] })
    await page.goto(`${server.url}/console/tokens?tag=plain`)
    await page.click('td a.name')
    await page.fill('[name=output]', '{"approved":true}')
    await page.click('main form button')
    expect(await page.textContent('main')).toContain('The token was completed at')
    expect((await engine.wait.retrieveToken(token)).output).toEqual({ approved: true })
    await page.goto(`${server.url}/console/runs`)
    await page.click('td a.name')
    expect(await page.textContent('main')).toContain('The run')
  })

  it('shows chunks and runs as they come, where they belong', { timeout: TEST_MS }, async () => {
    await using page = await open()
    await page.goto(server.url + (paths['run'] ?? ''))
    await expect.poll(() => page.textContent('.live'), SHOWN).toBe('live')
    words.push('A word that ')
    words.push('came late.')
    await expect.poll(() => page.textContent('#streams'), SHOWN).toContain('A word that came late.')
    await page.goto(`${server.url}/console/runs?tag=young`)
    await expect.poll(() => page.textContent('.live'), SHOWN).toBe('live')
    expect(await page.textContent('#list')).toContain('No run fits these filters.')
    await engine.trigger(failing, 'no', { tags: 'young' })
    await expect.poll(() => page.textContent('#list'), SHOWN).toContain('FAILED')
  })

  it('keeps what was typed when the run changes', { timeout: TEST_MS }, async () => {
    await using page = await open()
    const { id } = await engine.trigger(mail, undefined, { delay: '1h' })
    await page.goto(`${server.url}/console/runs/${id}`)
    await expect.poll(() => page.textContent('.live'), SHOWN).toBe('live')
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
      await expect.poll(() => page.textContent('.live'), SHOWN).toBe('live')
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
      await expect.poll(() => tabs.at(-1)?.textContent('.live'), SHOWN).toBe('live')
      if (isAlone) await show(tabs.at(-1) ?? first, true)
      tabs.push(await tab())
    }
    await expect.poll(() => tabs.at(-1)?.textContent('.live'), SHOWN).toBe('live')
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
      await expect.poll(() => tabs[1]?.textContent('.live'), SHOWN).toBe('live')
      await engine.wait.completeToken(token, 'shared answer')
      await expect.poll(() => tabs[1]?.textContent('main'), SHOWN).toContain('shared answer')
    }
    await context.close()
  })

  it('is gone through by keys', { timeout: TEST_MS }, async () => {
    await using page = await open()
    await page.goto(`${server.url}/console/runs`)
    await page.keyboard.press('/')
    expect(await page.evaluate('document.activeElement.name')).toBe('id')
    await page.keyboard.press('Escape')
    await page.evaluate('document.activeElement.blur()')
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('k')
    const selected = await page.evaluate<string>(
      'document.querySelector("tr.selected a").getAttribute("href")',
    )
    expect(selected).toBe(await page.evaluate('document.querySelector("tbody a").getAttribute("href")'))
    await page.keyboard.press('?')
    expect(await page.evaluate('document.getElementById("keys").open')).toBe(true)
    await page.keyboard.press('Escape')
    await page.keyboard.press('Enter')
    await page.waitForURL(server.url + selected)
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
