import { execFileSync } from 'node:child_process'
import { expect, it } from 'vitest'

it('src/generated is what the fields of records say', () => {
  expect(execFileSync(process.execPath, ['scripts/records.mjs', '--check'], { encoding: 'utf8' })).toBe('')
})
