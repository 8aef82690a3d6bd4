import { readFileSync } from 'node:fs'
import * as nodeModule from 'node:module'
import { fileURLToPath } from 'node:url'
import { MessageChannel } from 'node:worker_threads'
import { messageOf } from '../../primitives/message.ts'
import { type LoadedModule, withCommonJsNames } from './common-js-names.ts'
import type { PackageNames } from './names.ts'

interface Resolved {
  readonly url: string
  readonly format?: string | null | undefined
  readonly shortCircuit?: boolean
}

type Next<Answer> = (specifier: string, context: unknown) => Answer

/** The part of `node:module` that is younger than the types of the oldest Node. */
interface Hooks {
  readonly registerHooks?: (hooks: {
    resolve(specifier: string, context: unknown, next: Next<Resolved>): Resolved
    load(url: string, context: unknown, next: Next<LoadedModule>): LoadedModule
  }) => unknown
  readonly register?: (specifier: string, options: object) => void
}

/**
 * Whether a TypeScript file has `import` or `export`. A package that does not say so has CommonJS as its usual format:
 * compiled to that, the file would `require` another copy of the engine.
 */
function hasModuleSyntax(url: string): boolean {
  if (!/^file:.*\.tsx?([?#].*)?$/.test(url)) return false
  return /^\s*(import|export)\b/m.test(readFileSync(fileURLToPath(url.replace(/[?#].*$/, '')), 'utf8'))
}

/** Does in a thread of its own what `registerHooks` does at once: for Node before 22.15. */
const THREAD = `
let names, port
export function initialize(given) { names = given.names; port = given.port }
export async function resolve(specifier, context, next) {
  const url = Object.hasOwn(names, specifier) ? names[specifier] : undefined
  if (url !== undefined) return { url, format: 'module', shortCircuit: true }
  const resolved = await next(specifier, context)
  port?.postMessage(resolved.url)
  return resolved.format === 'commonjs' && isModule(resolved.url) ? { ...resolved, format: 'module' } : resolved
}
const named = ${String(withCommonJsNames)}
export async function load(url, context, next) {
  return named(url, await next(url, context))
}
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
function isModule(url) {
  if (!/^file:.*\\.tsx?([?#].*)?$/.test(url)) return false
  return /^\\s*(import|export)\\b/m.test(readFileSync(fileURLToPath(url.replace(/[?#].*$/, '')), 'utf8'))
}
`

/**
 * From now on these names of packages lead to these files, for the modules of this process. Modules of the project know
 * `require`, `__filename` and `__dirname`.
 *
 * @param seen Is told the address of each module that is found.
 *
 * @throws Error on a Node that has no such hooks.
 */
export function mapPackages(names: PackageNames, seen?: (url: string) => void): void {
  const { registerHooks, register } = nodeModule as Hooks
  if (registerHooks !== undefined) {
    registerHooks({
      resolve(specifier, context, next) {
        const url = Object.hasOwn(names, specifier) ? names[specifier] : undefined
        if (url !== undefined) return { url, format: 'module', shortCircuit: true }
        const resolved = next(specifier, context)
        seen?.(resolved.url)
        const isModule = resolved.format === 'commonjs' && hasModuleSyntax(resolved.url)
        return isModule ? { ...resolved, format: 'module' } : resolved
      },
      load: (url, context, next) => withCommonJsNames(url, next(url, context)),
    })
    return
  }
  if (register === undefined)
    throw new Error(
      `Cannot map names of packages: Node ${process.versions.node} has no hooks; use 20.6 or later`,
    )
  const { port1, port2 } = new MessageChannel()
  port1.on('message', (url) => seen?.(messageOf(url)))
  port1.unref()
  register(`data:text/javascript,${encodeURIComponent(THREAD)}`, {
    data: { names, port: seen === undefined ? undefined : port2 },
    transferList: seen === undefined ? [] : [port2],
  })
}
