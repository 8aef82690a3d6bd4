import type { AnyTask } from 'waitpoint/sdk'
import { createTestEngine, type TestEngine } from 'waitpoint/testing'

/**
 * The exports of one of the task files beside this. They import the SDK of the hosted service and are compiled apart, with
 * its published types and with those of this package: see test/clients/task-files.once.slow.test.ts.
 */
export async function taskFile<Exports = Readonly<Record<string, AnyTask>>>(name: string): Promise<Exports> {
  return (await import(`./files/${name}.ts`)) as Exports
}

/** A test engine that functions of the module find. */
export async function defaultEngine(exports: Readonly<Record<string, unknown>>): Promise<TestEngine> {
  const tasks = Object.values(exports).filter(isTask)
  const t = await createTestEngine({ tasks })
  t.engine.makeDefault()
  return t
}

function isTask(value: unknown): value is AnyTask {
  return typeof value === 'object' && value !== null && 'triggerAndWait' in value
}
