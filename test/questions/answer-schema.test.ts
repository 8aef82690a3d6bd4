import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { isStandardSchema, jsonSchemaOf } from '../../src/questions/answer-schema.ts'
import { JsonSchemaCheck } from '../../src/questions/json-schema.ts'

const valibot = v.object({ decision: v.picklist(['approve', 'reject']), note: v.optional(v.string()) })

describe('the JSON Schema of an answer', () => {
  it.each([
    ['zod', z.object({ decision: z.enum(['approve', 'reject']), note: z.string().optional() })],
    ['valibot', toStandardJsonSchema(valibot)],
    ['arktype', type({ decision: "'approve' | 'reject'", 'note?': 'string' })],
  ])('comes from %s by its own means', async (_, schema) => {
    expect(isStandardSchema(schema)).toBe(true)
    const check = await JsonSchemaCheck.of(jsonSchemaOf(schema))
    expect(check.issues({ decision: 'approve' })).toEqual([])
    expect(check.issues({ decision: 'maybe' }).map(({ path }) => path)).toEqual([['decision']])
  })

  it.each([
    ['a schema of valibot without its JSON Schema', valibot],
    ['what JSON does not have', z.date()],
  ])('is none for %s', (_, schema) => {
    expect(isStandardSchema(schema)).toBe(true)
    expect(jsonSchemaOf(schema as never)).toBeUndefined()
  })

  it.each([
    [
      'zod',
      z.object({ a: z.string().regex(/^x/).regex(/^x$/i), b: z.record(z.string().regex(/y/i), z.any()) }),
    ],
    ['ArkType', type({ a: /^x$/i, b: 'object' })],
  ])('leaves patterns with flags, which JSON Schema cannot say, to the schema: %s', async (_, schema) => {
    const check = await JsonSchemaCheck.of(jsonSchemaOf(schema))
    expect(check.issues({ a: 'x', b: {} })).toEqual([])
    expect(JSON.stringify(jsonSchemaOf(schema as never))).not.toContain('x$')
  })

  it('is that of what is answered, not of what a transform makes of it', () => {
    const schema = z.string().transform(Number)
    expect(jsonSchemaOf(schema as never)).toMatchObject({ type: 'string' })
  })

  it.each([undefined, null, 'text', {}, { '~standard': 1 }, { type: 'string' }])(
    'is not looked for in %j',
    (value) => {
      expect(isStandardSchema(value)).toBe(false)
    },
  )
})
