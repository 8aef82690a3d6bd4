import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { PeerPackage } from './peer.ts'

/** The peers have their own package.json, so that the installation of the root stays small. */
const folder = join(process.cwd(), 'bench/peers')
const { resolve } = createRequire(`${folder}/`)

/** Imports a peer's package. `Module` is what the bench uses of it: the root is type-checked without the packages. */
export async function importPeer<Module>(name: string): Promise<Module> {
  // The named members are documented; a package without them fails at the first use.
  return (await import(pathToFileURL(resolve(name)).href)) as Module
}

/** The URL of a database on the server of the bench. */
export function peerDatabase(name: string): string {
  const url = new URL(process.env['WAITPOINT_POSTGRES_URL'] ?? '')
  url.pathname = name
  return String(url)
}

/** The reason why a peer cannot be measured here; `undefined` if it can. */
export function whyMissing({ packageName, leastNode }: PeerPackage): string | undefined {
  const [major = '0'] = process.versions.node.split('.')
  if (Number(major) < leastNode) return `it needs Node ${leastNode}`
  try {
    resolve(packageName)
    return undefined
  } catch {
    return 'it is not installed: npm ci --prefix bench/peers'
  }
}

/** The measured versions of the peers, from their package.json. */
export function peerVersions(): readonly string[] {
  const { dependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>
  }
  return Object.entries(dependencies).map(([name, version]) => `${name} ${version}`)
}
