import { describe, expect, it } from 'vitest'
import { OpenSubscriptions } from '../../../src/http/access/open-subscriptions.ts'

describe('OpenSubscriptions', () => {
  it('refuses one too many of a credential, and of that one only', () => {
    const open = new OpenSubscriptions(2)
    const close = open.open('a')
    open.open('a')
    expect(() => open.open('a')).toThrow(expect.objectContaining({ status: 429 }))
    expect(() => open.open('a')).toThrow('has 2 open')
    open.open('b')
    expect(open.size).toBe(3)
    close()
    open.open('a')
    expect(open.size).toBe(3)
  })

  it('counts each out once, however often it is closed', () => {
    const open = new OpenSubscriptions(2)
    const [first, second] = [open.open('a'), open.open('a')]
    first()
    first()
    expect(open.size).toBe(1)
    second()
    second()
    expect(open.size).toBe(0)
  })
})
