import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'

/** As much of Playwright as is used here: what is installed for this folder only, other checks do without. */
interface Playwright {
  readonly chromium: {
    launch(options: {
      readonly executablePath: string
      readonly args: readonly string[]
      readonly chromiumSandbox: boolean
      readonly timeout: number
    }): Promise<Browser>
  }
}

export interface ContextOptions {
  readonly colorScheme?: 'light' | 'dark'
  readonly javaScriptEnabled?: boolean
}

export interface Browser {
  newPage(): Promise<Page>
  newContext(options: ContextOptions): Promise<Context>
  close(): Promise<void>
}

/** Several pages of one profile, and what happens to them. */
export interface Tabs {
  newPage(): Promise<Page>
  setOffline(isOffline: boolean): Promise<void>
  newCDPSession(page: Page): Promise<{ send(method: string, params: object): Promise<unknown> }>
  close(): Promise<void>
}

/** Tabs in a profile of their own, which is closed with them. */
export async function openTabs(browser: Browser): Promise<Tabs & AsyncDisposable> {
  const context = (await browser.newContext({})) as unknown as Tabs
  return Object.assign(context, { [Symbol.asyncDispose]: () => context.close() })
}

/** A profile of its own, with its cookies. */
interface Context {
  addInitScript(script: string): Promise<unknown>
  newPage(): Promise<ConsolePage>
  close(): Promise<void>
}

/** A page that a visitor uses: forms, keys, any size. */
export interface ConsolePage {
  goto(url: string): Promise<unknown>
  fill(selector: string, text: string): Promise<void>
  click(selector: string): Promise<void>
  textContent(selector: string): Promise<string | null>
  evaluate<Result>(script: string): Promise<Result>
  setViewportSize(size: { readonly width: number; readonly height: number }): Promise<void>
  setDefaultTimeout(ms: number): void
  waitForURL(url: string): Promise<void>
  readonly keyboard: { press(key: string): Promise<void> }
}

export interface Page {
  goto(url: string): Promise<unknown>
  reload(): Promise<unknown>
  on(event: 'console', listener: (message: { text(): string }) => void): void
  getByTestId(id: string): Element
  getByLabel(text: string): Element
  getByRole(role: 'button', options: { readonly name: string }): Element
  evaluate<Result, Given>(work: (given: Given) => Promise<Result>, given: Given): Promise<Result>
  waitForResponse(url: RegExp): Promise<unknown>
  setDefaultTimeout(ms: number): void
  on(event: 'pageerror', listener: (error: Error) => void): void
  close(): Promise<void>
}

interface Element {
  click(): Promise<void>
  fill(text: string): Promise<void>
  textContent(): Promise<string | null>
}

/** Where Chromium is, by its name in the systems it comes with; or where `WAITPOINT_CHROMIUM` says. */
export const chromiumPath: string | undefined = [
  process.env['WAITPOINT_CHROMIUM'],
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
].find((path) => path !== undefined && existsSync(path))

/** It makes no requests of its own, only those of the pages it is given. */
const QUIET = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** What nothing takes that ends at all, also on a machine that is busy with other things. */
export const STEP_MS = 120_000

/** Starts Chromium without a window, with a new and empty profile; by what drives it as it is found from there. */
export function openChromium(installed: NodeJS.Require = createRequire(import.meta.url)): Promise<Browser> {
  const { chromium } = installed('playwright-core') as Playwright
  const executablePath = chromiumPath ?? ''
  return chromium.launch({ executablePath, args: QUIET, chromiumSandbox: false, timeout: STEP_MS })
}

/** A page in a profile of its own, which is closed with it. */
export async function openPage(
  browser: Browser,
  options: ContextOptions = {},
): Promise<ConsolePage & AsyncDisposable> {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  page.setDefaultTimeout(STEP_MS)
  return Object.assign(page, { [Symbol.asyncDispose]: () => context.close() })
}
