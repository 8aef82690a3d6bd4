import { describe, expect, it } from 'vitest'
import { kernelOf } from '../../../src/core/engine.ts'
import { eventBody } from '../../../src/http/events/body.ts'
import { Breath } from '../../../src/core/host/breath.ts'
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
      turns: new Breath(kernelOf(t.engine).host),
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

  it('lets the process have a turn when work has kept it busy for long, however much its reader could take', async () => {
    await using t = await stillEngine()
    const { host } = kernelOf(t.engine)
    const goOns: (() => void)[] = []
    let isTurnDue = false
    const busyHost = {
      clock: {
        now: () => host.clock.now(),
        setTimer: () => () => undefined,
        isTurnDue: () => isTurnDue,
      },
      isClosed: false,
      afterTurn: (_label: string, goOn: () => void) => void goOns.push(goOn),
    }
    const turns = new Breath(busyHost, 8)
    let made = 0
    const readers = Array.from({ length: 20 }, () =>
      eventBody({
        host,
        turns,
        label: 'a test',
        signal: new AbortController().signal,
        texts: { next: () => Promise.resolve({ done: false, value: `${(made += 1)}` }) },
        leave: () => Promise.resolve(),
        ended: () => undefined,
        failed: () => false,
      }).getReader(),
    )
    const settled = async (): Promise<number> => {
      for (let turn = 0; turn < 100; turn++) await Promise.resolve()
      return made
    }
    await settled()
    isTurnDue = true
    // Those that are on their way go on to their next text.
    const before = await settled()
    expect(await settled()).toBe(before)
    for (const round of [1, 2, 3]) {
      goOns.shift()?.()
      expect((await settled()) - before).toBe(round * 8)
    }
    isTurnDue = false
    for (const reader of readers) await reader.cancel()
  })
})
