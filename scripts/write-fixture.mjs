// Writes a database of the present version, as a process leaves it that ends in the middle of everything, and prints what is to
// be found in it: `node scripts/write-fixture.mjs <database>`, or `… <url> <schema>` on Postgres.
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { build } from 'esbuild'

// Beside the drivers that it loads.
const program = resolve(`test/databases/node_modules/.cache/write-fixture-${process.pid}.mjs`)
try {
  await build({
    entryPoints: ['test/databases/fixtures/write-fixture.ts'],
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
  execFileSync(process.execPath, [program, ...process.argv.slice(2)], { stdio: 'inherit' })
} finally {
  rmSync(program, { force: true })
}
