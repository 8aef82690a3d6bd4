import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createEngine, type Engine, type LinkedToken } from 'waitpoint'
import { type HttpServer, serve } from 'waitpoint/http'
import { z } from 'zod'
import { formOf } from '../../src/answer-page/form.ts'
import {
  answerPage,
  answerPageHeaders,
  type AnswerView,
  donePage,
  type DoneView,
} from '../../src/answer-page/page.ts'
import type { AnswerPageOptions } from '../../src/answer-page/texts.ts'
import { answerOf, type SentField, type ReadAnswer } from '../../src/answer-page/values.ts'
import {
  type Browser,
  chromiumPath,
  type ConsolePage,
  type ContextOptions,
  openChromium,
  openPage,
  STEP_MS,
} from './chromium.ts'

const TEST_MS = 300_000
const WIDTHS = [360, 1_000]

const now = Date.parse('2026-11-27T14:14:00Z')
const data = {
  customer: 'Halberd & Sons',
  order: '48213 of 19 November',
  paid: '€ 412.50 by card',
  reason: 'Two crates arrived open',
  photographs: ['https://example.com/crate-1.jpg', 'https://example.com/crate-2.jpg'],
  lines: [
    { sku: 'crate-1', count: 2, price: '€ 92.00' },
    { sku: 'crate-2', count: 1, price: '€ 320.50' },
  ],
  address: { street: 'Strandgata 4', city: 'Bergen', more: { floor: 2 } },
}
const question = {
  message: 'Refund € 184.00 to Halberd & Sons?',
  data,
  timeoutAt: now + 47 * 60_000,
  onTimeoutText: 'the refund is rejected.',
}
const brand = { name: 'Fjord Shop', accent: '#0d6e6e' }

const refund = formOf({
  schema: z.toJSONSchema(
    z.object({
      decision: z.union([
        z.literal('approve').meta({ title: 'Approve', description: '€ 184.00 goes back to the card' }),
        z.literal('part').meta({ title: 'Approve a part', description: 'you choose the amount' }),
        z.literal('reject').meta({ title: 'Reject', description: 'the customer gets a reply' }),
      ]),
      amount: z.number().min(0.01).max(184).multipleOf(0.01).optional().meta({ title: 'Amount in €' }),
      note: z.string().max(500).optional().meta({ description: 'The team sees it.' }),
    }),
  ),
})
const everything = formOf({
  schema: z.toJSONSchema(
    z.object({
      reviewer: z.string().min(2).max(80),
      mail: z.email(),
      page: z.url().optional(),
      due: z.iso.date(),
      meeting: z.string().meta({ format: 'date-time' }).optional(),
      start: z.string().meta({ format: 'time' }).nullable(),
      copies: z.int().min(1).max(20),
      discount: z.number().optional(),
      isUrgent: z.boolean().meta({ description: 'A person looks at it today.' }),
      wasSeen: z.boolean().optional(),
      country: z.enum(['Norway', 'Sweden', 'Denmark', 'Finland', 'Iceland', 'Estonia', 'Latvia']),
      topics: z.array(z.enum(['price', 'quality', 'delivery'])),
      address: z
        .object({ street: z.string().max(80), city: z.string().max(80), isHome: z.boolean() })
        .optional(),
      lines: z
        .array(
          z.object({
            sku: z.string().max(20),
            count: z.int().min(1),
            kind: z.enum(['new', 'used']).optional(),
          }),
        )
        .max(10),
    }),
  ),
})
const errors = [
  { path: ['reviewer'], message: 'Please fill this in.' },
  { path: ['copies'], message: 'Please write a number, such as 12.5.' },
  { path: ['country'], message: 'Please choose one.' },
  { path: ['lines', 0, 'count'], message: 'Please write a whole number.' },
  { path: ['wasSeen'], message: 'Please choose one.' },
]
const typed: readonly SentField[] = [
  ['answer.6', 'two'],
  ['answer.13.2.0', 'bolt'],
  ['answer.13.2.1', '1.5'],
]
const LONG = `${'x'.repeat(300)} ${'a long sentence '.repeat(40)}`
const long = formOf({
  schema: {
    type: 'object',
    properties: {
      [LONG]: { enum: [LONG, 'b'], description: LONG },
      many: { enum: Array.from({ length: 9 }, (_, at) => `${at} ${LONG}`) },
      rows: {
        title: LONG,
        type: 'array',
        items: { type: 'object', properties: { [LONG]: { type: 'number' } } },
      },
    },
  },
})

const asked: Readonly<Record<string, AnswerView>> = {
  choices: {
    question,
    model: formOf({ choices: ['approve', 'reject'] }),
    now,
    person: { id: 'ann', name: 'Ann' },
  },
  refund: { question, model: refund, now },
  everything: { question: { message: 'Order more?' }, model: everything, now },
  errors: { question: { message: 'Order more?' }, model: everything, now, typed, errors },
  json: { question, model: formOf({ schema: { type: 'array', items: { type: 'string' } } }), now },
  'json with an error': {
    question,
    model: formOf({}),
    now,
    typed: [['answer', '{"a']],
    errors: [{ path: [], message: 'This is not JSON.' }],
  },
  'long texts': {
    question: { message: LONG, data: { [LONG]: LONG, rows: [{ a: LONG, b: LONG }] } },
    model: long,
    now,
  },
  'right to left': {
    question: { message: 'هل تريد رد المبلغ؟', data: { العميل: 'شركة' } },
    model: formOf({ choices: ['نعم', 'لا'] }),
    now,
  },
  refused: {
    question: { message: 'Refund?' },
    model: refund,
    now,
    refused: 'This link is for another person.',
  },
}
const by = { id: 'ann', name: 'Ann', via: 'mail' }
const at = now - 300_000
const done: Readonly<Record<string, DoneView>> = {
  won: {
    question,
    model: refund,
    now,
    outcome: {
      kind: 'answered',
      reader: 'won',
      by,
      at,
      answer: { decision: 'part', amount: 92, note: 'As agreed.' },
    },
  },
  lost: {
    question,
    model: formOf({ choices: ['approve', 'reject'] }),
    now,
    outcome: { kind: 'answered', reader: 'lost', answer: 'reject', by, at },
  },
  'timed out': { question, now, outcome: { kind: 'timed-out', reader: 'lost', at } },
  withdrawn: {
    question,
    now,
    outcome: { kind: 'withdrawn', reader: 'looks', by, at, reason: 'It was paid by bank.' },
  },
}

describe.skipIf(chromiumPath === undefined)('the page of a question in Chromium', () => {
  const pages: Readonly<Record<string, string>> = {
    ...Object.fromEntries(
      Object.entries(asked).map(([name, view]) => [name, answerPage(view, optionsOf(name))]),
    ),
    ...Object.fromEntries(Object.entries(done).map(([name, view]) => [name, donePage(view, { brand })])),
  }
  const sent: ReadAnswer[] = []
  let server: Server
  let url: string
  let browser: Browser
  let axe: string

  beforeAll(async () => {
    axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
    server = createServer((request, response) => {
      const name = decodeURIComponent(new URL(request.url ?? '', 'http://x').pathname.slice(1))
      let body = ''
      request.setEncoding('utf8').on('data', (part: string) => (body += part))
      request.on('end', () => {
        if (request.method === 'POST') {
          const view = asked[name]
          if (view !== undefined) sent.push(answerOf(view.model, [...new URLSearchParams(body)]))
        }
        const page = (request.method === 'POST' ? pages['won'] : pages[name]) ?? ''
        response.writeHead(page === '' ? 404 : 200, answerPageHeaders(page)).end(page)
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    browser = await openChromium()
  }, TEST_MS)

  afterAll(async () => {
    await browser.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })

  const open = (options?: ContextOptions): Promise<ConsolePage & AsyncDisposable> =>
    openPage(browser, options)

  it.each(['light', 'dark'] as const)(
    'has no violation and no sideways scrolling at any width (%s)',
    { timeout: TEST_MS },
    async (colorScheme) => {
      await using page = await open({ colorScheme })
      for (const name of Object.keys(pages)) {
        await page.setViewportSize({ width: 360, height: 800 })
        await page.goto(`${url}/${name}`)
        await page.evaluate(axe)
        for (const width of WIDTHS) {
          await page.setViewportSize({ width, height: 800 })
          const overflow = await page.evaluate<number>(
            'document.documentElement.scrollWidth - document.documentElement.clientWidth',
          )
          expect([name, width, overflow]).toEqual([name, width, 0])
          const violations = await page.evaluate<readonly unknown[]>(
            `axe.run({ rules: { 'target-size': { enabled: true } } }).then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html.slice(0, 200))]))`,
          )
          expect([name, width, violations]).toEqual([name, width, []])
        }
      }
    },
  )

  it('is styled under its policy, which lets no script run', { timeout: TEST_MS }, async () => {
    await using page = await open()
    await page.goto(`${url}/choices`)
    expect(await page.evaluate(`getComputedStyle(document.querySelector('.main')).backgroundColor`)).toBe(
      'rgb(13, 110, 110)',
    )
    const isRun = await page.evaluate<boolean>(
      `(() => { const one = document.createElement('script'); one.textContent = 'window.isRun = true'; document.body.append(one); return window.isRun === true })()`,
    )
    expect(isRun).toBe(false)
  })

  it('is answered without JavaScript, and tells all that was filled in', { timeout: TEST_MS }, async () => {
    await using page = await open({ javaScriptEnabled: false })
    await page.goto(`${url}/refund`)
    await page.click('[name="answer.0"][value="1"]')
    await page.fill('[name="answer.1"]', '92.50')
    await page.fill('[name="answer.2"]', 'As agreed.\nThanks')
    await page.click('.main')
    expect(await page.textContent('main')).toContain('Thank you. Your answer is sent.')
    expect(sent.pop()).toEqual({
      kind: 'answer',
      value: { decision: 'part', amount: 92.5, note: 'As agreed.\nThanks' },
    })
    await page.goto(`${url}/everything`)
    for (const [at, text] of Object.entries({
      0: 'Ann',
      1: 'ann@example.com',
      3: '2026-12-01',
      4: '2026-12-01T09:30',
      6: '3',
      '13.1.0': 'bolt',
      '13.1.1': '7',
    }))
      await page.fill(`[name="answer.${at}"]`, text)
    for (const box of ['8', '9"][value="1', '11"][value="2']) await page.click(`[name="answer.${box}"]`)
    await page.click('[name=more]')
    expect(sent.pop()).toEqual({ kind: 'more' })
    expect(sent).toEqual([])
  })

  it('is answered by keys alone', { timeout: TEST_MS }, async () => {
    await using page = await open()
    await page.goto(`${url}/refund`)
    const focused = (): Promise<string> =>
      page.evaluate('document.activeElement.name || document.activeElement.tagName')
    // Nothing has the focus, so that no key sends anything by chance.
    expect(await focused()).toBe('BODY')
    for (let step = 0; step < 20 && (await focused()) !== 'answer.0'; step += 1)
      await page.keyboard.press('Tab')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Tab')
    expect(await focused()).toBe('answer.1')
    for (const key of ['Tab', 'O', 'k', 'Tab']) await page.keyboard.press(key)
    await page.keyboard.press('Enter')
    await page.waitForURL(`${url}/refund#form`)
    await expect.poll(() => sent.length, { timeout: STEP_MS }).toBe(1)
    expect(sent.pop()).toEqual({ kind: 'answer', value: { decision: 'reject', note: 'Ok' } })
  })

  it('is not sent while a needed field is blank', { timeout: TEST_MS }, async () => {
    await using page = await open({ javaScriptEnabled: false })
    await page.goto(`${url}/refund`)
    await page.click('.main')
    expect(await page.textContent('h1')).toContain('Refund')
    expect(sent).toEqual([])
  })
})

function optionsOf(name: string): AnswerPageOptions {
  return name === 'right to left' ? { lang: 'ar' } : { brand, lang: 'en-GB', timeZone: 'Europe/Oslo' }
}

describe.skipIf(chromiumPath === undefined)('the link of a question in Chromium', () => {
  let engine: Engine
  let server: HttpServer
  let browser: Browser

  beforeAll(async () => {
    engine = createEngine({ tasks: [] })
    server = await serve(engine, { answerPage: { brand } })
    browser = await openChromium()
  }, TEST_MS)

  afterAll(async () => {
    await browser.close()
    await server.close()
    await engine.close()
  })

  const asked = (): Promise<LinkedToken> =>
    engine.wait.createToken({
      message: 'Refund € 184.00?',
      schema: z.object({ decision: z.enum(['approve', 'reject']), note: z.string().max(500).optional() }),
      data: { order: '4-8213' },
      timeout: '2d',
    })

  it(
    'takes an answer without JavaScript, and says afterwards who gave it and when',
    { timeout: TEST_MS },
    async () => {
      await using page = await openPage(browser, { javaScriptEnabled: false })
      const token = await asked()
      await page.goto(token.linkFor({ id: 'ann', name: 'Ann' }))
      await page.click('[name="answer.0"][value="0"]')
      await page.fill('[name="answer.1"]', 'As agreed.')
      await page.click('.main')
      expect(await page.textContent('main')).toContain('Thank you')
      const { output, answeredBy } = await engine.wait.retrieveToken(token)
      expect([output, answeredBy]).toEqual([
        { decision: 'approve', note: 'As agreed.' },
        { id: 'ann', name: 'Ann', via: 'link' },
      ])
      await page.goto(token.link)
      const shown = await page.textContent('main')
      for (const part of ['This is answered', 'by Ann', 'As agreed.']) expect(shown).toContain(part)
      expect(shown).toMatch(/\d:\d\d/)
    },
  )

  it('tells the loser of a race who has won', { timeout: TEST_MS }, async () => {
    await using page = await openPage(browser, { javaScriptEnabled: false })
    const token = await asked()
    await page.goto(token.linkFor({ id: 'bo', name: 'Bo' }))
    await engine.wait.completeToken(token, { decision: 'reject' }, { by: { id: 'ann', name: 'Ann' } })
    await page.click('[name="answer.0"][value="0"]')
    await page.click('.main')
    const told = await page.textContent('main')
    for (const part of ['answered before you', 'by Ann', 'changed nothing']) expect(told).toContain(part)
    expect((await engine.wait.retrieveToken(token)).output).toEqual({ decision: 'reject' })
  })

  it('is answered by keys alone at 360 px, without a violation', { timeout: TEST_MS }, async () => {
    await using page = await openPage(browser)
    const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
    const expectFine = async (): Promise<void> => {
      const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
      expect(await page.evaluate(overflow)).toBe(0)
      await page.evaluate(axe)
      expect(
        await page.evaluate('axe.run().then(({ violations }) => violations.map(({ id }) => id))'),
      ).toEqual([])
    }
    await page.setViewportSize({ width: 360, height: 800 })
    const token = await asked()
    await page.goto(token.link)
    await expectFine()
    const focused = (): Promise<string> =>
      page.evaluate('document.activeElement.name || document.activeElement.tagName')
    for (let step = 0; step < 20 && (await focused()) !== 'answer.0'; step += 1)
      await page.keyboard.press('Tab')
    for (const key of ['ArrowDown', 'Tab', 'O', 'k', 'Tab', 'Enter']) await page.keyboard.press(key)
    await expect
      .poll(async () => (await engine.wait.retrieveToken(token)).output, { timeout: STEP_MS })
      .toEqual({ decision: 'reject', note: 'Ok' })
    await expect.poll(() => page.textContent('main'), { timeout: STEP_MS }).toContain('Thank you')
    await expectFine()
  })
})
