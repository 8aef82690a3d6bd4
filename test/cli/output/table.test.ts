import { describe, expect, it } from 'vitest'
import { factsText, tableText } from '../../../src/cli/output/table.ts'

const COLUMNS = [{ title: 'id' }, { title: 'tags', isFlexible: true }]
const ROWS = [
  ['run_1', 'a tag that is long, and another one'],
  ['run_2', '\u001b[2J'],
]

describe('tableText', () => {
  it('cuts flexible cells for a terminal, and nothing in a pipe', () => {
    expect(tableText(COLUMNS, ROWS, 24)).toBe('ID     TAGS\nrun_1  a tag that is lo…\nrun_2  ⟨U+001B⟩[2J')
    expect(tableText(COLUMNS, ROWS, undefined)).toContain('and another one')
    // Ids stay whole, however narrow the terminal is.
    expect(tableText(COLUMNS, ROWS, 3)).toContain('run_1  a tag t…')
  })
})

describe('factsText', () => {
  it('leaves out what is not there, and indents further lines', () => {
    const text = factsText([
      ['name', 'a'],
      ['waits for', 'b\nc'],
      ['error', undefined],
    ])
    expect(text).toBe('name       a\nwaits for  b\n           c')
  })
})
