import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { errorFromJson, storedError } from '../../../src/api/serialize.ts'
import { WaitpointError } from 'waitpoint'
import { errorToJson } from '../../../src/core/host/error-to-json.ts'

describe('errorToJson', () => {
  it('keeps name, message, stack and code', () => {
    class PaymentError extends Error {
      override name = 'PaymentError'
      readonly code = 'E_PAY'
    }
    const error = new PaymentError('declined')
    const copy = errorFromJson(errorToJson(error))
    expect(copy).toBeInstanceOf(Error)
    expect(copy).toMatchObject({
      name: 'PaymentError',
      message: 'declined',
      code: 'E_PAY',
      stack: error.stack,
    })
    expect(storedError(errorToJson(error)).code).toBe('E_PAY')
  })

  const cycle: Record<string, unknown> = {}
  cycle['self'] = cycle

  it.each([
    ['a string', 'a string'],
    [undefined, 'undefined'],
    [null, 'null'],
    [{ status: 500 }, '{ status: 500 }'],
    [5n, '5n'],
    [cycle, '<ref *1> { self: [Circular *1] }'],
    [Object.create(null), '[Object: null prototype] {}'],
    [Symbol('s'), 'Symbol(s)'],
  ])('describes whatever was thrown: %s', (thrown, message) => {
    expect(errorFromJson(errorToJson(thrown)).message).toBe(message)
  })

  it('never throws itself', () => {
    const hostile = Object.defineProperties(new Error('x'), {
      message: {
        get() {
          throw new Error('trap')
        },
      },
    })
    for (const thrown of [
      hostile,
      new Proxy(
        {},
        {
          get: () => {
            throw new Error('trap')
          },
        },
      ),
    ]) {
      expect(() => errorToJson(thrown)).not.toThrow()
    }
    fc.assert(fc.property(fc.anything(), (thrown) => void errorFromJson(errorToJson(thrown))))
  })

  const TASK =
    '\n    at charge (/app/tasks/charge.ts:3:9)\n    at async Object.run (file:///app/tasks/charge.ts:9:3)'
  const SDK = '\n    at Stripe (/app/node_modules/stripe/waitpoint/dist/a.js:1:1)'
  const ENGINE =
    '\n    at #runTask (file:///app/node_modules/waitpoint/dist/chunk-A.js:401:20)' +
    '\n    at C:\\app\\node_modules\\.pnpm\\waitpoint@1.0.0\\node_modules\\waitpoint\\dist\\chunk-A.js:381:34' +
    '\n    at AsyncLocalStorage.run (node:async_hooks:346:14)'
  const NODE = '\n    at listOnTimeout (node:internal/timers:581:17)'

  it.each([
    ['above and below', `${ENGINE}${TASK}${ENGINE}`, TASK],
    ['but not those of another package', `${SDK}${TASK}${ENGINE}`, SDK + TASK],
    ['unless there are no others', ENGINE, ENGINE],
    ['of which those of Node are none', ENGINE + NODE, ENGINE + NODE],
  ])('leaves out the frames of the engine, %s', (_where, frames, kept) => {
    const error = Object.assign(new Error('declined'), { stack: `Error: declined${frames}` })
    expect(errorFromJson(errorToJson(error)).stack).toBe(`Error: declined${kept}`)
  })

  it.each([
    ['of the engine', ENGINE, ''],
    ['of the engine and of Node', ENGINE + NODE, ''],
    ['of the task too', ENGINE + TASK + ENGINE, TASK],
  ])('leaves them out of an error that the engine says, with frames %s', (_of, frames, kept) => {
    const error = new WaitpointError('ERR_RUN_FAILED', 'said')
    error.stack = `WaitpointError: said${frames}`
    expect(errorFromJson(errorToJson(error)).stack).toBe(`WaitpointError: said${kept}`)
  })
})
