import { createRequire as requireFrom } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** From this version on Node reads TypeScript, with a flag; since 22.18 without one. */
const STRIPS_SINCE = [22, 6] as const

/** The options of Node with which a process reads TypeScript: by `tsx` if it is installed there, else by Node itself. */
export function typescriptOptions(folder: string): readonly string[] {
  const tsx = installedIn(folder, 'tsx')
  if (tsx !== undefined) return ['--import', pathToFileURL(tsx).href]
  const { typescript } = process.features as { readonly typescript?: unknown }
  if (typeof typescript === 'string') return []
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const [sinceMajor, sinceMinor] = STRIPS_SINCE
  const canStrip = major > sinceMajor || (major === sinceMajor && minor >= sinceMinor)
  return canStrip ? ['--experimental-strip-types', '--disable-warning=ExperimentalWarning'] : []
}

/** Where the file of a package is that a project has, if it has it. */
export function installedIn(folder: string, name: string): string | undefined {
  try {
    return requireFrom(join(folder, 'package.json')).resolve(name)
  } catch {
    return undefined
  }
}
