import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'

interface Locked {
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly optional?: boolean }>>
}

/**
 * Installs what the tests of a folder need apart from the root, whose own install is light: when it is missing or
 * another than the folder's lockfile says. It says so, as it takes a while.
 *
 * @param folder - Its URL, with the slash at its end: what has a package.json and a lockfile.
 */
export function installFolder(folder: URL): void {
  const path = fileURLToPath(folder)
  if (isInstalled(path)) return
  process.stderr.write(`${relative('.', path)}: npm ci, for what only its tests need\n`)
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: path,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

/** Whether all that the lockfile names is there in its version. npm leaves out what is for another platform. */
function isInstalled(path: string): boolean {
  const installed = `${path}node_modules/.package-lock.json`
  if (!existsSync(installed)) return false
  const { packages } = readLocked(installed)
  return Object.entries(readLocked(`${path}package-lock.json`).packages).every(
    ([name, { version, optional = false }]) =>
      name === '' || packages[name]?.version === version || (optional && !packages[name]),
  )
}

function readLocked(path: string): Locked {
  return JSON.parse(readFileSync(path, 'utf8')) as Locked
}
