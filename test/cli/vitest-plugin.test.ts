import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { InstalledPackage } from './program.ts'

let installed: InstalledPackage
beforeAll(async () => {
  installed = await InstalledPackage.create()
})
afterAll(() => installed[Symbol.dispose]())

/** Runs the tests of a project; answers the names of those that passed and of those that failed. */
async function runTests(files: Readonly<Record<string, string>>): Promise<Readonly<Record<string, string>>> {
  const folder = installed.project()
  for (const [path, text] of Object.entries(files)) writeFileSync(join(folder, path), text)
  const args = ['run', '--root', folder, '--reporter=json', '--silent']
  const { out, err } = await installed.node([resolve('node_modules/vitest/vitest.mjs'), ...args], folder)
    .ended
  if (!out.startsWith('{')) throw new Error(`The test runner has no report: ${out}${err}`)
  const { testResults } = JSON.parse(out) as {
    readonly testResults: readonly {
      readonly name: string
      readonly message: string
      readonly assertionResults: readonly {
        readonly title: string
        readonly status: string
        readonly failureMessages: readonly string[]
      }[]
    }[]
  }
  const all = testResults.flatMap(({ name, message, assertionResults }) =>
    assertionResults.length === 0
      ? [[name, message] as const]
      : assertionResults.map(
          ({ title, status, failureMessages }) => [title, [status, ...failureMessages].join(' ')] as const,
        ),
  )
  return Object.fromEntries(all)
}

const TASKS = `
import { task, wait } from '@trigger.dev/sdk'
import { logger } from '@trigger.dev/sdk/v3'
export const greet = task({
  id: 'greet',
  run: async ({ name }) => {
    logger.info('greeting')
    await wait.for({ days: 3 })
    return 'Hello ' + name
  },
})`

const ON_ENGINE = `
import { expect, test } from 'vitest'
import { createTestEngine } from 'waitpoint/testing'
import { allTasks, runs } from '@trigger.dev/sdk'
import { greet } from './tasks.ts'
test('on an engine', async () => {
  await using t = await createTestEngine({ tasks: allTasks() })
  t.engine.makeDefault()
  const { id } = await greet.trigger({ name: 'Ada' })
  expect((await runs.poll(id)).output).toBe('Hello Ada')
})`

const MOCKED = `
import { expect, test, vi } from 'vitest'
vi.mock('@trigger.dev/sdk', () => ({
  task: (options) => options,
  wait: { for: vi.fn() },
  logger: { info: vi.fn() },
}))
import { wait } from '@trigger.dev/sdk'
import { greet } from './tasks.ts'
test('mocked by hand', async () => {
  expect(await greet.run({ name: 'Bob' })).toBe('Hello Bob')
  expect(wait.for).toHaveBeenCalledWith({ days: 3 })
})`

const PARTLY_MOCKED = `
import { expect, test, vi } from 'vitest'
vi.mock('@trigger.dev/sdk', async (importOriginal) => ({ ...(await importOriginal()), task: (options) => options }))
import { AbortTaskRunError, task } from '@trigger.dev/sdk'
test('mocked in part', async () => {
  expect(task({ id: 'a' })).toEqual({ id: 'a' })
  expect(new AbortTaskRunError('no')).toBeInstanceOf(Error)
})`

describe('waitpoint/vitest-plugin', () => {
  it('leads the imports of task files here, beside mocks of them', async () => {
    const results = await runTests({
      'package.json': '{ "type": "module" }',
      'vitest.config.mjs': `import { waitpoint } from 'waitpoint/vitest-plugin'\nexport default { plugins: [waitpoint()] }`,
      'tasks.ts': TASKS,
      'engine.test.ts': ON_ENGINE,
      'mocked.test.ts': MOCKED,
      'partly.test.ts': PARTLY_MOCKED,
    })
    expect(results).toEqual({
      'on an engine': 'passed',
      'mocked by hand': 'passed',
      'mocked in part': 'passed',
    })
  })

  it('is what leads them', async () => {
    const results = await runTests({
      'package.json': '{ "type": "module" }',
      'vitest.config.mjs': 'export default {}',
      'tasks.ts': TASKS,
      'engine.test.ts': ON_ENGINE,
    })
    expect(Object.values(results).join()).toContain('@trigger.dev/sdk')
  })
})
