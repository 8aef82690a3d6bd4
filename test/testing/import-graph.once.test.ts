import { describe, expect, it } from 'vitest'
import { loadedBy } from '../support/loaded.ts'

const PEERS = ['fast-check', 'vitest']

function peersOf(entry: string): string[] {
  return PEERS.filter((peer) => loadedBy(entry).has(peer))
}

describe('the entries for tests', () => {
  it('need the peer they are named after, and no other', () => {
    expect(peersOf('src/testing.ts')).toEqual([])
    expect(peersOf('src/fast-check.ts')).toEqual(['fast-check'])
  })
})
