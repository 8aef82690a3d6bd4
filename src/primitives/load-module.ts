// The whole module: a bundler that knows `createRequire` by its name would look for what is loaded itself.
import * as nodeModule from 'node:module'
import { ownFile } from './own-file.ts'

/** Loads a module of Node when it is needed, and not before. */
export function loadBuiltIn(name: string): unknown {
  // Node before 20.16 has no such function. A built-in module is what its name says, wherever it is asked for.
  return nodeModule.createRequire('/')(name)
}

/** Loads a package that is installed beside this one, or beside the bundle that this code is in. */
export function loadPackage(name: string): unknown {
  return nodeModule.createRequire(ownFile())(name)
}
