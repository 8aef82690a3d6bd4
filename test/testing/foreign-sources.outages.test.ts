import { setImmediate as macrotask } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { metadata, streams, wait } from 'waitpoint'
import { createTestEngine } from 'waitpoint/testing'
import { steadyStorage } from '../support/abandon.ts'
import { bodyTask } from '../support/body-task.ts'

/** Chunks that come in real time. */
async function* slowly(count: number): AsyncGenerator<number> {
  for (let chunk = 0; chunk < count; chunk++) {
    for (let turn = 0; turn < 20; turn++) await macrotask()
    yield chunk
  }
}

describe('time in mode auto', () => {
  it('stands still while a source of a parked run is read', async () => {
    let seen: unknown[] = []
    const reading = bodyTask(async () => {
      await metadata.stream('numbers', slowly(3))
      const token = await wait.createToken({ timeout: '1h' })
      return (await wait.forToken(token)).ok
    })
    await using t = await createTestEngine({ tasks: [reading], storage: steadyStorage() })
    const run = await t.engine.trigger(reading, null)
    t.engine.on('token', ({ status }) => {
      if (status === 'TIMED_OUT') seen = [...seen, 'timed out']
    })
    for await (const chunk of t.engine.streams.read(run, 'numbers')) seen = [...seen, chunk]
    await run.result()
    await t.clock.settle()
    expect(seen).toEqual([0, 1, 2, 'timed out'])
  })

  it('moves on when a source gives no sign of life for long', async () => {
    const reading = bodyTask(async () => {
      await metadata.stream('numbers', new ReadableStream<number>())
      const token = await wait.createToken({ timeout: '1h' })
      return (await wait.forToken(token)).ok
    })
    await using t = await createTestEngine({ tasks: [reading], clock: { ioGraceMs: 5 } })
    const run = await t.engine.trigger(reading, null)
    expect(await run.result()).toBe(false)
  })

  it('does not wait for a source that is itself the engine', async () => {
    let sourceId = ''
    const source = bodyTask(
      async () => {
        await wait.for({ days: 1 })
        await metadata.stream('late', slowly(1))
        return 'done'
      },
      { id: 'source' },
    )
    const copying = bodyTask(async () => {
      await metadata.stream('copy', streams.read<number>(sourceId, 'late'))
      return 'copied'
    })
    await using t = await createTestEngine({ tasks: [source, copying], clock: { ioGraceMs: 500 } })
    const run = await t.engine.trigger(source, null)
    sourceId = run.id
    const copy = await t.engine.trigger(copying, null)
    expect(await copy.result()).toBe('copied')
    expect(await run.result()).toBe('done')
  })
})
