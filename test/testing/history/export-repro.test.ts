import { runInThisContext } from 'node:vm'
import superjson from 'superjson'
import { describe, expect, it } from 'vitest'
import { task, wait } from 'waitpoint'
import { createTestEngine, exportRepro, replayHistory, type RunHistory } from 'waitpoint/testing'
import { projectStorage } from '../../support/abandon.ts'

const review = task({
  id: 'review',
  run: async (payload: object) => {
    const token = await wait.createToken({ timeout: '7d', tags: ['review'] })
    return { ...payload, answer: await wait.forToken<string>(token).unwrap() }
  },
})

/** The literal at the end of an exported file. */
function historyIn(text: string): RunHistory {
  const literal = text.slice(text.indexOf('{', text.indexOf('const history: RunHistory =')))
  // As the test file would evaluate it.
  return runInThisContext(`(${literal})`) as RunHistory
}

describe('exportRepro', () => {
  it('writes a test with the end of the run, its history and the module of its tasks', async () => {
    const storage = projectStorage()
    await using t = await createTestEngine({ tasks: [review], storage })
    // In a literal this name would be the prototype.
    const payload = JSON.parse('{"__proto__":{"isAdmin":true},"text":"*/ `${1}` \\" \\u2028"}') as object
    const run = await t.engine.trigger(review, payload)
    await t.complete({ tag: 'review' }, 'fine', { at: '+3d' })
    await run.result()

    const text = await exportRepro(storage, run.id, { tasks: '../src/tasks.ts' })
    expect(text).toContain(`import * as tasks from "../src/tasks.ts"`)
    expect(text).toContain(`test("run ${run.id} of task review", async () => {`)
    expect(text).toContain(`  await exploreHistory(history, tasks, {
    check: (neighbour) => {
      if (neighbour.isAnsweredAlike) expect(neighbour.end).toEqual(end)
    },
  })
})
`)
    const history = historyIn(text)
    expect(JSON.stringify(history.run.payload)).toBe(JSON.stringify(payload))
    expect((await replayHistory(history, [review])).end).toEqual({
      status: 'COMPLETED',
      output: history.run.output,
    })
  })

  it('writes the module of the codec that the values need', async () => {
    const storage = projectStorage()
    const later = task({ id: 'later', run: (at: Date) => new Date(at.getTime() + 1) })
    await using t = await createTestEngine({ tasks: [later], storage, codec: superjson })
    const run = await t.engine.trigger(later, new Date(0))
    await run.result()

    const text = await exportRepro(storage, run.id, { codec: 'superjson' })
    expect(text).toContain(`import * as tasks from "./tasks.ts"\nimport codec from "superjson"\n`)
    expect(text).toContain('await replayHistory(history, tasks, { codec })')
    expect(text).toContain('await exploreHistory(history, tasks, {\n    codec,\n    check:')
    const history = historyIn(text)
    const { end } = await replayHistory(history, [later], { codec: superjson })
    expect(end).toEqual({ status: 'COMPLETED', output: history.run.output })
    expect((await replayHistory(history, [later])).end).toMatchObject({ status: 'FAILED' })
    expect(await exportRepro(storage, run.id)).not.toContain('codec')
  })

  it('refuses a run that is unknown, or that has not begun, and wrong arguments', async () => {
    const storage = projectStorage()
    await using t = await createTestEngine({ tasks: [review], storage })
    const { id } = await t.engine.trigger(review, {}, { delay: '1h' })
    await expect(exportRepro(storage, id)).rejects.toMatchObject({ code: 'ERR_NO_HISTORY' })
    await expect(exportRepro(storage, 'run_unknown')).rejects.toMatchObject({ code: 'ERR_RUN_NOT_FOUND' })
    await expect(exportRepro(storage, '')).rejects.toThrow(TypeError)
    await expect(exportRepro(storage, id, { redact: 'all' as never })).rejects.toThrow(TypeError)
    await expect(exportRepro(storage, id, { task: 'x' } as never)).rejects.toThrow(/task/)
    await expect(exportRepro(storage, id, { codec: superjson as never })).rejects.toThrow(/codec/)
    await t.engine.runs.cancel(id)
  })
})
