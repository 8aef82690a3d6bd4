import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AnyTask, createEngine, type Engine } from 'waitpoint'
import { serve } from 'waitpoint/http'
import { type Browser, chromiumPath, openChromium, type Page } from './chromium.ts'
import { type PageServer, servePage } from './page-server.ts'

/** No step of a test takes a second; the browser's start does, on a busy machine. */
const TEST_MS = 20_000
const SHOWN_MS = 8_000
const START_MS = 60_000

/** An engine behind its server, as the page reaches it. */
interface Served extends AsyncDisposable {
  readonly engine: Engine
  readonly url: string
}

async function served(...tasks: readonly AnyTask[]): Promise<Served> {
  const engine = createEngine({ tasks, secretKey: 'tr_dev_xxxxxxxx' })
  const server = await serve(engine)
  return {
    engine,
    url: server.url,
    [Symbol.asyncDispose]: async () => {
      await server.close()
      await engine.close()
    },
  }
}

describe.skipIf(chromiumPath === undefined)('the published React hooks on a page in Chromium', () => {
  let pages: PageServer
  let browser: Browser

  beforeAll(async () => {
    pages = await servePage()
    browser = await openChromium()
  }, START_MS)

  afterAll(async () => {
    await browser.close()
    await pages[Symbol.asyncDispose]()
  })

  /** Opens the page of an application, with what its server would write into it. */
  async function open(
    { url }: Served,
    given: Readonly<Record<string, string>>,
  ): Promise<Page & AsyncDisposable & { readonly thrown: readonly string[] }> {
    const page = await browser.newPage()
    const thrown: string[] = []
    page.on('pageerror', ({ message }) => thrown.push(message))
    await page.goto(pages.page({ api: url, ...given }))
    return Object.assign(page, { thrown, [Symbol.asyncDispose]: () => page.close() })
  }

  const shows = (page: Page, id: string, text: string): Promise<void> =>
    expect.poll(() => page.getByTestId(id).textContent(), { timeout: SHOWN_MS }).toBe(text)

  it('change nothing with the second click', { timeout: TEST_MS }, async () => {
    await using app = await served()
    const token = await app.engine.wait.createToken()
    await using page = await open(app, { token: token.id, tokenAccess: token.publicAccessToken })
    for (const name of ['Refuse', 'Approve']) {
      await page.getByRole('button', { name }).click()
      await shows(page, 'answer', 'Thank you')
    }
    expect((await app.engine.wait.retrieveToken(token)).output).toEqual({ approved: false })
    expect(page.thrown).toEqual([])
  })

  it(
    'are all that a page may use: what needs the secret key is not open to pages',
    {
      timeout: TEST_MS,
    },
    async () => {
      await using app = await served()
      const token = await app.engine.wait.createToken()
      await using page = await open(app, {})
      const opens = (path: string, method: string): Promise<boolean> =>
        page.evaluate(
          ([url, verb]) =>
            fetch(url, { method: verb, headers: { authorization: 'Bearer tr_dev_xxxxxxxx' } }).then(
              () => true,
              () => false,
            ),
          [`${app.url}${path}`, method] as const,
        )
      const tokens = '/api/v1/waitpoints/tokens'
      expect(await opens(tokens, 'GET')).toBe(false)
      expect(await opens(tokens, 'POST')).toBe(false)
      expect(await opens(new URL(token.url).pathname, 'POST')).toBe(false)
      expect((await app.engine.wait.retrieveToken(token)).status).toBe('WAITING')
      expect(await opens(`${tokens}/${token.id}/complete`, 'POST')).toBe(true)
    },
  )

  it('are typed as the page uses them', { timeout: START_MS }, async () => {
    const compiler = ['node_modules/typescript/bin/tsc', '-p', 'test/browser/page']
    const { stdout } = await promisify(execFile)(process.execPath, compiler)
    expect(stdout).toBe('')
  })
})
