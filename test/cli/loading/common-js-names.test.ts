import { describe, expect, it } from 'vitest'
import { withCommonJsNames } from '../../../src/cli/loading/common-js-names.ts'

const URL = 'file:///app/trigger/a.ts'
const sourceOf = (source: unknown, url = URL, format = 'module'): unknown =>
  withCommonJsNames(url, { format, source }).source
const namesIn = (source: string): unknown =>
  /^import .*?; var \[(.*?)\] = /.exec(String(sourceOf(source)))?.[1]

describe('withCommonJsNames', () => {
  it.each([
    ['join(__dirname, "a")', '__dirname'],
    ['const here = __dirname', '__dirname'],
    ['console.log(__filename, __dirname)', '__filename,__dirname'],
    [`const { join } = require('node:path')`, 'require'],
    [`import x from 'y'\nconst path = require.resolve('z')`, 'require'],
  ])('gives a module what it uses: %j', (source, names) => {
    expect(namesIn(source)).toBe(names)
    expect(sourceOf(source)).toMatch(/^[^\n]*;/)
    expect(String(sourceOf(source)).endsWith(source)).toBe(true)
  })

  it.each([
    'const require = createRequire(import.meta.url); require("a")',
    'const __filename = fileURLToPath(import.meta.url)\nconst __dirname = dirname(__filename)',
    'let a, __dirname',
    `import { require } from 'x'; require('a')`,
    'const { __dirname } = paths; log(__dirname)',
    'function require(name) {}',
    'paths.__dirname',
    'requireName(x); $require(1)',
    '',
  ])('leaves alone what a module has: %j', (source) => {
    expect(sourceOf(source)).toBe(source)
  })

  it('leaves packages, modules of CommonJS and what is no file alone', () => {
    for (const [url, format] of [
      ['file:///app/node_modules/a/index.js', 'module'],
      [URL, 'commonjs'],
      ['data:text/javascript,', 'module'],
    ] as const)
      expect(sourceOf('__dirname', url, format)).toBe('__dirname')
    expect(sourceOf(undefined)).toBe(undefined)
  })

  it('reads bytes', () => {
    expect(sourceOf(new TextEncoder().encode('log(__dirname)'))).toContain('; log(__dirname)')
  })
})
