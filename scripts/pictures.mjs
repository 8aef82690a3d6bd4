// Draws the pictures of the console in docs/pictures, after `npm run build`. It needs Chromium, and `npm ci --prefix test/browser`.
import { createRequire } from 'node:module'
import { mkdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { createEngine, logger, streams, task, wait } from 'waitpoint'
import { serve } from 'waitpoint/http'

const FOLDER = 'docs/pictures'
const SIZE = { width: 1200, height: 760 }
const KEY = 'only for the pictures'

const { chromium } = createRequire(resolve('test/browser/package.json'))('playwright-core')

const publish = task({
  id: 'publish-article',
  run: async ({ title, by }) => {
    logger.info('a draft is ready', { title })
    await streams.append('draft', `# ${title}\n\nWritten by ${by}.`)
    const token = await wait.createToken({
      timeout: '24h',
      message: `Publish “${title}”?`,
      data: { writtenBy: by, words: 1_840 },
      choices: ['Publish', 'Back to the author'],
      onTimeoutText: 'it stays a draft',
      tags: ['review', `editor:${by}`],
    })
    return wait.forToken(token).unwrap()
  },
})
const digest = task({ id: 'send-digest', run: () => wait.for({ days: 2 }) })
const invoice = task({
  id: 'import-invoice',
  run: async ({ number }) => {
    if (number % 7 === 0) throw new Error(`Invoice ${number} has no customer`)
    return { number, isPaid: true }
  },
})

const engine = createEngine({ tasks: [publish, digest, invoice], secretKey: KEY })
engine.on('error', () => undefined)
engine.on('log', () => undefined)
const server = await serve(engine, { console: true })
for (let number = 4_800; number < 4_812; number += 1)
  await engine.trigger(invoice, { number }, { tags: ['invoices'] })
await engine.trigger(digest, undefined)
for (const [title, by] of [
  ['What a lease is', 'Grace'],
  ['Waiting without a server', 'Ada'],
])
  await engine.trigger(publish, { title, by }, { tags: ['articles'] })
while (engine.stats().executing > 0 || engine.stats().waits < 3) await turn()

mkdirSync(FOLDER, { recursive: true })
const executablePath = process.env.WAITPOINT_CHROMIUM ?? '/usr/bin/chromium'
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'], chromiumSandbox: false })
try {
  const page = await browser.newPage({ viewport: SIZE })
  const draw = (name, height) =>
    page.screenshot({
      path: `${FOLDER}/console-${name}.png`,
      clip: { x: 0, y: 0, width: SIZE.width, height },
    })
  await page.goto(`${server.url}/console`)
  await page.fill('input[name=key]', KEY)
  await page.press('input[name=key]', 'Enter')
  await page.waitForURL('**/runs')
  await draw('runs', 520)
  await page.click('tbody tr a')
  await page.waitForSelector('h1:has-text("publish-article")')
  await draw('run', 720)
  await page.goto(`${server.url}/console/inbox`)
  await draw('inbox', 420)
} finally {
  await browser.close()
  await server.close()
  await engine.close()
}
