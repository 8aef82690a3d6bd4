import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { expect, it, onTestFinished } from 'vitest'

/** What `npm run bench` prints of one figure. Built inside of the project, whose packages it needs. */
async function bench(figure: string): Promise<string> {
  mkdirSync('build', { recursive: true })
  const folder = mkdtempSync(join('build', 'counts-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const outfile = join(folder, 'main.mjs')
  await build({
    entryPoints: ['bench/main.ts'],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
  })
  return execFileSync(process.execPath, ['--expose-gc', outfile, figure], { encoding: 'utf8' })
}

it('npm run bench -- counts: nothing that is counted has grown', async () => {
  const report = await bench('counts')
  expect(report.match(/ met /g), report).toHaveLength(3)
  expect(report).not.toContain('MISSED')
})
