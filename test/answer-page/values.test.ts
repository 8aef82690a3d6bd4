import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formOf } from '../../src/answer-page/form.ts'
import { answerPage } from '../../src/answer-page/page.ts'
import { answerOf, fieldsOf, firstFields, type SentField } from '../../src/answer-page/values.ts'
import { asked } from './questions.ts'
import { sentForm } from './sent-form.ts'

const now = Date.parse('2026-11-27T14:14:00Z')

function pageOf(schema: unknown, typed?: readonly SentField[]): string {
  const question = { message: 'Which?' }
  return answerPage({ question, model: formOf({ schema }), now, ...(typed && { typed }) })
}

const object = (properties: object, required: readonly string[] = Object.keys(properties)): object => ({
  type: 'object',
  properties,
  required,
})

describe('answerOf', () => {
  it('reads the value that a form was filled with', () => {
    fc.assert(
      fc.property(asked, ({ schema, value }) => {
        const model = formOf({ schema })
        expect(model).toMatchObject({ kind: 'fields' })
        const filled = fieldsOf(model, value)
        expect(answerOf(model, filled)).toEqual({ kind: 'answer', value })
        const buttons = /<button name="answer"/.test(pageOf(schema))
        // The value of a button is sent by a click.
        if (!buttons)
          expect(answerOf(model, sentForm(pageOf(schema, filled)))).toEqual({ kind: 'answer', value })
      }),
      { numRuns: 300 },
    )
  })

  it('reads the digits that JSON writes, and no others that would be rounded', () => {
    const model = formOf({ schema: { type: 'number' } })
    const read = (text: string): unknown =>
      answerOf(model, [...fieldsOf(model, 0).slice(0, 1), ['answer', text]])
    expect(read('-281171005605246270')).toEqual({ kind: 'answer', value: -281171005605246270 })
    expect(read('-281171005605246271')).toMatchObject({ kind: 'errors' })
  })

  it('never throws, and reads one answer or says what is wrong, whatever is sent', () => {
    const name = fc.oneof(fc.string(), fc.stringMatching(/^(form|more|answer(\.\d){0,3})$/))
    fc.assert(
      fc.property(asked, fc.array(fc.tuple(name, fc.string())), ({ schema }, sent) => {
        const model = formOf({ schema })
        const read = answerOf(model, [['form', '1'], ...sent])
        if (read.kind === 'errors') expect(read.errors.length).toBeGreaterThan(0)
        expect(pageOf(schema, sent)).toContain('<form')
      }),
      { numRuns: 300 },
    )
  })

  it.each([
    ['a blank text', { type: 'string' }, '', 'Please fill this in.'],
    ['a blank choice', { enum: ['a', 'b'] }, '', 'Please choose one.'],
    ['a blank boolean', { type: 'boolean' }, '', 'Please choose one.'],
    ['a word for a number', { type: 'number' }, 'twelve', 'Please write a number, such as 12.5.'],
    ['a comma', { type: 'number' }, '1,5', 'Please write a number, such as 12.5.'],
    ['a hexadecimal number', { type: 'number' }, '0x10', 'Please write a number, such as 12.5.'],
    ['a number without an end', { type: 'number' }, '1e999', 'Please write a number, such as 12.5.'],
    ['Infinity', { type: 'number' }, 'Infinity', 'Please write a number, such as 12.5.'],
    ['half of an integer', { type: 'integer' }, '1.5', 'Please write a whole number.'],
    ['too many digits', { type: 'integer' }, '12345678901234567891', 'This number has too many digits.'],
    [
      'a day that is none',
      { type: 'string', format: 'date' },
      '2026-02-30',
      'Please write a date, such as 2026-03-31.',
    ],
    [
      'a time that is none',
      { type: 'string', format: 'time' },
      '24:00',
      'Please write a time, such as 14:30.',
    ],
    [
      'a date without a time',
      { type: 'string', format: 'date-time' },
      '2026-02-03',
      'Please write a date and a time, such as 2026-03-31T14:30.',
    ],
    ['another choice', { enum: ['a', 'b'] }, '2', 'This choice is not one of those that are here.'],
    ['the name of a choice', { enum: ['a', 'b'] }, 'a', 'This choice is not one of those that are here.'],
    [
      'another box',
      { type: 'array', items: { enum: ['a'] } },
      '1',
      'This choice is not one of those that are here.',
    ],
  ])('refuses %s, and the page says so at its field and keeps it', (_what, schema, text, message) => {
    const model = formOf({ schema: object({ one: { enum: ['x'] }, two: schema }) })
    const typed: SentField[] = [
      ['form', '1'],
      ['answer.0', '0'],
      ['answer.1', text],
    ]
    // A checkbox cannot be left blank.
    const isBox = (schema as { readonly type?: string }).type === 'boolean'
    const read = answerOf(isBox ? formOf({ schema }) : model, isBox ? [['form', '1']] : typed)
    expect(read).toEqual({ kind: 'errors', errors: [{ path: isBox ? [] : ['two'], message }] })
    if (isBox || read.kind !== 'errors') return
    const page = answerPage({ question: { message: 'Which?' }, model, now, typed, errors: read.errors })
    expect(page).toContain(`<a href="#answer.1">Two: ${message}</a>`)
    expect(page).toContain(`id="answer.1-error">${message}</p>`)
    if (text !== '' && !('enum' in schema) && !('items' in schema)) expect(page).toContain(`value="${text}"`)
  })

  it('takes nothing from a request that is of no form', () => {
    const model = formOf({ schema: object({ note: { type: 'string' } }, []) })
    expect(answerOf(model, [])).toMatchObject({ kind: 'errors', errors: [{ path: [] }] })
    expect(answerOf(model, [['form', '1']])).toEqual({ kind: 'answer', value: {} })
  })

  it('closes rows up that were left blank, in the answer and on the page', () => {
    const item = object({ sku: { type: 'string' }, count: { type: 'integer' } })
    const model = formOf({ schema: object({ lines: { type: 'array', items: item } }) })
    const typed: SentField[] = [
      ['form', '1'],
      ['answer.0.1.0', 'bolt'],
      ['answer.0.1.1', '7'],
      ['answer.0.4.0', 'nut'],
      ['answer.0.4.1', 'many'],
    ]
    const read = answerOf(model, typed)
    const message = 'Please write a number, such as 12.5.'
    expect(read).toEqual({ kind: 'errors', errors: [{ path: ['lines', 1, 'count'], message }] })
    const errors = read.kind === 'errors' ? read.errors : []
    const page = answerPage({ question: { message: 'Which?' }, model, now, typed, errors })
    expect(page).toContain(`<a href="#answer.0.1.1">Lines 2 · Count: ${message}</a>`)
    const sent = sentForm(page)
    expect(sent).toContainEqual(['answer.0.1.0', 'nut'])
    expect(sent).toContainEqual(['answer.0.1.1', 'many'])
    // Two rows with something in them, and three to fill in.
    expect(sent.filter(([name]) => /^answer\.0\.\d+\.0$/.test(name))).toHaveLength(5)
    expect(answerOf(model, [...typed, ['more', 'answer.0']])).toEqual({ kind: 'more' })
  })

  it('begins with the defaults of the schema', () => {
    const schema = {
      ...object(
        {
          decision: { enum: ['approve', 'reject'], default: 'reject' },
          amount: { type: 'number', default: 12.5 },
          isUrgent: { type: 'boolean', default: true },
          note: { type: 'string', default: '\nTwo\nlines', maxLength: 100 },
          other: { type: 'string', default: 7 },
          tags: { type: 'array', items: { enum: ['a', 'b'] }, default: ['b', 'c'] },
          long: { type: 'string', default: 'x'.repeat(30_000) },
        },
        [],
      ),
      default: { amount: 13 },
    }
    const value = { decision: 'reject', amount: 13, isUrgent: true, note: '\nTwo\nlines', tags: ['b'] }
    const model = formOf({ schema })
    expect(answerOf(model, firstFields(model))).toEqual({ kind: 'answer', value })
    expect(answerOf(model, sentForm(pageOf(schema)))).toEqual({ kind: 'answer', value })
  })

  it('reads and shows times in the time zone of the page', () => {
    const model = formOf({ schema: { type: 'string', format: 'date-time' } })
    const options = { timeZone: 'Europe/Berlin' }
    for (const [local, instant] of [
      ['2026-07-01T12:30', '2026-07-01T10:30:00Z'],
      ['2026-12-01T00:15', '2026-11-30T23:15:00Z'],
      ['2026-03-29T03:00', '2026-03-29T01:00:00Z'],
    ] as const) {
      const sent: SentField[] = [
        ['form', '1'],
        ['answer', local],
      ]
      expect(answerOf(model, sent, options)).toEqual({ kind: 'answer', value: instant })
      expect(fieldsOf(model, instant, options)).toEqual(sent)
    }
  })

  it('reads JSON where there is no form', () => {
    const model = formOf({ schema: true })
    const sent = (text: string): SentField[] => [
      ['form', '1'],
      ['answer', text],
    ]
    expect(answerOf(model, sent(' {"a":[1]} '))).toEqual({ kind: 'answer', value: { a: [1] } })
    expect(answerOf(model, sent(' '))).toMatchObject({ kind: 'errors' })
    expect(answerOf(model, sent('{"a"'))).toMatchObject({
      errors: [{ message: expect.stringContaining('This is not JSON: ') as string }],
    })
    const typed = sent('{"a"')
    expect(sentForm(pageOf(true, typed))).toEqual(typed)
  })
})
