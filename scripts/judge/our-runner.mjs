// Runs tasks of judged files in a test engine. Bundled, with the SDK whose tasks they are.
import { allTasks, runs } from '../../src/sdk.ts'
import { createTestEngine } from '../../src/testing.ts'
import { ENDLESS } from './ends.mjs'
import { scheduled } from './scheduled.mjs'

export function createRunner() {
  return { load: (work) => work(), tasks, end }
}

const tasks = () => new Map(allTasks().map((task) => [task.id, task]))

async function end(id) {
  const t = await createTestEngine({ tasks: allTasks(), fakeGlobals: true })
  try {
    t.engine.makeDefault()
    const handle = await tasks().get(id).trigger(scheduled())
    const { status, error, attemptCount } = await runs.poll(handle)
    const attempts = attemptCount ?? 0
    if (error !== undefined) return { attempts, name: error.name, message: error.message }
    return status === 'COMPLETED' ? { attempts } : { attempts, message: status }
  } catch (error) {
    // A promise of the run is never settled, or it sets timers for ever.
    if (error.code === 'ERR_STILL_BUSY' || error.code === 'ERR_RUNAWAY') return { problem: ENDLESS }
    return { attempts: 0, name: error.code ?? error.name, message: error.message }
  } finally {
    // It tells what the run has left behind, which is not asked here.
    await t[Symbol.asyncDispose]().catch(() => undefined)
  }
}
