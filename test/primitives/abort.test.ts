import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { onAbort, throwIfAborted } from '../../src/primitives/abort.ts'

const reason = new Error('stop')

describe('onAbort', () => {
  it('calls every listener once, in order, with the reason', () => {
    const controller = new AbortController()
    const calls: [string, unknown][] = []
    onAbort(controller.signal, (why) => calls.push(['first', why]))
    onAbort(controller.signal, (why) => calls.push(['second', why]))
    expect(calls).toEqual([])
    controller.abort(reason)
    controller.abort(new Error('again'))
    expect(calls).toEqual([
      ['first', reason],
      ['second', reason],
    ])
  })

  it('calls the listener at once when the signal is already aborted', () => {
    const calls: unknown[] = []
    const remove = onAbort(AbortSignal.abort(reason), (why) => calls.push(why))
    remove()
    expect(calls).toEqual([reason])
  })

  it('calls no listener without a signal', () => {
    const remove = onAbort(undefined, () => expect.unreachable())
    expect(remove).not.toThrow()
  })

  it('does not call a listener that has been removed', () => {
    const controller = new AbortController()
    const calls: string[] = []
    const listener = (): void => void calls.push('same')
    const remove = onAbort(controller.signal, listener)
    onAbort(controller.signal, listener)
    remove()
    remove()
    controller.abort()
    expect(calls).toEqual(['same'])
  })

  it('does not call a listener that an earlier one removes', () => {
    const controller = new AbortController()
    const calls: string[] = []
    onAbort(controller.signal, () => {
      calls.push('first')
      removeSecond()
    })
    const removeSecond = onAbort(controller.signal, () => calls.push('second'))
    controller.abort()
    expect(calls).toEqual(['first'])
  })

  it('takes one listener of the signal for any number of its own, and gives it back', () => {
    const { signal } = new AbortController()
    const removers = Array.from({ length: 20 }, () => onAbort(signal, () => expect.unreachable()))
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
    for (const remove of removers) remove()
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })

  it('listens again after all listeners were removed', () => {
    const controller = new AbortController()
    const calls: unknown[] = []
    onAbort(controller.signal, () => expect.unreachable())()
    onAbort(controller.signal, (why) => calls.push(why))
    controller.abort(reason)
    expect(calls).toEqual([reason])
  })

  it('calls all listeners though one throws, and then reports what it threw', () => {
    // What a listener of a real signal throws ends the process: this one gives its listener away instead.
    const { signal } = new AbortController()
    const listeners: (() => void)[] = []
    signal.addEventListener = (_type: string, listener: () => void) => void listeners.push(listener)
    const calls: string[] = []
    onAbort(signal, () => {
      throw reason
    })
    onAbort(signal, () => calls.push('second'))
    expect(() => listeners[0]?.()).toThrow(expect.objectContaining({ errors: [reason] }))
    expect(calls).toEqual(['second'])
  })
})

describe('throwIfAborted', () => {
  it('throws the reason of an aborted signal only', () => {
    const controller = new AbortController()
    throwIfAborted(undefined)
    throwIfAborted(controller.signal)
    controller.abort(reason)
    expect(() => throwIfAborted(controller.signal)).toThrow(reason)
  })
})
