import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { documentBlocks } from './support/documents.ts'

const PAGE = 'docs/in-the-browser.md'
/** What the tests in Chromium click through. */
const COMPONENTS = 'test/browser/page'

it(`${PAGE} has the components that are tested in a browser, as they are`, () => {
  const shown = documentBlocks(PAGE).filter(({ language }) => language === 'tsx')
  const tested = readdirSync(COMPONENTS).filter((name) => name.endsWith('.tsx') && name !== 'main.tsx')
  expect(shown.map(({ file }) => file).toSorted()).toEqual(tested.toSorted())
  for (const { file, code } of shown)
    expect(code).toBe(`// ${file}\n${readFileSync(`${COMPONENTS}/${file}`, 'utf8')}`)
})
