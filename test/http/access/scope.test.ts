import { describe, expect, it } from 'vitest'
import { allows } from '../../../src/http/access/scope.ts'

const access = { action: 'write', type: 'waitpoints', id: 'waitpoint_a:b' }

describe('allows', () => {
  it.each([
    'write:waitpoints',
    'write:waitpoints:waitpoint_a:b',
    'write:all',
    '*:waitpoints',
    '*:waitpoints:waitpoint_a:b',
    '*:all',
    'admin',
  ])('grants by "%s"', (scope) => {
    expect(allows(['read:runs', scope], access)).toBe(true)
  })

  it.each([
    '',
    '*',
    ':',
    'write',
    'write:',
    'all',
    'read:waitpoints',
    'read:all',
    'write:runs',
    'write:*',
    'write:waitpoints:',
    'write:waitpoints:waitpoint_a',
    'write:waitpoints:waitpoint_a:b:c',
    'write:waitpoints:all',
    'write:waitpoints:*',
    'writes:waitpoints',
    'WRITE:waitpoints',
    ' write:waitpoints',
    'admin:',
    'admin:waitpoints',
    'administrator',
  ])('does not grant by "%s"', (scope) => {
    expect(allows([scope], access)).toBe(false)
  })

  it('grants nothing without a scope', () => {
    expect(allows([], access)).toBe(false)
  })
})
