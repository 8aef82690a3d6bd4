import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { relative, resolve } from 'node:path'
import { build as graph, type Metafile, type Plugin } from 'esbuild'
import type { Options } from 'tsup'

/** `ls src/*.ts` is the exports map: every file directly under src is one entry of the package. */
const entries = readdirSync('src')
  .filter((name) => name.endsWith('.ts'))
  .map((name) => `src/${name}`)

/** The program that `bin` of package.json names. */
const program = 'src/cli/main.ts'

/**
 * `import 'waitpoint'` loads one file for each ring, and `index.js`: what the entries of a ring share with the main entry, without what is in a
 * ring before it. The first has no module of Node, as pages load it, and neither of the first two what is loaded late.
 */
const RINGS = [
  ['client', 'react', 'storage', 'sqlite', 'postgres', 'otel', 'register', 'vitest-plugin'],
  ['sdk', 'ai'],
  ['index'],
].map((names) => names.map((name) => `src/${name}.ts`))

/**
 * esbuild puts files together that the same entries and late files import. So each of these imports, for nothing, all of the rings up to the
 * last one that it uses something of.
 */
const inRings: Plugin = {
  name: 'in-rings',
  async setup(build) {
    const entryPoints = [...entries, program]
    const { metafile } = await graph({
      entryPoints,
      bundle: true,
      packages: 'external',
      outdir: 'dist',
      splitting: true,
      format: 'esm',
      write: false,
      metafile: true,
    })
    const reached = reachedIn(metafile)
    const main = reached('src/index.ts')
    const ringOf = new Map<string, number>()
    for (const [at, ring] of RINGS.entries())
      for (const file of ring.flatMap((entry) => [...reached(entry, true)]))
        if (main.has(file) && !ringOf.has(file)) ringOf.set(file, at)
    const importsOf = (root: string): string[] => {
      const last = Math.max(0, ...[...reached(root)].map((file) => ringOf.get(file) ?? 0))
      return [...ringOf].flatMap(([file, at]) => (at <= last ? [file] : []))
    }
    const roots = new Set([...entryPoints, ...lateIn(metafile)])
    build.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const root = relative('', path)
      if (!roots.has(root)) return undefined
      const imports = importsOf(root).map((file) => `import ${JSON.stringify(resolve(file))}\n`)
      return { contents: `${await readFile(path, 'utf8')}\n${imports.join('')}`, loader: 'ts' }
    })
  },
}

/** The files that a file loads, with itself: at once, or also late. */
function reachedIn({ inputs }: Metafile): (root: string, late?: boolean) => ReadonlySet<string> {
  return (root, late = false) => {
    const files = new Set([root])
    for (const file of files)
      for (const { path, kind, external } of inputs[file]?.imports ?? [])
        if ((late || kind !== 'dynamic-import') && external !== true) files.add(path)
    return files
  }
}

function lateIn({ inputs }: Metafile): string[] {
  const imports = Object.values(inputs).flatMap((input) => input.imports)
  return imports.flatMap(({ path, kind, external }) =>
    kind === 'dynamic-import' && external !== true ? [path] : [],
  )
}

/**
 * Files that share code import it by its name. For the order of side effects esbuild also makes each file import, for nothing,
 * what its imports do. No file here has any, and a bundler warns of each such import. Nor has a bundled package any that is CommonJS: what
 * nothing uses of it may be left out.
 */
const noSideEffects: NonNullable<Options['plugins']>[number] = {
  name: 'no-side-effects',
  renderChunk: (code) => ({
    code: code
      .replace(/^import "\.{1,2}\/[^"]+";$/gm, '')
      .replace(/ = (?=__commonJS\(|__toESM\()/g, ' = /* @__PURE__ */ ')
      .replace(/__toESM\((?=require_)/g, '__toESM(/* @__PURE__ */ '),
  }),
}

/** A server that renders components knows by this that those of this entry are for the page too. */
const forPages: NonNullable<Options['plugins']>[number] = {
  name: 'for-pages',
  renderChunk: (code, { path }) => ({ code: /[\\/]react\.js$/.test(path) ? `'use client'\n${code}` : code }),
}

const config: Options = {
  entry: [...entries, program],
  format: 'esm',
  target: 'node20',
  splitting: true,
  // The build is readable: names stay, and a comment says which file of `src` each part is from. A stack leads there.
  sourcemap: false,
  clean: true,
  // `node:` stays: some hosts know the modules of Node by these names only.
  removeNodeProtocol: false,
  plugins: [noSideEffects, forPages],
  esbuildPlugins: [inRings],
  // A development dependency of types only: its few lines become part of our declarations.
  // The program is not imported.
  dts: { entry: entries, resolve: ['typed-emitter'] },
}

export default config
