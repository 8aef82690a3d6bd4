// Draws the page of each application in examples, for its README. It needs Chromium, and `npm ci --prefix test/browser`.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const PORT = '3210'
const { chromium } = createRequire(resolve('test/browser/package.json'))('playwright-core')

/** What a person does on each page before it is drawn. */
const STORIES = {
  'approval-by-mail': async (page) => {
    await page.click('button')
    await page.click('a:has-text("Answer")')
    await page.check('text=Approve')
    await page.fill('[name="answer.1"]', 'by night train')
    await page.click('button')
    await page.goto(`http://localhost:${PORT}`)
    await page.waitForSelector('text=It is approved: by night train.')
    await page.fill('[name=what]', 'A desk lamp')
    await page.fill('[name=euros]', '39')
    await page.click('button')
    await page.waitForSelector('text=A desk lamp, € 39 ada')
    await page.waitForSelector('a:has-text("Answer")')
  },
  'nightly-import': async (page) => {
    await page.click('button')
    await page.waitForSelector('text=of them changed', { timeout: 60_000 })
    await page.click('button')
    await page.waitForSelector('text=/(completed.*){3}executing/')
  },
  chat: async (page) => {
    for (const text of ['What is a waitpoint?', 'And who answers it?']) {
      await page.fill('[name=text]', text)
      await page.click('button:text-is("Send")')
    }
    await page.waitForSelector('text=“What is a waitpoint?”')
    await page.click('text=Stop the answer')
    await page.waitForSelector('text=/“And who answers it.*where it was/', { timeout: 60_000 })
  },
  'early-webhook': async (page) => {
    for (const [number, buttons] of [
      ['7', ['The payment service calls', 'The customer orders']],
      ['8', ['The customer orders']],
      ['9', ['The payment service calls']],
    ])
      for (const button of buttons) {
        await page.fill('[name=order]', number)
        await page.click(`text=${button}`)
      }
    await page.waitForSelector('text=waits for its payment')
  },
}

async function draw(browser, name, story) {
  const cwd = mkdtempSync(join(tmpdir(), 'waitpoint-picture-'))
  const env = { ...process.env, PORT }
  const child = spawn(process.execPath, [resolve('scripts/example.mjs'), name], { cwd, env })
  await once(child.stdout, 'data')
  const page = await browser.newPage({ viewport: { width: 900, height: 300 } })
  await page.goto(`http://localhost:${PORT}`)
  await story(page)
  await page.screenshot({ path: `examples/${name}/page.png`, fullPage: true })
  await page.close()
  child.kill('SIGINT')
  await once(child, 'exit')
  rmSync(cwd, { recursive: true })
}

/** The question of `npm start`, on the page for its answer. */
async function drawReview(browser) {
  const child = spawn('npm', ['start', '--', '--wait', '600'], { stdio: ['ignore', 'pipe', 'inherit'] })
  let printed = ''
  let isDrawn = false
  for await (const text of child.stdout.setEncoding('utf8')) {
    printed += text
    const [, address] = /answer on its page: (\S+)\s/.exec(printed) ?? []
    if (address === undefined || isDrawn) continue
    isDrawn = true
    const page = await browser.newPage({ viewport: { width: 900, height: 300 } })
    await page.goto(address)
    await page.screenshot({ path: 'examples/review/page.png', fullPage: true })
    await page.click('button')
    await page.close()
  }
}

const executablePath = process.env.WAITPOINT_CHROMIUM ?? '/usr/bin/chromium'
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'], chromiumSandbox: false })
try {
  await drawReview(browser)
  for (const [name, story] of Object.entries(STORIES)) await draw(browser, name, story)
} finally {
  await browser.close()
}
