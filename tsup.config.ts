import { readdirSync } from 'node:fs'
import type { Options } from 'tsup'

/** `ls src/*.ts` is the exports map: every file directly under src is one entry of the package. */
const entries = readdirSync('src')
  .filter((name) => name.endsWith('.ts'))
  .map((name) => `src/${name}`)

/** The program that `bin` of package.json names. */
const program = 'src/cli/main.ts'

const config: Options = {
  entry: [...entries, program],
  format: 'esm',
  target: 'node20',
  splitting: true,
  sourcemap: true,
  clean: true,
  // A development dependency of types only: its few lines become part of our declarations.
  // The program is not imported.
  dts: { entry: entries, resolve: ['typed-emitter'] },
}

export default config
