import { readdirSync } from 'node:fs'
import type { Options } from 'tsup'

/** `ls src/*.ts` is the exports map: every file directly under src is one entry of the package. */
const entries = readdirSync('src')
  .filter((name) => name.endsWith('.ts'))
  .map((name) => `src/${name}`)

/** The program that `bin` of package.json names. */
const program = 'src/cli/main.ts'

/**
 * Files that share code import it by its name. For the order of side effects esbuild also makes each file import, for nothing,
 * what its imports do. No file here has any, and a bundler warns of each such import.
 */
const noBareImports: NonNullable<Options['plugins']>[number] = {
  name: 'no-bare-imports',
  renderChunk: (code) => ({ code: code.replace(/^import "\.\/[^"]+";$/gm, '') }),
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
  plugins: [noBareImports],
  // A development dependency of types only: its few lines become part of our declarations.
  // The program is not imported.
  dts: { entry: entries, resolve: ['typed-emitter'] },
}

export default config
