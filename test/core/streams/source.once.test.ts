import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { checkSource, readSource } from '../../../src/core/streams/source.ts'
import { CountSource, PushSource, sourceOf } from '../../support/streams.ts'
import { turn } from '../../support/turn.ts'

/** Lets everything run that needs no time. */
describe('readSource', () => {
  it.each([
    ['an async generator', () => sourceOf('a', 'b')],
    ['a web stream', () => ReadableStream.from(['a', 'b'])],
    ['a Node stream', () => Readable.from(['a', 'b'])],
    ['an async iterable', () => ({ [Symbol.asyncIterator]: () => sourceOf('a', 'b') })],
  ])('reads %s one chunk at a time', async (_name, make) => {
    const reader = readSource(make())
    expect(await reader.next()).toEqual({ done: false, value: 'a' })
    expect(await reader.next()).toEqual({ done: false, value: 'b' })
    expect((await reader.next()).done).toBe(true)
  })

  it('tells an iterator', () => {
    const source = new CountSource()
    readSource(source).stop()
    expect(source.isReturned).toBe(true)
  })

  it('tells a web stream at once, even while a chunk is out', async () => {
    const reasons: unknown[] = []
    const reader = readSource(new ReadableStream({ cancel: (reason) => void reasons.push(reason) }))
    const next = reader.next()
    reader.stop()
    expect((await next).done).toBe(true)
    expect(reasons).toHaveLength(1)
  })

  it('tells a Node stream at once, even while a chunk is out', async () => {
    const stream = new Readable({ objectMode: true, read: () => undefined })
    const reader = readSource(stream)
    reader.next().catch(() => undefined)
    await turn()
    reader.stop()
    expect(stream.destroyed).toBe(true)
    await turn()
  })

  it('hears a Node stream that fails before its first chunk is asked for', async () => {
    const stream = new Readable({ objectMode: true, read: () => undefined })
    const reader = readSource(stream)
    expect(stream.listenerCount('error')).toBe(1)
    stream.destroy(new Error('connection reset'))
    await turn()
    await expect(reader.next()).rejects.toThrow('connection reset')
  })

  it.each([
    ['throws', () => { throw new Error('no') }], // prettier-ignore
    ['rejects', () => Promise.reject(new Error('no'))],
    ['answers no promise', () => ({ done: true, value: undefined })],
  ])('leaves a source behind whose return() %s', async (_name, end) => {
    const source = new PushSource<string>()
    const iterator = {
      ...source[Symbol.asyncIterator](),
      return: end as () => Promise<IteratorResult<string>>,
    }
    const reader = readSource({ [Symbol.asyncIterator]: () => iterator })
    expect(() => reader.stop()).not.toThrow()
    await turn()
  })

  it('rejects when an iterator throws instead of answering', async () => {
    const next = (): never => {
      throw new Error('broken')
    }
    const reader = readSource({ [Symbol.asyncIterator]: () => ({ next }) })
    await expect((async () => reader.next())()).rejects.toThrow('broken')
    expect(() => reader.stop()).not.toThrow()
  })

  it('refuses a web stream that another reader has taken', () => {
    const stream = ReadableStream.from(['a'])
    stream.getReader()
    expect(() => readSource(stream)).toThrow(TypeError)
  })
})

describe('checkSource', () => {
  it.each([['a string'], [['an array']], [undefined], [null], [{}], [42], [() => sourceOf('a')]])(
    'refuses %j and says what to give',
    (source) => {
      expect(() => checkSource(source as never)).toThrow(
        new TypeError(
          'Cannot read the source of a stream: give an async iterable, a web ReadableStream or a Node Readable',
        ),
      )
    },
  )
})
