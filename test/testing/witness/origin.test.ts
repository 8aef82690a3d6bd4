import { Script } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { captureOrigin, firstUserFrame, type Origin, Origins } from '../../../src/testing/witness/origin.ts'

const library = new URL('../../../src/', import.meta.url)

describe('Origins', () => {
  it('keeps the places of the first calls, and says so for later ones', () => {
    const origins = new Origins()
    const places = Array.from({ length: 201 }, () => origins.capture()())
    expect(places[199]).toMatch(/origin\.test\.ts:\d+:\d+$/)
    expect(places[200]).toBe('a place that is not kept (only the first 200 of a test engine are)')
  })
})

describe('Origins.within', () => {
  it('answers the place of the call for its first record, and that of the others for them', () => {
    const origins = new Origins()
    const call: Origin = () => 'the call'
    const [first, second] = origins.within(call, () => [origins.ofRecord(), origins.ofRecord()])
    expect(first()).toBe('the call')
    expect(second()).toMatch(/origin\.test\.ts:\d+:\d+$/)
  })

  it('leaves its place to nothing that is stored later', () => {
    const origins = new Origins()
    const call: Origin = () => 'the call'
    origins.within(call, () => undefined)
    expect(origins.ofRecord()()).toMatch(/origin\.test\.ts:\d+:\d+$/)
    expect(() => origins.within(call, () => refuse())).toThrow('refused')
    expect(origins.ofRecord()()).toMatch(/origin\.test\.ts:\d+:\d+$/)
  })

  it('reaches the place of a record below many calls', () => {
    const origins = new Origins()
    const filename = `${library.pathname}core/deep.ts`
    const script = new Script(
      '(function below(calls, end) { return calls === 0 ? end() : below(calls - 1, end) })',
      { filename },
    )
    const below = script.runInThisContext() as (calls: number, end: () => Origin) => Origin
    expect(below(30, origins.ofRecord.bind(origins))()).toMatch(/origin\.test\.ts:\d+:\d+$/)
  })

  it('has no place of its own for a call that is made within another one', () => {
    const origins = new Origins()
    const inner: Origin = () => 'the inner call'
    const outer: Origin = () => 'the outer call'
    const places = origins.within(outer, () => [
      origins.within(inner, () => origins.ofRecord()()),
      origins.ofRecord()(),
    ])
    expect(places[0]).toBe('the inner call')
    expect(places[1]).toMatch(/origin\.test\.ts:\d+:\d+$/)
  })
})

describe('captureOrigin', () => {
  it('answers the line it was called for', () => {
    expect(captureOrigin()()).toMatch(/test[\\/]testing[\\/]witness[\\/]origin\.test\.ts:\d+:\d+$/)
  })

  it('leaves the depth of other stacks alone', () => {
    const depth = Error.stackTraceLimit
    captureOrigin()
    expect(Error.stackTraceLimit).toBe(depth)
  })
})

describe('firstUserFrame', () => {
  it('passes over the lines of this library and of Node', () => {
    const stack = [
      'Error: called here',
      `    at EngineWait.createToken (${library.pathname}core/wait-namespace.ts:1:2)`,
      `    at Object.createToken (${library.href}core/ambient.ts:3:4)`,
      '    at process.processTicksAndRejections (node:internal/process/task_queues:105:5)',
      '    at new Promise (<anonymous>)',
      '    at async run (file:///app/review.ts?v=1:7:11)',
      '    at /app/main.ts:9:1',
    ]
    expect(firstUserFrame(stack.join('\n'))).toBe('/app/review.ts:7:11')
    expect(firstUserFrame([...stack.slice(0, 5), '    at /app/main.ts:9:1'].join('\n'))).toBe(
      '/app/main.ts:9:1',
    )
  })

  it('passes over the lines of packages, unless there are no others', () => {
    const packaged = [
      'Error: called here',
      '    at Proxy.softWrapper (file:///app/node_modules/@vitest/expect/dist/index.js:1872:36)',
      '    at other (/app/node_modules/other/index.js:1:2)',
    ]
    expect(firstUserFrame(packaged.join('\n'))).toBe('/app/node_modules/@vitest/expect/dist/index.js:1872:36')
    expect(firstUserFrame([...packaged, '    at /app/review.test.ts:7:11'].join('\n'))).toBe(
      '/app/review.test.ts:7:11',
    )
  })

  it('says so when there is none', () => {
    expect(firstUserFrame('Error: called here')).toBe('an unknown place')
  })
})

function refuse(): never {
  throw new Error('refused')
}
