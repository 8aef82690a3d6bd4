import { describe, expect, it } from 'vitest'
import { createTestEngine } from 'waitpoint/testing'
import { allTasks, runs, schedules, schemaTask, task } from 'waitpoint/sdk'

const run = async (): Promise<string> => 'done'

/** The warnings of the process while a function is called, of which Node tells in a later turn. */
async function warningsOf(call: () => unknown): Promise<readonly string[]> {
  const heard: string[] = []
  const listener = ({ message }: Error): void => void heard.push(message)
  process.on('warning', listener)
  call()
  await new Promise((resolve) => setImmediate(resolve))
  process.off('warning', listener)
  return heard
}

describe('allTasks', () => {
  it('has tasks of all kinds, for an engine', async () => {
    const all = [
      task({ id: 'plain', run }),
      schemaTask({ id: 'checked', run }),
      schedules.task({ id: 'nightly', run }),
    ]
    expect(allTasks()).toEqual(expect.arrayContaining(all))
    await using t = await createTestEngine({ tasks: allTasks() })
    t.engine.makeDefault()
    const { id } = await all[0]!.trigger(undefined as never)
    expect((await runs.poll(id)).output).toBe('done')
  })

  it('has the last one of two with one id, and warns of it once', async () => {
    task({ id: 'of-two', run })
    const last = task({ id: 'of-two', run })
    const warnings = await warningsOf(() => {
      expect(allTasks().filter(({ id }) => id === 'of-two')).toEqual([last])
      allTasks()
    })
    expect(warnings).toEqual([expect.stringContaining('task "of-two", defined 2 times')])
  })
})
