import { readdirSync } from 'node:fs'
import type { Options } from 'tsup'

/** `ls src/*.ts` is the exports map: every file directly under src is one entry of the package. */
const entries = readdirSync('src')
  .filter((name) => name.endsWith('.ts'))
  .map((name) => `src/${name}`)

const config: Options = {
  entry: entries,
  format: 'esm',
  target: 'node20',
  splitting: true,
  sourcemap: true,
  clean: true,
  // A development dependency of types only: its few lines become part of our declarations.
  dts: { resolve: ['typed-emitter'] },
}

export default config
