// `npm run example NAME` runs examples/NAME/main.ts in this process: it is bundled, with `waitpoint` from src, into build/examples.
import { existsSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const at = (path) => new URL(`../${path}`, import.meta.url)
const names = readdirSync(at('examples')).filter((name) => existsSync(at(`examples/${name}/pages.ts`)))
const [name = '', ...rest] = process.argv.slice(2)

if (names.includes(name) && rest.length === 0) {
  const outfile = at(`build/examples/${name}.mjs`)
  await build({
    absWorkingDir: fileURLToPath(at('.')),
    entryPoints: [`examples/${name}/main.ts`],
    outfile: fileURLToPath(outfile),
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
    sourcemap: true,
    logLevel: 'warning',
  })
  process.setSourceMapsEnabled(true)
  await import(outfile.href)
} else {
  console.error(`usage: npm run example NAME, where NAME is one of ${names.join(', ')}`)
  process.exitCode = 2
}
