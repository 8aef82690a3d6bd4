import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { ownFile } from '../../primitives/own-file.ts'

/** The files that names of packages lead to, as addresses. */
export type PackageNames = Readonly<Record<string, string>>

const HOSTED = ['@trigger.dev/sdk', '@trigger.dev/sdk/v3']

/** The names of the hosted service's module, which lead to `waitpoint/sdk` of this package. */
export function hostedNames(): PackageNames {
  const url = ownNames()['waitpoint/sdk'] ?? ''
  return Object.fromEntries(HOSTED.map((name) => [name, url]))
}

/**
 * Packages that refuse to be loaded outside of a bundler, and are empty in one for servers. Task files run on a server.
 */
export const EMPTY_NAMES: PackageNames = { 'server-only': 'data:text/javascript,' }

/** The names of this package itself: task files are to use the engine that executes them, and no other copy of it. */
export function ownNames(): PackageNames {
  const { url, about } = ownPackage()
  return Object.fromEntries(
    Object.entries(about.exports).flatMap(([key, target]) =>
      typeof target === 'string' ? [] : [[`waitpoint${key.slice(1)}`, new URL(target.default, url).href]],
    ),
  )
}

/** The version of this package. */
export function ownVersion(): string {
  return ownPackage().about.version
}

/** The files of an app that `init` writes. */
export function templateFolder(): string {
  return fileURLToPath(new URL('template/', ownPackage().url))
}

interface OwnPackage {
  readonly url: URL
  readonly about: {
    readonly name: string
    readonly version: string
    readonly exports: Readonly<Record<string, string | { readonly default: string }>>
  }
}

/**
 * Found by its place, and not by its name: a loader may lead names to other files, as `paths` of a tsconfig.json say. In a
 * bundle it is the package that is installed there.
 */
function ownPackage(): OwnPackage {
  for (let folder = dirname(ownFile()); ; folder = dirname(folder)) {
    for (const file of [join(folder, 'package.json'), join(folder, 'node_modules/waitpoint/package.json')]) {
      const about = existsSync(file) && (JSON.parse(readFileSync(file, 'utf8')) as OwnPackage['about'])
      if (about && about.name === 'waitpoint') return { url: pathToFileURL(file), about }
    }
    if (folder === dirname(folder)) throw new Error('Cannot find the package.json of waitpoint')
  }
}
