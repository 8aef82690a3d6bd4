import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createEngine, type Engine, metadata, type RunHandle, streams, task } from 'waitpoint'
import { type HttpServer, serve } from 'waitpoint/http'
import { freePort } from '../support/free-port.ts'
import { PushSource } from '../support/streams.ts'
import { type AppServer, serveApp } from './app-server.ts'
import {
  type Browser,
  chromiumPath,
  openChromium,
  openTabs,
  type Page,
  STEP_MS,
  type Tabs,
} from './chromium.ts'

const TEST_MS = 300_000
const SHOWN = { timeout: STEP_MS }

const inbox = streams.input<string>({ id: 'messages' })
const stops = streams.input<null>({ id: 'stop' })
const sources = new Map<string, PushSource<number>>()

/** Writes what the test pushes. */
const ticker = task({
  id: 'ticker',
  run: async (key: string) => {
    await metadata.stream('ticks', sources.get(key) ?? new PushSource<number>())
    return key
  },
})

/** Answers each message in two words, and talks on after "long" until it is stopped. */
const chat = task({
  id: 'chat',
  run: async () => {
    for (;;) {
      const text = await inbox.wait().unwrap()
      if (text === 'bye') return 'done'
      const stopped = new AbortController()
      const listener = stops.on(() => stopped.abort())
      await metadata.stream('reply', said(text, stopped.signal))
      if (text === 'long') await new Promise((resolve) => stopped.signal.addEventListener('abort', resolve))
      listener.off()
    }
  },
})

async function* said(text: string, signal: AbortSignal): AsyncGenerator<string> {
  yield `[${text}`
  if (text === 'long') await new Promise((resolve) => signal.addEventListener('abort', resolve))
  yield '] '
}

describe.skipIf(chromiumPath === undefined).each([18, 19] as const)('the hooks on React %i', (version) => {
  let browser: Browser
  let engine: Engine
  let server: HttpServer
  let port: number
  let app: AppServer
  let expiresIn = '1h'

  beforeAll(async () => {
    engine = createEngine({ tasks: [ticker, chat], secretKey: 'tr_dev_xxxxxxxx' })
    engine.makeDefault()
    port = await freePort()
    server = await serve(engine, { port })
    const scopes = ['read:runs', 'read:waitpoints', 'write:waitpoints', 'write:inputStreams']
    app = await serveApp(version, () => engine.createAccessToken({ scopes }, { expiresIn }))
    browser = await openChromium()
  }, TEST_MS)

  afterAll(async () => {
    await browser.close()
    await app[Symbol.asyncDispose]()
    await server.close()
    await engine.close()
  })

  async function open(
    tabs: Tabs,
    given: object,
    isRendered = false,
  ): Promise<Page & { readonly said: readonly string[] }> {
    const page = await tabs.newPage()
    page.setDefaultTimeout(STEP_MS)
    const heard: string[] = []
    page.on('pageerror', ({ message }) => heard.push(message))
    page.on('console', (message) => {
      if (/hydrat|Warning|act\(/i.test(message.text())) heard.push(message.text())
    })
    await page.goto(app.page({ api: server.url, ...given }, isRendered))
    return Object.assign(page, { said: heard })
  }
  const shows = (page: Page, id: string, text: string): Promise<void> =>
    expect.poll(() => page.getByTestId(id).textContent(), SHOWN).toBe(text)

  /** Without a window all tabs are shown: what a browser does with those behind is told to them. */
  const turn = (page: Page, state: 'hidden' | 'visible'): Promise<void> =>
    page.evaluate(async (visibilityState) => {
      const { document } = globalThis as unknown as { document: EventTarget }
      Object.defineProperty(document, 'visibilityState', { value: visibilityState, configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))
    }, state)

  async function ticking(): Promise<{
    source: PushSource<number>
    run: RunHandle<string>
    readonly tick: (count?: number) => void
  }> {
    const key = `${sources.size}`
    const source = new PushSource<number>()
    sources.set(key, source)
    let next = 0
    return {
      source,
      run: await engine.trigger(ticker, key),
      tick: (count = 1) => {
        for (let at = 0; at < count; at += 1) source.push(next++)
      },
    }
  }

  it('go on after a reload, in two tabs and in seven', { timeout: TEST_MS }, async () => {
    const { run, tick, source } = await ticking()
    await using tabs = await openTabs(browser)
    const first = await open(tabs, { run: run.id })
    tick(5)
    await shows(first, 'ticks', '5')
    await first.reload()
    await shows(first, 'ticks', '5')
    const all: Page[] = [first]
    for (let tab = 2; tab <= 7; tab += 1) {
      await turn(first, 'hidden')
      const page = await open(tabs, { run: run.id })
      all.push(page)
      await shows(page, 'ticks', '5')
      await turn(page, 'hidden')
    }
    tick(5)
    source.end()
    for (const page of all) {
      await turn(page, 'visible')
      await shows(page, 'ticks', '10')
      await shows(page, 'run', 'COMPLETED')
      await shows(page, 'in-order', 'true')
      await turn(page, 'hidden')
    }
    expect(first.said).toEqual([])
  })

  it(
    'are eight on one page over HTTP/1.1, with connections left for a click',
    { timeout: TEST_MS },
    async () => {
      const rows = [await ticking(), await ticking(), await ticking()]
      const tags = `board-${version}`
      const token = await engine.wait.createToken({
        message: 'Refund?',
        choices: ['approve', 'reject'],
        tags,
      })
      await using tabs = await openTabs(browser)
      const page = await open(tabs, { board: rows.map(({ run }) => run.id), token: token.id, tag: tags })
      const showRows = async (text: string): Promise<void> => {
        for (const row of rows.keys()) await shows(page, `row-${row}`, text)
      }
      for (const { tick } of rows) tick(5)
      await showRows('EXECUTING 5 true')
      await shows(page, 'pending', 'Refund?')
      await shows(page, 'question', 'Refund?')
      await page.getByRole('button', { name: 'approve' }).click()
      await shows(page, 'answered', 'COMPLETED')
      await shows(page, 'pending', '')
      for (const { tick } of rows) tick(5)
      await showRows('EXECUTING 10 true')
      for (const { source } of rows) source.end()
      await showRows('COMPLETED 10 true')
      expect(page.said).toEqual([])
    },
  )

  it('draw a hundred chunks a second no more often than there are frames', { timeout: TEST_MS }, async () => {
    const { run, tick, source } = await ticking()
    await using tabs = await openTabs(browser)
    const page = await open(tabs, { run: run.id })
    tick()
    await shows(page, 'ticks', '1')
    await page.evaluate(async () => {
      const counted = globalThis as unknown as {
        frames: number
        requestAnimationFrame(work: () => void): void
      }
      counted.frames = 0
      const count = (): void => {
        counted.frames += 1
        counted.requestAnimationFrame(count)
      }
      counted.requestAnimationFrame(count)
    }, null)
    const before = Number(await page.getByTestId('renders').textContent())
    for (let second = 0; second < 300; second += 1) {
      tick()
      await new Promise(setImmediate)
    }
    await shows(page, 'ticks', '301')
    const frames = await page.evaluate(async () => (globalThis as unknown as { frames: number }).frames, null)
    const renders = Number(await page.getByTestId('renders').textContent()) - before
    // React calls a component twice in StrictMode.
    expect(renders / 2).toBeLessThanOrEqual(frames + 2)
    expect(renders).toBeGreaterThan(0)
    source.end()
  })

  it(
    'are rendered by a server with what it has read, and hydrated without a difference',
    { timeout: TEST_MS },
    async () => {
      const { run, tick, source } = await ticking()
      tick(3)
      const initial = await engine.runs.retrieve(run)
      await using tabs = await openTabs(browser)
      const asked = app.asked()
      const address = app.page({ api: server.url, run: run.id, initial }, true)
      const html = await (await fetch(address)).text()
      expect(html).toContain(`<b data-testid="run">${initial.status}</b>`)
      expect(app.asked()).toBe(asked)
      const page = await open(tabs, { run: run.id, initial }, true)
      await shows(page, 'ticks', '3')
      source.end()
      await shows(page, 'run', 'COMPLETED')
      expect(page.said).toEqual([])
    },
  )

  it(
    'go on when the tab was frozen, the network gone, the token expired and the server away',
    { timeout: TEST_MS },
    async () => {
      const { run, tick, source } = await ticking()
      await using tabs = await openTabs(browser)
      const page = await open(tabs, { run: run.id })
      tick()
      await shows(page, 'ticks', '1')

      const session = await tabs.newCDPSession(page)
      await session.send('Page.setWebLifecycleState', { state: 'frozen' })
      tick()
      await session.send('Page.setWebLifecycleState', { state: 'active' })
      await shows(page, 'ticks', '2')

      await tabs.setOffline(true)
      tick()
      await tabs.setOffline(false)
      await shows(page, 'ticks', '3')

      await server.close()
      await shows(page, 'connection', 'reconnecting')
      tick()
      server = await serve(engine, { port })
      await page.evaluate(
        async () => void (globalThis as unknown as EventTarget).dispatchEvent(new Event('online')),
        null,
      )
      await shows(page, 'ticks', '4')
      await shows(page, 'connection', 'live')

      expiresIn = '2s'
      await using later = await openTabs(browser)
      const other = await open(later, { run: run.id })
      await shows(other, 'ticks', '4')
      const asked = app.asked()
      await expect.poll(() => app.asked(), SHOWN).toBeGreaterThan(asked)
      expiresIn = '1h'
      tick()
      await shows(other, 'ticks', '5')
      source.end()
      await shows(other, 'run', 'COMPLETED')
      await shows(page, 'in-order', 'true')
    },
  )

  it('talk with a run, and stop it', { timeout: TEST_MS }, async () => {
    const run = await engine.trigger(chat)
    await using tabs = await openTabs(browser)
    const page = await open(tabs, { run: run.id })
    const send = async (text: string): Promise<void> => {
      await page.getByLabel('Message').fill(text)
      await page.getByRole('button', { name: 'Send' }).click()
    }
    await send('one')
    await shows(page, 'text', '[one] ')
    await send('long')
    await shows(page, 'text', '[one] [long')
    await page.getByRole('button', { name: 'Stop' }).click()
    await shows(page, 'text', '[one] [long] ')
    await send('bye')
    await shows(page, 'run', 'COMPLETED')
    await shows(page, 'status', 'ended')
    await send('late')
    await expect.poll(() => page.getByTestId('status').textContent(), SHOWN).toContain('the run is over')
    expect(page.said).toEqual([])
  })

  it('show a question, answer it, and say who has won', { timeout: TEST_MS }, async () => {
    const tags = `refund-${version}`
    const ask = (message: string): Promise<{ id: string }> =>
      engine.wait.createToken({ message, choices: ['approve', 'reject'], tags })
    const token = await ask('Refund?')
    await using tabs = await openTabs(browser)
    const page = await open(tabs, { token: token.id, tag: tags })
    const other = await open(tabs, { token: token.id, tag: tags })
    await shows(page, 'question', 'Refund?')
    await shows(page, 'pending', 'Refund?')
    await shows(other, 'pending', 'Refund?')
    await page.getByRole('button', { name: 'approve' }).click()
    await shows(other, 'answered', 'COMPLETED')
    await shows(other, 'pending', '')
    expect((await engine.wait.retrieveToken(token)).output).toBe('approve')
    const second = await ask('Again?')
    await shows(page, 'pending', 'Again?')
    const third = await open(tabs, { token: second.id })
    await shows(third, 'question', 'Again?')
    await engine.wait.completeToken(second, 'reject', { by: { id: 'ann', name: 'Ann' } })
    await shows(third, 'answered', 'Ann')
    expect([page.said, other.said, third.said]).toEqual([[], [], []])
  })
})
