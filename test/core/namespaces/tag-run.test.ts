import { describe, expect, it } from 'vitest'
import { runs, task } from 'waitpoint'
import { createTestEngine } from 'waitpoint/testing'
import { bodyTask } from '../../support/body-task.ts'

const quick = bodyTask(() => 'done')

describe('runs.addTags', () => {
  it('adds tags to a run that waits for its start, and answers all', async () => {
    await using t = await createTestEngine({ tasks: [quick] })
    const { id } = await t.engine.trigger(quick, null, { delay: '1d', tags: ['a', 'b'] })
    expect(await t.engine.runs.addTags(id, ['b', 'c'])).toEqual(['a', 'b', 'c'])
    expect(await t.engine.runs.addTags(id, 'd')).toEqual(['a', 'b', 'c', 'd'])
    expect(await t.engine.runs.addTags(id, [])).toEqual(['a', 'b', 'c', 'd'])
    expect((await t.engine.runs.list({ tag: 'd' })).data).toMatchObject([{ id, tags: ['a', 'b', 'c', 'd'] }])
    await t.engine.runs.cancel(id)
  })

  it('adds tags in a run, to itself and to others, and none takes back another', async () => {
    const tagging = task({
      id: 'tagging',
      run: async (_: null, { ctx, metadata, wait }) => {
        metadata.set('step', 1)
        await Promise.all(['a', 'b', 'c'].map((tag) => runs.addTags(ctx.run.id, tag)))
        await wait.for({ seconds: 5 })
        metadata.set('step', 2)
        return runs.addTags(ctx.run.id, 'd')
      },
    })
    await using t = await createTestEngine({ tasks: [tagging] })
    const run = await t.engine.trigger(tagging, null)
    const told: string[][] = []
    for await (const part of t.engine.runs.subscribeToRun(run)) told.push([...part.tags])
    expect(await run.result()).toEqual(['a', 'b', 'c', 'd'])
    expect(told.at(-1)).toEqual(['a', 'b', 'c', 'd'])
    expect(await t.engine.runs.retrieve(run.id)).toMatchObject({ metadata: { step: 2 } })
  })

  it('refuses a run that has ended, more than ten tags, and an unknown run', async () => {
    await using t = await createTestEngine({ tasks: [quick] })
    const { addTags } = { addTags: t.engine.runs.addTags.bind(t.engine.runs) }
    const delayed = await t.engine.trigger(quick, null, { delay: '1d', tags: 'a' })
    const tags = Array.from({ length: 10 }, (_, index) => `n${index}`)
    const code = 'ERR_CANNOT_ADD_TAGS'
    await expect(addTags(delayed.id, tags)).rejects.toMatchObject({ code })
    await expect(addTags(delayed.id, [''])).rejects.toThrow(RangeError)
    expect((await t.engine.runs.retrieve(delayed.id)).tags).toEqual(['a'])
    const run = await t.engine.trigger(quick, null)
    await run.result()
    await expect(addTags(run.id, 'a')).rejects.toMatchObject({ code })
    await expect(addTags('run_x', 'a')).rejects.toMatchObject({ code: 'ERR_RUN_NOT_FOUND' })
    await t.engine.runs.cancel(delayed.id)
  })
})
