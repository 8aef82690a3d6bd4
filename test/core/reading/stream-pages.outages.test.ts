import { describe, expect, it } from 'vitest'
import { kernelOf } from '../../../src/core/engine.ts'
import { readPages } from '../../../src/core/reading/stream-pages.ts'
import type { ChunkPage } from '../../../src/api/stream-page.ts'
import { createTestEngine } from '../../../src/testing/create-test-engine.ts'
import { bodyTask } from '../../support/body-task.ts'
import { collect, CountSource, numbers, PushSource, sourceOf, watchers } from '../../support/streams.ts'

/** The numbered chunks of pages, and how each segment ended. */
function told(pages: readonly ChunkPage[]): unknown[] {
  return pages.flatMap(({ first, chunks, end }) => [
    ...chunks.map(({ text }, index) => [first + index, text]),
    ...(end === undefined ? [] : [end.reason]),
  ])
}

describe('readPages', () => {
  it('numbers the chunks, gives their text, and ends where the source did', async () => {
    const body = bodyTask(async ({ metadata }) => {
      await metadata.stream('k', sourceOf<unknown>('a', { b: 1 }, null))
    })
    await using t = await createTestEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    const pages = await collect(readPages(kernelOf(t.engine), { runId: run.id, key: 'k', from: 1 }))
    expect(told(pages)).toEqual([[1, '{"b":1}'], [2, 'null'], 'done'])
    expect(watchers(t.engine)).toBe(0)
  })

  it('goes on with what the next attempt writes after an interrupted one, and tells the end of each once', async () => {
    const endless = new PushSource<string>()
    endless.push('first')
    const body = bodyTask(
      async ({ metadata, ctx }) => {
        if (ctx.attempt.number === 2) return collect(await metadata.stream('k', sourceOf('again')))
        for await (const _ of await metadata.stream('k', endless)) throw new Error('once more')
        return []
      },
      { retry: { maxAttempts: 2 } },
    )
    await using t = await createTestEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    const pages = await collect(readPages(kernelOf(t.engine), { runId: run.id, key: 'k', from: 0 }))
    expect(told(pages)).toEqual([[0, '"first"'], 'interrupted', [1, '"again"'], 'done'])
    await run.result()
  })

  it.each([1, 2])(
    'waits for the next attempt, if there may be one, when the first of %i had no chunk',
    async (maxAttempts) => {
      const body = bodyTask(
        async ({ metadata, ctx }) => {
          if (ctx.attempt.number === 2) return collect(await metadata.stream('k', sourceOf('again')))
          await metadata.stream('k', new PushSource<string>())
          throw new Error('once more')
        },
        { retry: { maxAttempts, minTimeoutInMs: 60_000, maxTimeoutInMs: 60_000 } },
      )
      await using t = await createTestEngine({ tasks: [body], clock: { mode: 'manual' } })
      const run = await t.engine.trigger(body, null)
      await t.clock.settle()
      const pages = collect(readPages(kernelOf(t.engine), { runId: run.id, key: 'k', from: 0 }))
      await t.clock.until(pages)
      const expected = maxAttempts === 1 ? ['interrupted'] : [[0, '"again"'], 'done']
      expect(told(await pages)).toEqual(expected)
      await run.outcome()
    },
  )

  it('takes many chunks at once', async () => {
    const body = bodyTask(async ({ metadata }) => {
      await metadata.stream('k', new CountSource(1_000))
    })
    await using t = await createTestEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    await run.result()
    const pages = await collect(readPages(kernelOf(t.engine), { runId: run.id, key: 'k', from: 0 }))
    expect(pages.length).toBeLessThan(10)
    expect(pages.flatMap(({ chunks }) => chunks.map(({ value }) => value))).toEqual(numbers(1_000))
  })
})
