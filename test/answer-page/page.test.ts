import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { formOf } from '../../src/answer-page/form.ts'
import { answerPage, answerPageHeaders, type AnswerOutcome, donePage } from '../../src/answer-page/page.ts'
import { ENGLISH } from '../../src/answer-page/texts.ts'

const now = Date.parse('2026-11-27T14:14:00Z')
const timeoutAt = now + 47 * 60_000
const model = formOf({ choices: ['approve', 'reject'] })
const question = { message: 'Refund?', timeoutAt, onTimeoutText: 'the refund is rejected.' }

/** What a person reads of a page. */
function read(page: string): string {
  return page
    .replace(/<style>[^]*?<\/style>|<title>[^]*?<\/title>|<svg[^]*?<\/svg>/g, '')
    .replace(/<[^>]*>/g, ' ')
    .replaceAll('&quot;', '"')
    .replace(/\s+/g, ' ')
}

const HOSTILE = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "' onfocus=alert(1) autofocus '",
  '</pre></textarea></title></style><svg onload=alert(1)>',
  '\u202egnp.exe\u2066\u200b\u0007\ufeff',
  'a\0b',
  'javascript:alert(1)',
  'https://example.com/"onclick=alert(1)',
  'x'.repeat(1_000_000),
]

describe('the page of a question', () => {
  it('says what is asked, of whom, until when, and what no answer means', () => {
    const page = answerPage(
      { question, model, now, person: { id: 'ann', name: 'Ann' } },
      { brand: { name: 'Fjord Shop' } },
    )
    const text = read(page)
    expect(text).toContain('Fjord Shop asks Ann')
    expect(text).toContain(
      'Please answer by 3:01 PM UTC , in 47 minutes. Without an answer: the refund is rejected.',
    )
    expect(text).toContain('This link is for Ann.')
    expect(page).toContain('<time datetime="2026-11-27T15:01:00.000Z">')
    expect(page).toContain('<title>Refund? · Fjord Shop</title>')
  })

  it('says it in another language, time zone and color', () => {
    const texts = { answerBy: 'Bitte bis {time} ({inTime}).', send: 'Senden', yes: 'Ja' }
    const options = {
      texts,
      lang: 'de',
      timeZone: 'Europe/Berlin',
      brand: { accent: '#fd0', logoUrl: '/logo.svg' },
    }
    const at = now + 3 * 86_400_000
    const page = answerPage(
      { question: { message: 'Ja?', timeoutAt: at }, model: formOf({ schema: { type: 'boolean' } }), now },
      options,
    )
    expect(read(page)).toContain('Bitte bis Mo., 30. November 2026 um 15:14 MEZ (in 3 Tagen).')
    expect(page).toContain('<html lang="de" dir="ltr">')
    expect(page).toContain('<img src="/logo.svg" alt="" />')
    expect(page).toContain('--accent: #fd0'.replace('#fd0', '#ffdd00'))
    expect(answerPage({ question, model, now }, { lang: 'ar' })).toContain('dir="rtl"')
  })

  it.each([
    'https://example.com/logo.png',
    '//example.com/logo.png',
    '/\\example.com',
    'javascript:1',
    'data:text/html,x',
  ])('refuses the logo %s, which comes from elsewhere', (logoUrl) => {
    expect(() => answerPage({ question, model, now }, { brand: { logoUrl } })).toThrow(/Cannot show the logo/)
  })

  it.each(['red', '#12345', '#fff;} body { display: none'])('refuses the color %s', (accent) => {
    expect(() => answerPage({ question, model, now }, { brand: { accent } })).toThrow(
      /Cannot use .* as the accent/,
    )
  })

  it('shows data as names and values, lists and tables, and only so much of it', () => {
    const data = {
      customer: 'Halberd & Sons',
      orderId: 48213,
      isPaid: true,
      reason: null,
      photographs: ['https://example.com/crate-1.jpg', 'ftp://example.com'],
      lines: [
        { sku: 'bolt', count: 2 },
        { sku: 'nut', count: 3 },
      ],
      address: { city: 'Oslo', place: { lat: 1, deeper: { all: [1] } } },
      ...Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`more${at}`, at])),
    }
    const page = answerPage({ question: { message: 'Refund?', data }, model, now })
    const text = read(page)
    for (const part of [
      'Customer Halberd &amp; Sons',
      'Order id 48213',
      'Is paid Yes',
      'Reason –',
      'Sku Count bolt 2 nut 3',
      'City Oslo',
      'and 17 more',
    ])
      expect(text).toContain(part)
    expect(
      page.match(/<a href="http[^"]*" target="_blank" rel="noopener noreferrer nofollow">/g),
    ).toHaveLength(1)
    expect(page).toContain('<td data-label="Sku"')
    let deep: unknown = 1
    for (let depth = 0; depth < 100_000; depth += 1) deep = [deep]
    const large = Array.from({ length: 1_000 }, () => ({ a: HOSTILE.at(-1), b: HOSTILE.at(-1) }))
    for (const each of [deep, large, { deep, large, x: { deep } }, HOSTILE.at(-1), 7, [], {}])
      expect(answerPage({ question: { message: 'Refund?', data: each }, model, now }).length).toBeLessThan(
        200_000,
      )
  })

  it('shows hostile text as text, wherever it is', () => {
    const texts = Object.fromEntries(
      Object.keys(ENGLISH).map((name) => [name, `${HOSTILE[3] ?? ''} {label}`]),
    )
    for (const hostile of HOSTILE) {
      const schema = {
        title: hostile,
        type: 'object',
        required: ['choice', hostile],
        properties: {
          choice: { enum: [hostile, 'b'], title: hostile, description: hostile },
          many: { type: 'array', items: { enum: [hostile] } },
          [hostile]: {
            type: 'string',
            default: hostile,
            pattern: hostile,
            description: hostile,
            format: hostile,
          },
          titled: { oneOf: [{ const: hostile, title: hostile, description: hostile }, { const: 1 }] },
          rows: {
            title: hostile,
            type: 'array',
            items: { type: 'object', properties: { [hostile]: { type: 'number' } } },
          },
        },
      }
      const said = {
        message: `${hostile}\n${hostile}`,
        data: { [hostile]: hostile, list: [hostile], rows: [{ [hostile]: hostile }] },
        timeoutAt: NaN,
        onTimeoutText: hostile,
      }
      const person = { id: hostile, name: hostile, via: hostile }
      const errors = [
        { path: [hostile], message: hostile },
        { path: ['rows', 0, hostile], message: hostile },
        { path: ['none', hostile], message: hostile },
      ]
      const typed = [
        ['form', hostile],
        ['answer.0', hostile],
        ['answer.2', hostile],
        ['answer.4.0.0', hostile],
        [hostile, hostile],
      ] as const
      const options = { brand: { name: hostile } }
      const forms = [
        formOf({ schema }),
        formOf({ choices: [hostile, 'b'] }),
        formOf({ schema: { not: hostile } }),
      ]
      const outcomes: AnswerOutcome[] = [
        { kind: 'answered', reader: 'lost', answer: { [hostile]: hostile }, by: person, at: 9e99 },
        { kind: 'withdrawn', reader: 'looks', reason: hostile, by: person },
      ]
      const finite = { ...said, timeoutAt: now }
      const pages = forms.flatMap((form) => [
        answerPage(
          {
            question: finite,
            model: form,
            now,
            person,
            typed,
            errors,
            hidden: [[hostile, hostile]],
            action: hostile,
          },
          options,
        ),
        answerPage({ question: finite, model: form, now, refused: hostile }, { texts }),
        ...outcomes.map((outcome) => donePage({ question: finite, model: form, now, outcome }, options)),
      ])
      for (const page of pages) {
        const tags = page.match(/<[a-z]+\b(?:[^>"]|"[^"]*")*>/g) ?? []
        expect(tags.filter((tag) => /^<(?:script|img|svg onload)/.test(tag))).toEqual([])
        expect(
          tags.filter((tag) => /\s(?:on\w+|autofocus|style)\b/.test(tag.replace(/"[^"]*"/g, '""'))),
        ).toEqual([])
        expect(tags.filter((tag) => /\s(?:href|src)="(?!#|data:,|https:\/\/example)/.test(tag))).toEqual([])
        expect(page.match(/<style>|<\/style>|<\/title>/g)).toHaveLength(3)
      }
    }
  })

  it('refuses without a form', () => {
    const page = answerPage({ question, model, now, refused: 'This link is for another person.' })
    expect(read(page)).toContain('You cannot answer here This link is for another person.')
    expect(page).not.toContain('<form')
  })

  it('never has a script, and tells a browser so', () => {
    const page = answerPage({ question, model, now })
    const style = /<style>([^]*?)<\/style>/.exec(page)?.[1] ?? ''
    const hash = createHash('sha256').update(style).digest('base64')
    expect(answerPageHeaders(page)).toEqual({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': `default-src 'none'; style-src 'sha256-${hash}'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'x-robots-tag': 'noindex, nofollow',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
    })
    expect(page).not.toMatch(/<script|autofocus|prefetch|preload|preconnect|http-equiv/)
  })
})

describe('the page of a question that has ended', () => {
  const by = { id: 'ann', name: 'Ann', via: 'mail' }
  const at = now - 5 * 60_000
  it.each<[outcome: AnswerOutcome, text: string]>([
    [
      { kind: 'answered', reader: 'won', answer: 'approve', by, at },
      'Thank you. Your answer “Approve” is sent. 2:09 PM UTC (5 minutes ago), by Ann, via mail You can close this page.',
    ],
    [
      { kind: 'answered', reader: 'lost', answer: 'reject', by, at },
      'This was answered before you: “Reject”. 2:09 PM UTC (5 minutes ago), by Ann, via mail Your answer changed nothing.',
    ],
    [
      { kind: 'answered', reader: 'looks', answer: 'reject', by: { id: 'bo' } },
      'This is answered: “Reject”. by bo',
    ],
    [{ kind: 'answered', reader: 'looks', answer: { note: 'as agreed' } }, 'The answer Note as agreed'],
    [
      { kind: 'timed-out', reader: 'looks', at },
      'The time to answer has ended. Without an answer: the refund is rejected. 2:09 PM UTC (5 minutes ago)',
    ],
    [{ kind: 'timed-out', reader: 'lost', at }, 'Your answer changed nothing.'],
    [
      { kind: 'withdrawn', reader: 'looks', at, by, reason: 'Paid by bank.' },
      'This question was withdrawn. Paid by bank. 2:09 PM UTC (5 minutes ago), by Ann, via mail',
    ],
    [{ kind: 'withdrawn', reader: 'looks', at: now }, 'This question was withdrawn. 2:14 PM UTC (now)'],
  ])('says of %j how', (outcome, text) => {
    const page = donePage({ question, outcome, model, now })
    expect(read(page)).toContain(text)
    expect(page).not.toContain('<form')
    expect(page).toMatch(/<title>\S+ [^<]*[.”] · [^<]+ · waitpoint<\/title>/)
  })

  it('shows an answer under the labels of its form', () => {
    const schema = {
      type: 'object',
      properties: {
        decision: {
          oneOf: [
            { const: 'p', title: 'Approve a part' },
            { const: 'r', title: 'Reject' },
          ],
        },
        lines: {
          type: 'array',
          title: 'Crates',
          items: { type: 'object', properties: { sku: { type: 'string', title: 'Number' } } },
        },
      },
    }
    const answer = { decision: 'p', lines: [{ sku: 'crate-1' }], other: 1 }
    const outcome = { kind: 'answered', reader: 'won', answer } as const
    const text = read(donePage({ question, outcome, model: formOf({ schema }), now }))
    expect(text).toContain('The answer Decision Approve a part Crates Number crate-1 Other 1')
  })
})
