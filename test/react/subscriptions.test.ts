import { describe, expect, it } from 'vitest'
import { StreamInterruptedError, StreamLaggedError } from '../../src/api/errors.ts'
import type { Client } from '../../src/client/client.ts'
import { allChunks, latest } from '../../src/react/sources.ts'
import { type Source, type SourceEvents, Subscriptions } from '../../src/react/subscriptions.ts'
import { createDeferred } from '../../src/primitives/deferred.ts'
import { sourceOf } from '../support/streams.ts'
import { turn } from '../support/turn.ts'

/** A page in virtual frames and turns. */
class StubTurns {
  frames: (() => void)[] = []
  turns: (() => void)[] = []
  readonly onNextFrame = (work: () => void): void => void this.frames.push(work)
  readonly afterTurn = (work: () => void): void => void this.turns.push(work)

  draw(): void {
    for (const work of this.frames.splice(0)) work()
  }

  end(): void {
    for (const work of this.turns.splice(0)) work()
  }
}

/** A source that the test speaks for. */
function spoken(): {
  readonly source: Source<number>
  readonly begun: SourceEvents<number>[]
  readonly end: () => void
  readonly fail: (error: unknown) => void
} {
  const begun: SourceEvents<number>[] = []
  const { promise, resolve, reject } = createDeferred<void>()
  return { begun, end: resolve, fail: reject, source: async (events) => (begun.push(events), promise) }
}

function onPage() {
  const turns = new StubTurns()
  const subscriptions = new Subscriptions(turns)
  const spokenFor = spoken()
  let renders = 0
  const listen = (): (() => void) => subscriptions.subscribe('k', spokenFor.source, () => (renders += 1))
  return {
    ...spokenFor,
    turns,
    listen,
    snapshot: () => subscriptions.snapshot<number>('k'),
    renders: () => renders,
  }
}

describe('Subscriptions', () => {
  it('ask for nothing while a component is rendered', () => {
    const page = onPage()
    expect([page.snapshot(), page.begun]).toEqual([{ status: 'connecting' }, []])
    expect(page.snapshot()).toBe(page.snapshot())
  })

  it('are one for two components, until the last one has left', () => {
    const page = onPage()
    const leave = [page.listen(), page.listen()]
    expect(page.begun).toHaveLength(1)
    leave[0]?.()
    page.turns.end()
    expect(page.begun[0]?.signal.aborted).toBe(false)
    leave[1]?.()
    expect(page.begun[0]?.signal.aborted).toBe(false)
    page.turns.end()
    expect(page.begun[0]?.signal.aborted).toBe(true)
  })

  it('begin once in StrictMode, which takes a component away and puts it back', () => {
    const page = onPage()
    page.listen()()
    const leave = page.listen()
    page.turns.end()
    expect(page.begun.map(({ signal }) => signal.aborted)).toEqual([false])
    leave()
    leave()
    page.turns.end()
    expect(page.begun[0]?.signal.aborted).toBe(true)
  })

  it('begin anew after they were let go, and are told nothing of before', async () => {
    const page = onPage()
    page.listen()()
    page.begun[0]?.show(() => 1)
    page.turns.end()
    page.listen()
    page.begun[0]?.show(() => 2)
    page.turns.draw()
    expect([page.begun.length, page.snapshot()]).toEqual([2, { status: 'connecting' }])
  })

  it('change once for each frame, with the latest of it', () => {
    const page = onPage()
    page.listen()
    page.begun[0]?.onConnection('live')
    for (const value of [1, 2, 3]) page.begun[0]?.show(() => value)
    expect([page.renders(), page.turns.frames.length, page.snapshot()]).toEqual([
      0,
      1,
      { status: 'connecting' },
    ])
    page.turns.draw()
    expect([page.renders(), page.snapshot()]).toEqual([1, { status: 'live', value: 3 }])
    page.begun[0]?.onConnection('reconnecting')
    page.turns.draw()
    expect([page.renders(), page.snapshot()]).toEqual([2, { status: 'reconnecting', value: 3 }])
  })

  it('share a frame', () => {
    const turns = new StubTurns()
    const subscriptions = new Subscriptions(turns)
    const told: string[] = []
    const sources = ['a', 'b'].map((key) => {
      const one = spoken()
      subscriptions.subscribe(key, one.source, () => told.push(key))
      return one
    })
    for (const { begun } of sources) begun[0]?.show(() => 1)
    expect(turns.frames).toHaveLength(1)
    turns.draw()
    expect(told).toEqual(['a', 'b'])
  })

  it('have an error as a value, beside what came before it', async () => {
    const page = onPage()
    page.listen()
    page.begun[0]?.show(() => 1)
    page.fail('refused')
    await turn()
    page.turns.draw()
    expect(page.snapshot()).toEqual({ value: 1, status: 'ended', error: new Error('refused') })
  })

  it('end with what they follow', async () => {
    const page = onPage()
    page.listen()
    page.end()
    await turn()
    page.turns.draw()
    expect(page.snapshot()).toEqual({ status: 'ended' })
  })
})

/** What a source shows, to its end. */
async function shown<Value>(source: Source<Value>): Promise<readonly Value[]> {
  const values: Value[] = []
  const { signal } = new AbortController()
  await source({ signal, onConnection: () => undefined, show: (value) => values.push(value()) })
  return values
}

describe('latest', () => {
  it('is each value of a subscription, and rejects with its error, also one that is thrown at once', async () => {
    expect(await shown(latest(() => sourceOf(1, 2)))).toEqual([1, 2])
    const refused = latest((): never => {
      throw new TypeError('no run')
    })
    await expect(shown(refused)).rejects.toThrow('no run')
  })
})

/** A client whose reads of a stream answer these, one after the other. */
function reading(...reads: readonly (readonly (string | Error)[])[]): {
  readonly client: Client
  readonly asked: number[]
} {
  const asked: number[] = []
  async function* read(_run: string, _key: string, { startIndex }: { startIndex: number }) {
    asked.push(startIndex)
    for (const item of reads[asked.length - 1] ?? []) {
      if (item instanceof Error) throw item
      yield item
    }
  }
  return { asked, client: { streams: { read } } as unknown as Client }
}

describe('allChunks', () => {
  const run = { run: 'run_1', key: 'k' }

  it('are those so far, each time in a list of their own', async () => {
    const { client, asked } = reading(['a', 'b'])
    expect(await shown(allChunks(client, { ...run, attempts: 'all' }))).toEqual([
      ['a'],
      ['a', 'b'],
      ['a', 'b'],
    ])
    expect(asked).toEqual([0])
  })

  it('are those of the next attempt once it has some, and those before until then', async () => {
    const cut = new StreamInterruptedError('k', 1)
    const { client, asked } = reading(['a', 'b', cut], ['kept', cut], [cut], ['kept', 'c'])
    const last = await shown(allChunks(client, { ...run, attempts: 'last' }))
    expect(last).toEqual([['a'], ['a', 'b'], ['kept'], ['kept'], ['kept', 'c'], ['kept', 'c']])
    expect(asked).toEqual([0, 0, 0, 0])
  })

  it('are none if the next attempt writes none', async () => {
    const { client } = reading(['a', new StreamInterruptedError('k', 1)], [])
    expect((await shown(allChunks(client, { ...run, attempts: 'last' }))).at(-1)).toEqual([])
  })

  it('of all attempts go on where one was lost, or where chunks are kept', async () => {
    const { client, asked } = reading(
      ['a', new StreamInterruptedError('k', 1)],
      ['b', new StreamLaggedError('k', 3, 5)],
      ['f'],
    )
    expect((await shown(allChunks(client, { ...run, attempts: 'all' }))).at(-1)).toEqual(['a', 'b', 'f'])
    expect(asked).toEqual([0, 1, 5])
  })

  it('end with an error after which nothing comes, and never ask without an end', async () => {
    const broken = new StreamInterruptedError('k', 0)
    const { client, asked } = reading([broken])
    await expect(shown(allChunks(client, { ...run, attempts: 'all' }))).rejects.toBe(broken)
    const refused = reading(['a', new Error('refused')])
    await expect(shown(allChunks(refused.client, { ...run, attempts: 'last' }))).rejects.toThrow('refused')
    expect([asked, refused.asked]).toEqual([[0], [0]])
  })
})
