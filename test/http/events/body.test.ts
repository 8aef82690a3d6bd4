import { describe, expect, it } from 'vitest'
import { kernelOf } from '../../../src/core/engine.ts'
import { eventBody } from '../../../src/http/events/body.ts'
import { createDeferred } from '../../../src/primitives/deferred.ts'
import { stillEngine } from '../requests.ts'

/** More than is made ahead of a reader. */
const LONG = 'x'.repeat(100_000)

describe('eventBody', () => {
  it('takes a reader that pauses for no source that is silent', async () => {
    await using t = await stillEngine()
    const next = createDeferred<IteratorResult<string>>()
    const steps = [Promise.resolve({ done: false, value: LONG }), next.promise]
    const body = eventBody({
      host: kernelOf(t.engine).host,
      label: 'a test',
      signal: new AbortController().signal,
      texts: { next: () => steps.shift() ?? Promise.resolve({ done: true, value: undefined }) },
      leave: () => Promise.resolve(),
      idleMs: 1_000,
      ended: () => undefined,
      failed: () => false,
    })
    const reader = body.getReader()
    const decoder = new TextDecoder()
    const text = async (): Promise<string> => decoder.decode((await reader.read()).value)
    await t.clock.advance('5s')
    expect(await text()).toBe(LONG)
    const rest = text()
    await t.clock.advance('999ms')
    next.resolve({ done: false, value: 'the rest' })
    expect(await rest).toBe('the rest')
    expect(await reader.read()).toMatchObject({ done: true })
  })
})
