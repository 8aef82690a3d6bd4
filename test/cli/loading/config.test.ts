import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { foldersOfConfig } from '../../../src/cli/loading/config.ts'
import { patternOf } from '../../../src/cli/loading/glob.ts'

const root = mkdtempSync(join(tmpdir(), 'waitpoint-config-'))
for (const folder of ['one/jobs', 'two/deep/jobs']) mkdirSync(join(root, folder), { recursive: true })
afterAll(() => rmSync(root, { recursive: true }))

describe('the dirs of a configuration', () => {
  it.each([
    ['*', ['one', 'two']],
    ['**', ['one', 'two']],
    ['**/jobs', ['one/jobs', 'two/deep/jobs']],
    ['{one,two/*}/jobs', ['one/jobs', 'two/deep/jobs']],
    ['three/*', []],
    ['one', ['one']],
  ])('%s', (pattern, folders) => {
    const found = foldersOfConfig({ dirs: [pattern] }, join(root, 'trigger.config.ts'))
    expect([...found].sort()).toEqual(folders.map((folder) => join(root, folder)))
  })
})

describe('a pattern', () => {
  it.each([
    ['*.test.ts', 'a.test.ts', 'atest.ts'],
    [String.raw`\d`, 'd', '1'],
    [String.raw`\*`, '*', 'a'],
    ['[!a]', 'b', 'a'],
    ['a?c', 'abc', 'a/c'],
    ['a+(b)', 'a+(b)', 'aab'],
  ])('%s matches %s, and not %s', (pattern, match, other) => {
    expect(patternOf(pattern).test(match)).toBe(true)
    expect(patternOf(pattern).test(other)).toBe(false)
  })
})
