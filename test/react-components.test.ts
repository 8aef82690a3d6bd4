import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { documentBlocks } from './support/documents.ts'

const PAGES = ['docs/in-the-browser.md', 'docs/react.md']
/** What the tests in Chromium click through. */
const COMPONENTS = 'test/browser/page'

it.each(PAGES)('%s has components that are tested in a browser, as they are', (page) => {
  const shown = documentBlocks(page).filter(({ language }) => language === 'tsx')
  const tested = readdirSync(COMPONENTS).filter((name) => name.endsWith('.tsx') && name !== 'main.tsx')
  expect(shown.length).toBeGreaterThan(0)
  expect(tested).toEqual(expect.arrayContaining(shown.map(({ file }) => file)))
  for (const { file, code } of shown)
    expect(code).toBe(`// ${file}\n${readFileSync(`${COMPONENTS}/${file}`, 'utf8')}`)
})
