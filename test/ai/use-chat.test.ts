import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Browser, chromiumPath, openChromium, type Page, STEP_MS } from '../browser/chromium.ts'
import { freePort } from '../support/free-port.ts'

const SHOWN = { timeout: STEP_MS }
const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const isNew = Number(process.versions.node.split('.')[0]) >= 22
const folder = mkdtempSync(join(tmpdir(), 'waitpoint-chat-'))
/** Where the drivers of databases are found. */
const program = here(`../databases/node_modules/.chat-server-${process.pid}.mjs`)

/** Bundles the server, with the AI SDK for this Node. */
async function buildServer(): Promise<void> {
  const ai = here(isNew ? 'node_modules/ai-7/dist' : 'node_modules/ai-6/dist')
  const file = isNew ? 'index.js' : 'index.mjs'
  const ours = ['ai', 'http', 'sqlite'].map((name) => [`waitpoint/${name}`, resolve(`src/${name}.ts`)])
  await build({
    entryPoints: [here('chat-server.ts')],
    outfile: program,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    alias: {
      ...Object.fromEntries(ours),
      waitpoint: resolve('src/index.ts'),
      'ai/test': `${ai}/test/${file}`,
      ai: `${ai}/${file}`,
    },
    // Bundled packages of CommonJS ask for what Node has.
    banner: {
      js: `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);`,
    },
    logLevel: 'error',
  })
}

async function buildPage(react: 3 | 4): Promise<string> {
  const outfile = join(folder, `page-${react}.js`)
  await build({
    entryPoints: [here('page/main.js')],
    outfile,
    bundle: true,
    format: 'esm',
    absWorkingDir: here('.'),
    alias: { '@ai-sdk/react': `@ai-sdk/react-${react}` },
    define: { 'process.env.NODE_ENV': '"production"' },
    logLevel: 'error',
  })
  return outfile
}

/** The server of an application at an address that stays, over its deaths. */
class ChatServer implements AsyncDisposable {
  readonly #place: string
  readonly #port: number
  readonly #script: string
  #child: ChildProcess | undefined

  constructor(script: string, port: number) {
    this.#script = script
    this.#port = port
    this.#place = join(folder, `${port}.db`)
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  async start(): Promise<void> {
    const given = [program, this.#place, String(this.#port), this.#script]
    this.#child = spawn(process.execPath, given, { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(this.#child.stdout!, 'data')
  }

  async kill(): Promise<void> {
    const exit = once(this.#child!, 'exit')
    this.#child!.kill('SIGKILL')
    await exit
  }

  /** The model says this, once it was asked so many times in this life of the server. */
  async say(count: number, query: string): Promise<void> {
    await expect.poll(() => this.#ask('/calls'), SHOWN).toBe(String(count))
    await this.#ask(`/say?${query}`)
  }

  async cut(): Promise<void> {
    await this.#ask('/cut').catch(() => undefined)
  }

  async #ask(path: string): Promise<string> {
    return (await fetch(this.url + path)).text()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
  }
}

describe.skipIf(chromiumPath === undefined)('useChat in Chromium', () => {
  let browser: Browser

  beforeAll(async () => {
    await buildServer()
    browser = await openChromium(createRequire(import.meta.url))
  })
  afterAll(async () => {
    await browser.close()
    for (const path of [folder, program]) rmSync(path, { recursive: true, force: true })
  })

  it.each([3, 4] as const)(
    'of @ai-sdk/react %i shows one answer, whatever happens to its server',
    async (react) => {
      await using server = new ChatServer(await buildPage(react), await freePort())
      await server.start()
      const [page, tab] = [await browser.newPage(), await browser.newPage()]
      const shows = (where: Page, text: string): Promise<void> =>
        expect.poll(() => where.getByTestId('said').textContent(), SHOWN).toBe(text)
      await page.goto(server.url)
      await page.getByRole('button', { name: 'Send' }).click()
      await server.say(1, 'text=one')
      await shows(page, 'user: hello | assistant: one')
      await tab.goto(server.url)
      await shows(tab, 'user: hello | assistant: one')

      // A connection is cut: both go on with the same answer.
      await server.cut()
      await server.say(1, 'text=%20two&more=1')
      for (const each of [page, tab]) await shows(each, 'user: hello | assistant: one two')

      // The process is killed in the middle of an answer, which another one writes anew. Both pages are back before its end: one that
      // comes later has to read the messages.
      await server.kill()
      await server.start()
      await server.say(1, 'text=another')
      for (const each of [page, tab]) await shows(each, 'user: hello | assistant: another')
      await server.say(1, 'text=%20answer&more=1&end=1')
      for (const each of [page, tab]) await shows(each, 'user: hello | assistant: another answer')

      // A turn is stopped: what it has said is kept.
      const before = 'user: hello | assistant: another answer | user: hello | assistant: '
      await page.getByRole('button', { name: 'Send' }).click()
      await server.say(2, 'text=half')
      await shows(page, `${before}half`)
      await page.getByRole('button', { name: 'Stop' }).click()
      await expect.poll(() => page.getByTestId('status').textContent(), SHOWN).toBe('ready')
      await tab.goto(server.url)
      await shows(tab, `${before}half`)
      for (const each of [page, tab]) await each.close()
    },
  )
})
