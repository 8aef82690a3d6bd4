import { resolve } from 'node:path'
import { build } from 'esbuild'

/** Builds the program that writes a fixture, beside the drivers that it loads; answers its path. */
export async function buildFixtureProgram(folder) {
  const program = resolve(`${folder}/node_modules/.cache/write-fixture.mjs`)
  await build({
    entryPoints: [`${folder}/fixtures/write-fixture.ts`],
    outfile: program,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    external: ['pg', 'libsql'],
    alias: {
      waitpoint: './src/index.ts',
      'waitpoint/sqlite': './src/sqlite.ts',
      'waitpoint/postgres': './src/postgres.ts',
    },
    logLevel: 'silent',
  })
  return program
}
