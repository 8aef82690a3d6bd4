import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AnyTask, createEngine, type Engine, metadata, streams, task, wait } from 'waitpoint'
import { serve } from 'waitpoint/http'
import { PushSource } from '../support/streams.ts'
import { type Browser, chromiumPath, openChromium, type Page, STEP_MS } from './chromium.ts'
import { type PageServer, servePage } from './page-server.ts'

/** No step of a test takes a second; the browser's start does, on a busy machine. */
const TEST_MS = 300_000
const SHOWN = { timeout: STEP_MS }
const START_MS = 300_000

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
    page.setDefaultTimeout(STEP_MS)
    const thrown: string[] = []
    page.on('pageerror', ({ message }) => thrown.push(message))
    await page.goto(pages.page({ api: url, ...given }))
    return Object.assign(page, { thrown, [Symbol.asyncDispose]: () => page.close() })
  }

  const shows = (page: Page, id: string, text: string): Promise<void> =>
    expect.poll(() => page.getByTestId(id).textContent(), SHOWN).toBe(text)

  it(
    'show every chunk of two streams as it comes, and the end of the run',
    { timeout: TEST_MS },
    async () => {
      const [words, steps] = [new PushSource<string>(), new PushSource<{ readonly name: string }>()]
      const draft = task({
        id: 'draft',
        run: async () => {
          await metadata.stream('words', words)
          await metadata.stream('steps', steps)
          await wait.forToken(token).unwrap()
          return { pages: 2 }
        },
      })
      await using app = await served(draft)
      const token = await app.engine.wait.createToken()
      const run = await app.engine.trigger(draft, null)
      await using page = await open(app, { run: run.id, runAccess: run.publicAccessToken })

      // Beside its wait the run reads two sources.
      await shows(page, 'status', 'EXECUTING')
      words.push('Dear')
      await shows(page, 'words', 'Dear')
      steps.push({ name: 'greeting' })
      await shows(page, 'steps', 'greeting')
      words.push('Ada')
      await shows(page, 'words', 'Dear Ada')
      expect(await page.getByTestId('ended').textContent()).toBe('not yet')

      for (const source of [words, steps]) source.end()
      await app.engine.wait.completeToken(token, null)
      await shows(page, 'ended', 'COMPLETED')
      await shows(page, 'output', '{"pages":2}')
      await shows(page, 'draft-status', 'COMPLETED')
      expect([await page.getByTestId('words').textContent(), page.thrown]).toEqual(['Dear Ada', []])
    },
  )

  it('send messages into a run, by the access that its trigger gave', { timeout: TEST_MS }, async () => {
    const inbox = streams.input<{ readonly text: string }>({ id: 'messages' })
    const chat = task({
      id: 'chat',
      run: async () => [await inbox.wait().unwrap(), await inbox.wait().unwrap()],
    })
    await using app = await served(chat)
    const run = await app.engine.trigger(chat, null)
    await using page = await open(app, { run: run.id, runAccess: run.publicAccessToken })
    await shows(page, 'status', 'WAITING')
    for (const text of ['hello', '<b>and</b> bye']) {
      await page.getByLabel('Message').fill(text)
      await page.getByRole('button', { name: 'Send' }).click()
      await shows(page, 'sent', 'ready')
    }
    expect(await run.result()).toEqual([{ text: 'hello' }, { text: '<b>and</b> bye' }])
    await shows(page, 'ended', 'COMPLETED')
    await page.getByRole('button', { name: 'Send' }).click()
    await expect.poll(() => page.getByTestId('sent').textContent(), SHOWN).toContain('the run is over')
    expect(page.thrown).toHaveLength(1)
  })

  it('complete with a click the token that a run waits for', { timeout: TEST_MS }, async () => {
    const review = task({
      id: 'review',
      run: (token: string) => wait.forToken<{ approved: boolean }>(token).unwrap(),
    })
    await using app = await served(review)
    const token = await app.engine.wait.createToken()
    const run = await app.engine.trigger(review, token.id)
    await using page = await open(app, {
      run: run.id,
      runAccess: run.publicAccessToken,
      token: token.id,
      tokenAccess: token.publicAccessToken,
    })
    await shows(page, 'status', 'WAITING')
    await page.getByRole('button', { name: 'Approve' }).click()
    await shows(page, 'answer', 'Thank you')
    expect(await run.result()).toEqual({ approved: true })
    await shows(page, 'output', '{"approved":true}')
    await shows(page, 'ended', 'COMPLETED')
    expect(page.thrown).toEqual([])
  })

  it('change nothing with the second click', { timeout: TEST_MS }, async () => {
    await using app = await served()
    const token = await app.engine.wait.createToken({
      message: 'Refund?',
      schema: { type: 'object', properties: { approved: { type: 'boolean' } } },
    })
    await using page = await open(app, { token: token.id, tokenAccess: token.publicAccessToken })
    for (const name of ['Refuse', 'Approve']) {
      const answered = page.waitForResponse(/\/complete$/)
      await page.getByRole('button', { name }).click()
      await answered
      await shows(page, 'answer', 'Thank you')
    }
    expect((await app.engine.wait.retrieveToken(token)).output).toEqual({ approved: false })
    expect(page.thrown).toEqual([])
  })

  it(
    'say what is wrong with an answer that does not fit, and take another one',
    { timeout: TEST_MS },
    async () => {
      await using app = await served()
      const token = await app.engine.wait.createToken({
        message: 'Refund?',
        schema: { type: 'object', properties: { approved: { const: true } } },
      })
      await using page = await open(app, { token: token.id, tokenAccess: token.publicAccessToken })
      await page.getByRole('button', { name: 'Refuse' }).click()
      await expect.poll(() => page.getByTestId('answer').textContent(), SHOWN).toContain('approved')
      expect((await app.engine.wait.retrieveToken(token)).status).toBe('WAITING')
      await page.getByRole('button', { name: 'Approve' }).click()
      await shows(page, 'answer', 'Thank you')
      expect((await app.engine.wait.retrieveToken(token)).output).toEqual({ approved: true })
      // The page leaves the rejection of its click to the window.
      expect(page.thrown).toEqual([expect.stringContaining('approved')])
    },
  )

  it('show why a run failed, also to who comes after its end', { timeout: TEST_MS }, async () => {
    const failing = task({
      id: 'failing',
      run: async () => {
        throw new RangeError('Too many pages')
      },
    })
    await using app = await served(failing)
    const run = await app.engine.trigger(failing, null)
    expect(await run.outcome()).toMatchObject({ ok: false })
    await using page = await open(app, { run: run.id, runAccess: run.publicAccessToken })
    await shows(page, 'status', 'FAILED')
    await shows(page, 'error', 'Too many pages')
    await shows(page, 'ended', 'FAILED')
    expect(page.thrown).toEqual([])
  })

  it('are told what is wrong with the access to another token or run', { timeout: TEST_MS }, async () => {
    const nothing = task({ id: 'nothing', run: async () => null })
    await using app = await served(nothing)
    const tokens = [await app.engine.wait.createToken(), await app.engine.wait.createToken()] as const
    const runs = [await app.engine.trigger(nothing, null), await app.engine.trigger(nothing, null)] as const
    await using page = await open(app, {
      run: runs[0].id,
      runAccess: runs[1].publicAccessToken,
      token: tokens[0].id,
      tokenAccess: tokens[1].publicAccessToken,
    })
    await page.getByRole('button', { name: 'Approve' }).click()
    await shows(page, 'answer', 'Unauthorized')
    expect((await app.engine.wait.retrieveToken(tokens[0])).status).toBe('WAITING')
    // The hook puts the answer into a text of its own.
    await expect.poll(() => page.getByTestId('error').textContent(), SHOWN).toContain('"Unauthorized"')
    await shows(page, 'status', 'unknown')
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
