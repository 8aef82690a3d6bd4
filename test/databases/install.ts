import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const DRIVERS = ['libsql', 'pg']
const here = fileURLToPath(new URL('.', import.meta.url))

/** Before any of the tests of storages: their database bindings are apart from the root, so that its install is light. */
export function setup(): void {
  if (DRIVERS.every((name) => existsSync(`${here}node_modules/${name}`))) return
  process.stderr.write('test/databases: npm ci, for the drivers its tests use\n')
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: here,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}
