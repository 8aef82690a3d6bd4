import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import ts from 'typescript'

const PAGE = readFileSync('docs/errors.md', 'utf8')
/** Those of TLS are Node's. */
const CODE = /^ERR_(?!TLS_)[A-Z_]+$/

const sources = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => ts.createSourceFile(path, readFileSync(`src/${path}`, 'utf8'), ts.ScriptTarget.ESNext, true))

/** Where a code stands in the sources: in a type that lists codes, or as a value. */
const inTypes = new Set<string>()
const asValues = new Set<string>()
for (const source of sources) collect(source)

function collect(node: ts.Node): void {
  if (ts.isStringLiteral(node) && CODE.test(node.text))
    (ts.isLiteralTypeNode(node.parent) ? inTypes : asValues).add(node.text)
  ts.forEachChild(node, collect)
}

/** The section of each code on the page. */
const sections = new Map(
  [...PAGE.matchAll(/^### (\S+)\n(.*?)(?=^##|$(?![\s\S]))/gms)].map(([, code = '', text = '']) => [
    code,
    text,
  ]),
)

describe('docs/errors.md', () => {
  it('has a section for every code of the library, and for no other', () => {
    const codes = new Set([...inTypes, ...asValues])
    expect(codes.size).toBeGreaterThan(40)
    expect([...sections.keys()].toSorted()).toEqual([...codes].toSorted())
  })

  it('mentions no code that there is not', () => {
    const mentioned = new Set(PAGE.match(/ERR_[A-Z_]+/g))
    expect([...mentioned].filter((code) => !sections.has(code))).toEqual([])
  })

  it.each([...sections])('says of %s when it happens and what to do', (_code, text) => {
    expect(text).toMatch(/^\n[^*\s].*\n\*\*Cure:\*\* \S.*\n$/s)
  })
})

it('every code that a type lists is one that some code of the library uses', () => {
  expect([...inTypes].filter((code) => !asValues.has(code))).toEqual([])
})
