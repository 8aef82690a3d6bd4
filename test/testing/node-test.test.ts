import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bundledTest } from '../support/bundled-test.ts'

/** A user's test file, for the runner that comes with Node. */
const TESTS = `
  import assert from 'node:assert/strict'
  import { test } from 'node:test'
  import { task } from './src/index.ts'
  import { createTestEngine } from './src/testing.ts'

  const review = task({
    id: 'review',
    run: async (_payload: null, { wait }) => {
      const token = await wait.createToken({ timeout: '30d', tags: ['review'] })
      const result = await wait.forToken(token)
      return result.ok ? result.output : 'timed out'
    },
  })

  test('times out', async () => {
    const t = await createTestEngine({ tasks: [review] })
    const run = await t.engine.trigger(review, null)
    assert.equal(await run.result(), 'timed out')
    await t.close()
  })

  test('takes an answer by URL', async () => {
    const t = await createTestEngine({ tasks: [review] })
    const run = await t.engine.trigger(review, null)
    const { url } = await t.waitingToken({ tag: 'review' })
    assert.equal((await t.post(url, 'yes')).status, 200)
    assert.equal(await run.result(), 'yes')
    await t.close()
  })
`

describe('waitpoint/testing under node:test, where nothing else is installed', () => {
  let folder = ''
  let file = ''

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'waitpoint-node-test-'))
    file = join(folder, 'review.test.mjs')
    await bundledTest(TESTS, file)
  })

  afterAll(() => rm(folder, { recursive: true, force: true }))

  async function runTests(storage?: string): Promise<{ stdout: string; stderr: string }> {
    const { WAITPOINT_STORAGE: _storage, NODE_OPTIONS: _options, ...inherited } = process.env
    const env = storage === undefined ? inherited : { ...inherited, WAITPOINT_STORAGE: storage }
    return promisify(execFile)(process.execPath, [file], { cwd: folder, env })
  }

  it('passes, and says nothing of storages', async () => {
    const { stdout, stderr } = await runTests()
    expect(stdout).toMatch(/pass 2\n/)
    expect(stderr).not.toContain('storage')
  })

  it('runs the same tests on the storage that WAITPOINT_STORAGE names, and says so once', async () => {
    const { stdout, stderr } = await runTests('memory-async')
    expect(stdout).toMatch(/pass 2\n/)
    expect(stderr).toBe('waitpoint/testing ran on storage "memory-async" (2 engines)\n')
  })
})
