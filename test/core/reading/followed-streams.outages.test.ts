import { describe, expect, it } from 'vitest'
import { kernelOf } from '../../../src/core/engine.ts'
import { followStreams } from '../../../src/core/reading/followed-streams.ts'
import { createTestEngine } from '../../../src/testing/create-test-engine.ts'
import { bodyTask } from '../../support/body-task.ts'
import { collect, sourceOf, watchers } from '../../support/streams.ts'

describe('followStreams', () => {
  it('begins each key with the chunk it is told, and numbers what follows', async () => {
    const body = bodyTask(async ({ metadata }) => {
      await metadata.stream('a', sourceOf('a0', 'a1', 'a2'))
      await metadata.stream('b', sourceOf('b0'))
    })
    await using t = await createTestEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    await run.result()
    const from = new Map([['a', 2]])
    const parts = await collect(followStreams(kernelOf(t.engine), run.id, from))
    expect(
      parts.map((part) =>
        part.type === 'run' ? part.run.status : [part.key, part.first, part.chunks.map(({ text }) => text)],
      ),
    ).toEqual(['COMPLETED', ['a', 2, ['"a2"']], ['b', 0, ['"b0"']], 'COMPLETED'])
    expect(watchers(t.engine)).toBe(0)
  })
})
