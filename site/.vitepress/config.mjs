// The documents as a site, for `npm run docs:site`. They stay where they are, and their links as they are: `withAddresses` leads
// them to pages of the site, or to copies of files.
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { defineConfig } from 'vitepress'
import { slugOf } from '../../test/support/links.ts'
import { addressOf, NO_PAGES, pageHref, pagePath } from '../addresses.ts'
import { navigationOf } from '../navigation.ts'

const root = resolve(import.meta.dirname, '../..')
const copies = new Map()

function sidebarOf(folder) {
  const index = readFileSync(join(root, folder, 'README.md'), 'utf8')
  return navigationOf(folder, index).map(({ text, entries }) => ({
    text,
    items: entries.map((entry) => ({ text: entry.text, link: pageHref(entry.file) })),
  }))
}

function withAddresses(md) {
  const render = md.renderer.rules.link_open
  md.renderer.rules.link_open = (tokens, at, options, env, self) => {
    const target = tokens[at].attrGet('href') ?? ''
    if (!/^(#|[a-z][a-z+.-]*:)/i.test(target)) {
      const { href, copy } = addressOf(relative(root, env.realPath ?? env.path), target, root)
      if (copy !== undefined) {
        copies.set(href, copy)
        // The router of the site takes links of this window for pages.
        tokens[at].attrSet('target', '_self')
      }
      if (href === undefined) return '<a>'
      tokens[at].attrSet('href', href)
    }
    return render(tokens, at, options, env, self)
  }
}

/** Blocks of ARCHITECTURE.md that tests read are in no language. */
function withPlainBlocks(md) {
  md.core.ruler.push('plain-blocks', ({ tokens }) => {
    for (const token of tokens) if (['walk', 'layers', 'rooms'].includes(token.info)) token.info = 'txt'
  })
}

/** A first column without a name has a cell at its top: a header without a text says nothing to a screen reader. */
function withoutEmptyHeaders(md) {
  md.core.ruler.push('empty-headers', ({ tokens }) => {
    tokens.forEach((token, at) => {
      if (token.type === 'th_open' && tokens[at + 1].content === '') token.tag = tokens[at + 2].tag = 'td'
    })
  })
}

/** Pages become modules, and are outside of the folder in which Vue is installed. */
const vueFromHere = {
  name: 'vue-from-here',
  enforce: 'pre',
  resolveId(id, _importer, options) {
    if (!/^vue(\/|$)/.test(id)) return undefined
    // What renders the pages at first is written into this folder, and finds the package by itself.
    return options.ssr
      ? { id, external: true }
      : this.resolve(id, import.meta.filename, { ...options, skipSelf: true })
  },
}

export default defineConfig({
  title: 'waitpoint',
  description: 'Tasks that wait: for a person, a webhook, another service or a date.',
  lang: 'en',
  srcDir: '..',
  outDir: '../build/site',
  cacheDir: '../build/site-cache',
  srcExclude: NO_PAGES,
  rewrites: pagePath,
  // Anchors are those that GitHub gives to headings: tests check links to them.
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    anchor: { slugify: slugOf },
    config: (md) => {
      withAddresses(md)
      withPlainBlocks(md)
      withoutEmptyHeaders(md)
    },
  },
  themeConfig: {
    nav: [
      { text: 'Documents', link: '/getting-started' },
      { text: 'Examples', link: '/examples/' },
      { text: 'Decisions', link: '/decisions/' },
      { text: 'What is new', link: '/changelog' },
    ],
    sidebar: { '/decisions/': sidebarOf('docs/decisions'), '/': sidebarOf('docs') },
    outline: [2, 3],
    search: { provider: 'local' },
  },
  vite: { plugins: [vueFromHere], build: { chunkSizeWarningLimit: 2_000 } },
  buildEnd({ outDir }) {
    for (const [href, file] of copies) {
      const path = join(outDir, href)
      mkdirSync(dirname(path), { recursive: true })
      copyFileSync(join(root, file), path)
    }
  },
})
