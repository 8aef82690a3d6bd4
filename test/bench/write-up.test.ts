import { describe, expect, it } from 'vitest'
import { replaceBlock } from '../../bench/write-up.ts'

describe('replaceBlock', () => {
  it('leaves everything outside of the marks as it is, however often it is written', () => {
    const document = 'before\n<!-- measured: begin -->\nold\n<!-- measured: end -->\nafter\n'
    const once = replaceBlock(document, 'new')
    expect(once).toBe('before\n<!-- measured: begin -->\n\nnew\n\n<!-- measured: end -->\nafter\n')
    expect(replaceBlock(once, 'new')).toBe(once)
  })

  it('refuses a document without marks', () => {
    expect(() => replaceBlock('nothing', 'new')).toThrow('it has no block')
  })
})
