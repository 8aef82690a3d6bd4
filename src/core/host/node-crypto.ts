import type { createHash, createHmac } from 'node:crypto'
// The whole module: a bundler that knows `createRequire` by its name would look for what is loaded itself.
import * as nodeModule from 'node:module'

interface NodeCrypto {
  readonly createHash: typeof createHash
  readonly createHmac: typeof createHmac
}

let loaded: NodeCrypto | undefined

/**
 * `node:crypto`, loaded with the first digest: importing it costs 3 ms at every start. Not `primitives/digest.ts`, which the storages and the
 * SDK have too: the build puts what they share with the engine into the file that pages load, and there is no module of Node.
 */
export function nodeCrypto(): NodeCrypto {
  return (loaded ??= nodeModule.createRequire('/')('node:crypto') as NodeCrypto)
}
