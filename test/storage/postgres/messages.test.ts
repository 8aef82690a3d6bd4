import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { messagesOf, readMessage } from '../../../src/storage/postgres/messages.ts'
import type { FarHint } from '../../../src/storage/postgres/hints.ts'

const hint: fc.Arbitrary<FarHint> = fc.oneof(
  fc.tuple(fc.constant('queue' as const), fc.option(fc.string())),
  fc.tuple(fc.constant('run' as const), fc.string({ maxLength: 300 }), fc.option(fc.string())),
  fc.tuple(fc.constant('waits' as const), fc.string({ unit: 'binary', maxLength: 100 })),
)

describe('messagesOf', () => {
  it('says every hint once, in messages that Postgres takes', () => {
    fc.assert(
      fc.property(fc.array(hint, { maxLength: 200 }), (hints) => {
        const messages = messagesOf('me', hints)
        for (const message of messages) expect(Buffer.byteLength(message)).toBeLessThan(8_000)
        const heard = messages.flatMap((message) => readMessage(message, 'you') ?? [])
        const texts = heard.map((one) => JSON.stringify(one))
        expect(new Set(texts)).toEqual(new Set(hints.map((one) => JSON.stringify(one))))
        expect(new Set(texts).size).toBe(texts.length)
      }),
    )
  })

  it('names the runs of an owner whose waits are ready once each, all or none', () => {
    const runId = fc.string({ maxLength: 200 })
    const wakes = fc.array(fc.tuple(fc.constantFrom('a', 'b'), fc.option(runId, { freq: 20 })), {
      maxLength: 500,
    })
    fc.assert(
      fc.property(wakes, (woken) => {
        const hints = woken.map(([owner, id]): FarHint =>
          id === null ? ['waits', owner] : ['waits', owner, id],
        )
        const heard = messagesOf('me', hints).flatMap((message) => readMessage(message, 'you') ?? [])
        for (const owner of ['a', 'b']) {
          const asked = woken.filter(([of]) => of === owner).map(([, id]) => id)
          const named = heard.filter(([, of]) => of === owner).map(([, , ...ids]) => ids)
          const isBare = named.some((ids) => ids.length === 0)
          if (asked.includes(null)) expect(named).toEqual([[]])
          else if (!isBare) expect(named.flat()).toEqual([...new Set(asked)])
        }
      }),
    )
  })

  it('leaves out names of runs that fit into none: their owner looks for itself', () => {
    expect(messagesOf('me', [['waits', 'a', 'x'.repeat(9_000)]])).toEqual(['["me",["waits","a"]]'])
  })

  it('leaves out what fits into none: the next tick finds it', () => {
    expect(messagesOf('me', [['run', 'x'.repeat(9_000), null]])).toEqual([])
  })
})

describe('readMessage', () => {
  it('does not hear oneself', () => {
    const [message = ''] = messagesOf('me', [['queue', null]])
    expect(readMessage(message, 'me')).toBeUndefined()
    expect(readMessage(message, 'you')).toEqual([['queue', null]])
  })

  it('does not hear what is no message', () => {
    expect(readMessage('hello', 'me')).toBeUndefined()
  })
})
