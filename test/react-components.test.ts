import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { documentBlocks } from './support/documents.ts'

const PAGE = 'docs/in-the-browser.md'
/** What the tests in Chromium click through. */
const COMPONENTS = 'test/browser/page'

it(`${PAGE} has a component that is tested in a browser, as it is`, () => {
  const shown = documentBlocks(PAGE).filter(({ language }) => language === 'tsx')
  const tested = readdirSync(COMPONENTS).filter((name) => name.endsWith('.tsx') && name !== 'main.tsx')
  expect(shown.length).toBeGreaterThan(0)
  expect(tested).toEqual(expect.arrayContaining(shown.map(({ file }) => file)))
  for (const { file, code } of shown)
    expect(code).toBe(`// ${file}\n${readFileSync(`${COMPONENTS}/${file}`, 'utf8')}`)
})
