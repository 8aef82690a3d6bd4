// Runs tasks of judged files in the executor of the published SDK. Bundled, and loaded where that SDK is installed.
import { PublishedExecutor } from '../../test/clients/published-executor.ts'
import { scheduled } from './scheduled.mjs'

export async function createRunner() {
  const executor = await PublishedExecutor.create()
  return {
    load: (work, file) => executor.load(file, work),
    tasks: () => new Map(executor.taskIds().map((id) => [id, undefined])),
    end: async (id) => {
      const putBack = passQuickly()
      try {
        const { attempts, name, message } = await executor.execute(id, scheduled())
        return { attempts, name, message, hasAsked: executor.hasAsked }
      } finally {
        putBack()
      }
    },
  }
}

/** A day passes at once, as it does in the test engine. */
function passQuickly() {
  const { setTimeout, Date } = globalThis
  let passed = 0
  globalThis.setTimeout = (call, ms = 0, ...values) => {
    passed += Number(ms) || 0
    return setTimeout(call, 0, ...values)
  }
  globalThis.Date = class extends Date {
    constructor(...given) {
      super(...(given.length === 0 ? [Date.now() + passed] : given))
    }

    static now() {
      return Date.now() + passed
    }
  }
  return () => Object.assign(globalThis, { setTimeout, Date })
}
