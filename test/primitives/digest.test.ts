import { describe, expect, it } from 'vitest'
import { hmacSha256, sha256 } from '../../src/primitives/digest.ts'

describe('sha256', () => {
  it('is the standard one', () => {
    expect(sha256('abc', 'hex')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
  })
})

describe('hmacSha256', () => {
  it('is the one of RFC 4231, in either spelling', () => {
    const hex = '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843'
    expect(hmacSha256('Jefe', 'what do ya want for nothing?', 'hex')).toBe(hex)
    const base64url = Buffer.from(hex, 'hex').toString('base64url')
    expect(hmacSha256('Jefe', 'what do ya want for nothing?', 'base64url')).toBe(base64url)
  })
})
