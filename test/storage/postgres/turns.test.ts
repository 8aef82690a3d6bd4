import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createDeferred } from '../../../src/primitives/deferred.ts'
import { type CallKind, PostgresTurns, type Statement } from '../../../src/storage/postgres/turns.ts'

const one: CallKind = { name: 'one' }
const two: CallKind = { name: 'two' }
const single: CallKind = { name: 'single', isSingle: true }

/** An engine has it open, and the server lets a call wait for a lock as long as it takes. */
const IN_USE = { isInUse: () => true, lockTimeoutMs: () => 0, mostPauseMs: 5 }

/** Answers every request with itself, and keeps what was sent. */
function echoing(most: number = 4): { readonly turns: PostgresTurns; readonly sent: string[] } {
  const sent: string[] = []
  const turns = new PostgresTurns({
    ...IN_USE,
    most,
    async send({ kind: { name }, requests }) {
      await Promise.resolve()
      sent.push(`${name} ${requests}`)
      return requests
    },
  })
  return { turns, sent }
}

/** A server on which calls that say `held` need a lock of another transaction, until that is over. */
function withHeld(): {
  readonly turns: PostgresTurns
  readonly sent: readonly Statement[]
  readonly free: () => void
} {
  let isHeld = true
  const sent: Statement[] = []
  const turns = new PostgresTurns({
    ...IN_USE,
    most: 4,
    async send(statement) {
      sent.push(statement)
      await new Promise(setImmediate)
      const { requests, keys } = statement
      if (!isHeld || !requests.includes('held')) return requests
      if (keys === undefined) throw Object.assign(new Error('lock timeout'), { code: '55P03' })
      const asked = JSON.parse(requests) as readonly string[]
      const heldKeys = keys.filter((_, at) => asked[at]?.startsWith('held') === true)
      return JSON.stringify(asked.map((id, at) => (heldKeys.includes(keys[at]) ? 'held' : id)))
    },
  })
  return { turns, sent, free: () => (isHeld = false) }
}

describe('PostgresTurns', () => {
  it('sends all calls of one kind in one turn as one statement', async () => {
    const { turns, sent } = echoing()
    const answers = await Promise.all([1, 2, 3].map((request) => turns.call(one, request, undefined)))
    expect(answers).toEqual([1, 2, 3])
    expect(sent).toEqual(['one [1,2,3]'])
  })

  it('answers each call with its own, and keeps the order of what has one key, whatever is asked', async () => {
    const call = fc.record({
      kind: fc.constantFrom(one, two, single),
      key: fc.constantFrom('a', 'b', undefined),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(call), fc.integer({ min: 1, max: 3 }), async (calls, most) => {
        const { turns, sent } = echoing(most)
        const asked = calls.map(({ kind, key }, at) => turns.call(kind, at, key))
        expect(await Promise.all(asked)).toEqual(calls.map((_, at) => at))
        const order = sent.flatMap((text) => JSON.parse(text.slice(text.indexOf('['))) as number[])
        for (const key of ['a', 'b']) {
          const ofKey = order.filter((at) => calls[at]?.key === key)
          expect(ofKey).toEqual(ofKey.toSorted((first, second) => first - second))
        }
      }),
    )
  })

  it('gathers what comes while a statement is under way', async () => {
    const gate = createDeferred<undefined>()
    const sent: string[] = []
    const turns = new PostgresTurns({
      ...IN_USE,
      most: 4,
      async send({ requests }) {
        sent.push(requests)
        await gate.promise
        return requests
      },
    })
    const first = turns.call(one, 1, undefined)
    await Promise.resolve()
    const rest = [2, 3].map((request) => turns.call(one, request, undefined))
    gate.resolve(undefined)
    await Promise.all([first, ...rest])
    expect(sent).toEqual(['[1]', '[2,3]'])
  })

  it('fails for one call alone', async () => {
    const turns = new PostgresTurns({
      ...IN_USE,
      most: 4,
      send: ({ requests }) =>
        requests.includes('bad')
          ? Promise.reject(Object.assign(new Error('no'), { code: '22P02' }))
          : Promise.resolve(requests),
    })
    const asked = ['good', 'bad', 'better'].map((request) => turns.call(one, request, undefined))
    const answers = await Promise.allSettled(asked)
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  })

  it('repeats a transaction that was rolled back because of others', async () => {
    let left = 2
    const turns = new PostgresTurns({
      ...IN_USE,
      most: 4,
      send: ({ requests }) =>
        left-- > 0
          ? Promise.reject(Object.assign(new Error('deadlock detected'), { code: '40P01' }))
          : Promise.resolve(requests),
    })
    expect(await turns.call(one, 1, undefined)).toBe(1)
  })

  it('sends nothing again when the server is gone, which may have done it already', async () => {
    let sent = 0
    const gone = ['ECONNREFUSED', 'ECONNRESET']
    for (const code of gone) {
      const turns = new PostgresTurns({
        ...IN_USE,
        most: 4,
        send() {
          sent += 1
          return Promise.reject(Object.assign(new Error('gone'), { code }))
        },
      })
      const answers = await Promise.allSettled(
        [1, 2, 3].map((request) => turns.call(one, request, undefined)),
      )
      expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    }
    expect(sent).toBe(gone.length)
  })

  it('holds up no other call by one that needs a lock of another transaction, and makes that one again', async () => {
    const { turns, sent, free } = withHeld()
    const held = turns.call(one, 'held 1', 'key')
    const others = ['a', 'b', 'c', 'd'].map((request) => turns.call(one, request, request))
    expect(await Promise.all(others)).toEqual(['a', 'b', 'c', 'd'])
    // The turn, and once more with each call for itself.
    expect(sent.slice(0, 2).map(({ requests }) => requests)).toEqual(
      Array(2).fill('["held 1","a","b","c","d"]'),
    )
    const behind = turns.call(one, 'behind', 'key')
    expect(await turns.call(one, 'later', undefined)).toBe('later')
    expect(sent.some(({ requests }) => requests.includes('behind'))).toBe(false)
    free()
    expect(await Promise.all([held, behind])).toEqual(['held 1', 'behind'])
  })

  it('waits for one lock at a time, and for those of a turn together no longer than for one', async () => {
    const { turns, sent, free } = withHeld()
    const asked = ['held 1', 'a', 'b', 'c', 'd'].map((request) => turns.call(one, request, request))
    await Promise.all(asked.slice(1))
    const [first, second] = sent
    expect((second?.patienceMs ?? Infinity) * asked.length).toBeLessThanOrEqual(first?.patienceMs ?? 0)
    free()
    await asked[0]
  })

  it('lets what is behind such a call in its turn wait, too', async () => {
    const { turns, sent, free } = withHeld()
    const calls = ['held 1', 'behind', 'last'].map((request) => turns.call(one, request, 'key'))
    expect(await turns.call(one, 'other', 'other')).toBe('other')
    expect(sent[1]?.keys).toEqual(['key', 'key', 'key', 'other'])
    free()
    expect(await Promise.all(calls)).toEqual(['held 1', 'behind', 'last'])
    expect(sent.at(-1)?.requests).toBe('["behind","last"]')
  })

  it('makes all calls of a kind that wait for a lock again at once', async () => {
    const { turns, sent, free } = withHeld()
    const held = [1, 2, 3].map((at) => turns.call(one, `held ${at}`, `key ${at}`))
    await turns.call(one, 'other', 'other')
    const isAgain = ({ requests }: Statement): boolean =>
      requests.includes('held 2","held 3') && !requests.includes('other')
    while (!sent.some(isAgain)) await new Promise(setImmediate)
    free()
    expect(await Promise.all(held)).toEqual(['held 1', 'held 2', 'held 3'])
  })

  it('asks a kind that takes one call at a time for the next one', async () => {
    const listing: CallKind = { name: 'listing', isSingle: true, patienceMs: 10 }
    const { turns, free } = withHeld()
    const held = turns.call(listing, 'held 1', undefined)
    expect(await turns.call(listing, 'other', undefined)).toBe('other')
    free()
    expect(await held).toBe('held 1')
  })

  it('is told at once of keys that are held', async () => {
    const telling: CallKind = { name: 'telling', tellsHeld: true }
    let isHeld = true
    const sent: string[] = []
    const turns = new PostgresTurns({
      ...IN_USE,
      most: 4,
      send({ requests }) {
        sent.push(requests)
        const asked = JSON.parse(requests) as readonly string[]
        return Promise.resolve(JSON.stringify(asked.map((id) => (isHeld && id === 'locked' ? 'held' : id))))
      },
    })
    const held = turns.call(telling, 'locked', 'key')
    const others = ['a', 'b', 'c', 'd'].map((id) => turns.call(telling, id, undefined))
    expect(await Promise.all(others)).toEqual(['a', 'b', 'c', 'd'])
    expect(sent).toHaveLength(1)
    isHeld = false
    expect(await held).toBe('locked')
  })

  it('takes so many calls with a key that the server has room for their locks', async () => {
    const keyed: CallKind = { name: 'keyed', locksKey: () => true }
    const { turns, sent } = echoing()
    const numbers = Array.from({ length: 500 }, (_, at) => at)
    expect(await Promise.all(numbers.map((at) => turns.call(keyed, at, undefined)))).toEqual(numbers)
    expect(sent.map((text) => text.split(',').length)).toEqual([200, 200, 100])
  })
})
