import { describe, expect, it } from 'vitest'
import { once, streams, task, wait } from 'waitpoint'
import { exploreAll } from '../testing/exploration/bodies.ts'

const inbox = streams.input<number>({ id: 'messages' })

/** Whether an error of a message says that its run was over. */
async function isAccepted(sent: Promise<void>): Promise<boolean> {
  try {
    await sent
    return true
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_RUN_ENDED') return false
    throw error
  }
}

describe('messages into a run, in every schedule', () => {
  it('are neither lost, doubled nor reordered, with crashes at every commit and two engines', async () => {
    const reader = task({
      id: 'reader',
      run: async () => {
        const read: number[] = []
        while (read.length < 3) read.push(await inbox.wait().unwrap())
        return read
      },
    })
    const report = await exploreAll(
      async (t) => {
        const run = await t.engine.trigger(reader, undefined, { idempotencyKey: 'run' })
        t.startEngine('other')
        const sent = t.elsewhere.streams.input<number>({ id: 'messages' })
        for (const n of [1, 2, 3]) await sent.send(run, n)
        expect(await run.result()).toEqual([1, 2, 3])
      },
      { tasks: [reader], crashes: 'every-commit', maxDeviations: 1 },
    )
    expect(report).toMatchObject({ complete: true })
  })

  it('of two senders go each to one read, in the order of each sender', async () => {
    const reader = task({
      id: 'reader',
      run: async () => {
        const [first, second] = await Promise.all([inbox.wait().unwrap(), inbox.wait().unwrap()])
        return [first, second, await inbox.wait().unwrap(), await inbox.wait().unwrap()]
      },
    })
    const report = await exploreAll(
      async (t) => {
        const run = await t.engine.trigger(reader, undefined, { idempotencyKey: 'run' })
        const [one, other] = [t.engine, t.elsewhere].map((engine) =>
          engine.streams.input<number>({ id: 'messages' }),
        )
        await Promise.all([
          one?.send(run, 1).then(() => one.send(run, 2)),
          other?.send(run, 11).then(() => other.send(run, 12)),
        ])
        const read: number[] = await run.result()
        expect(read.filter((n) => n < 10)).toEqual([1, 2])
        expect(read.filter((n) => n > 10)).toEqual([11, 12])
      },
      { tasks: [reader], crashes: 'every-commit', maxDeviations: 1 },
    )
    expect(report).toMatchObject({ complete: true })
  })

  it('come before a time-out or after it, and are then for the next wait', async () => {
    const reader = task({
      id: 'reader',
      run: async () => {
        const first = await inbox.wait({ timeout: '1h' })
        if (first.ok) return `first ${first.output}`
        return `second ${await inbox.wait().unwrap()}`
      },
    })
    const report = await exploreAll(
      async (t) => {
        const run = await t.engine.trigger(reader, undefined, { idempotencyKey: 'run' })
        await t.clock.sleep('1h')
        await t.elsewhere.streams.input<number>({ id: 'messages' }).send(run, 1)
        const output: string = await run.result()
        t.sometimes('it was in time', output === 'first 1')
        t.sometimes('it was late', output === 'second 1')
        expect(['first 1', 'second 1']).toContain(output)
      },
      { tasks: [reader], crashes: 'every-commit', maxDeviations: 1 },
    )
    expect(report).toMatchObject({ complete: true })
  })

  it('are accepted or refused while their run ends, and what a take has not had is not lost before', async () => {
    const reader = task({
      id: 'reader',
      run: async () => {
        const first = await inbox.wait().unwrap()
        return [first, ...(await inbox.take())]
      },
    })
    const report = await exploreAll(
      async (t) => {
        const run = await t.engine.trigger(reader, undefined, { idempotencyKey: 'run' })
        const sent = t.elsewhere.streams.input<number>({ id: 'messages' })
        await sent.send(run, 1)
        const isSent = await isAccepted(sent.send(run, 2))
        const read: number[] = await run.result()
        t.sometimes('it was read', read.length === 2)
        expect(isSent ? [[1], [1, 2]] : [[1]]).toContainEqual(read)
        expect(await isAccepted(sent.send(run, 3))).toBe(false)
      },
      { tasks: [reader], crashes: 'every-commit', maxDeviations: 1 },
    )
    expect(report).toMatchObject({ complete: true })
  })

  it('are handled by a listener at least once, in order, and not again once the next is', async () => {
    let handled: number[] = []
    const reader = task({
      id: 'reader',
      run: async () => {
        const token = await wait.createToken({ name: 'end', timeout: '1d' })
        inbox.on(async (n) => {
          handled.push(n)
          if (n === 3) await wait.completeToken(token)
        })
        await wait.forToken(token)
      },
    })
    const report = await exploreAll(
      async (t) => {
        handled = []
        const run = await t.engine.trigger(reader, undefined, { idempotencyKey: 'run' })
        const sent = t.elsewhere.streams.input<number>({ id: 'messages' })
        for (const n of [1, 2, 3]) await sent.send(run, n)
        await run.result()
        expect([...new Set(handled)]).toEqual([1, 2, 3])
        expect(handled).toEqual(handled.toSorted((one, next) => one - next))
      },
      { tasks: [reader], crashes: 'every-commit', maxDeviations: 1 },
    )
    expect(report).toMatchObject({ complete: true })
  })
})

describe('what other services have met', () => {
  it('a resumed reader gets nothing that it has consumed, at any place of its code', async () => {
    const reader = task({
      id: 'reader',
      run: async () => {
        const turns: number[] = []
        for (let turn = 0; turn < 2; turn += 1) {
          const n = await inbox.wait().unwrap()
          turns.push(await once(`turn ${turn}`, () => n))
          await wait.for({ seconds: 10 })
        }
        return turns
      },
    })
    const report = await exploreAll(
      async (t) => {
        const run = await t.engine.trigger(reader, undefined, { idempotencyKey: 'run' })
        const sent = t.elsewhere.streams.input<number>({ id: 'messages' })
        await sent.send(run, 1)
        await t.clock.sleep('5s')
        await sent.send(run, 2)
        expect(await run.result()).toEqual([1, 2])
      },
      { tasks: [reader], crashes: 'every-commit', maxDeviations: 1 },
    )
    expect(report).toMatchObject({ complete: true })
  })

  it('a wait with a key has the message of its own turn, and no other', async () => {
    const reader = task({
      id: 'reader',
      run: async () => {
        const turns: number[] = []
        for (const turn of [1, 2]) {
          turns.push(await inbox.wait({ idempotencyKey: `turn ${turn}` }).unwrap())
          turns.push(await inbox.wait({ idempotencyKey: `turn ${turn}` }).unwrap())
        }
        return turns
      },
    })
    const report = await exploreAll(
      async (t) => {
        const run = await t.engine.trigger(reader, undefined, { idempotencyKey: 'run' })
        const sent = t.elsewhere.streams.input<number>({ id: 'messages' })
        await Promise.all([sent.send(run, 1), sent.send(run, 2)])
        expect(await run.result()).toEqual([1, 1, 2, 2])
      },
      { tasks: [reader], crashes: 'every-commit', maxDeviations: 1 },
    )
    expect(report).toMatchObject({ complete: true })
  })

  it('a message that comes while the task streams is read once', async () => {
    const reader = task({
      id: 'reader',
      run: async () => {
        const turns: number[] = []
        while (turns.length < 2) {
          const n = await inbox.wait().unwrap()
          turns.push(n)
          await streams.append('reply', n)
          await wait.for({ seconds: 1 })
          await streams.append('reply', n)
        }
        return turns
      },
    })
    const report = await exploreAll(
      async (t) => {
        const run = await t.engine.trigger(reader, undefined, { idempotencyKey: 'run' })
        const sent = t.elsewhere.streams.input<number>({ id: 'messages' })
        await Promise.all([sent.send(run, 1), sent.send(run, 2)])
        expect(await run.result()).toEqual([1, 2])
      },
      { tasks: [reader], crashes: 'every-commit', maxDeviations: 1 },
    )
    expect(report).toMatchObject({ complete: true })
  })
})
