import { vi } from 'vitest'
import { Credentials } from '../../src/core/host/credentials.ts'

interface SignatureCount extends Disposable {
  /** Signatures of token URLs and of access tokens so far, by any engine. */
  readonly count: number
}

/** Counts the signatures that engines compute, until it is disposed of. */
export function countSignatures(): SignatureCount {
  const ofUrls = vi.spyOn(Credentials.prototype, 'tokenHash')
  const ofAccess = vi.spyOn(Credentials.prototype, 'publicAccessToken')
  return {
    get count() {
      return ofUrls.mock.calls.length + ofAccess.mock.calls.length
    },
    [Symbol.dispose]() {
      ofUrls.mockRestore()
      ofAccess.mockRestore()
    },
  }
}
