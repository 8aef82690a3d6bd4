import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Writes a user's test, which imports from `./src`, as one file that a process executes where nothing is installed. */
export async function bundledTest(contents: string, outfile: string, sourcefile = 'user.ts'): Promise<void> {
  await build({
    stdin: { contents, loader: 'ts', resolveDir: ROOT, sourcefile },
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    sourcemap: 'inline',
    // Were they needed, they would have to be found, which they cannot be there.
    external: ['vitest', 'fast-check'],
    logLevel: 'silent',
  })
}
