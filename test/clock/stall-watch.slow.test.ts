import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bundledTest } from '../support/bundled-test.ts'

/** A user's test, whose task awaits settled promises only. */
const STALLED = `
import { task } from './src/index.ts'
import { createTestEngine } from './src/testing.ts'

interface Job {
  readonly isDone: boolean
}

async function isDone(job: Job): Promise<boolean> {
  await null
  return job.isDone
}

const poll = task({
  id: 'poll',
  run: async (job: Job) => {
    while (!(await isDone(job))) {}
  },
})

const t = await createTestEngine({ tasks: [poll] })
await (await t.engine.trigger(poll, { isDone: false })).result()
`

describe('a loop that never lets go of the event loop', () => {
  let folder = ''
  let child: ChildProcess | undefined

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'waitpoint-stall-'))
  })

  afterAll(async () => {
    child?.kill('SIGKILL')
    await rm(folder, { recursive: true, force: true })
  })

  it('is told with its line while it goes on', async () => {
    const file = join(folder, 'poll.mjs')
    await bundledTest(STALLED, file, 'poll.ts')
    const { NODE_OPTIONS: _options, ...env } = process.env
    child = spawn(process.execPath, [file], { env, stdio: ['ignore', 'ignore', 'pipe'] })
    let told = ''
    for await (const chunk of child.stderr ?? []) {
      told += String(chunk)
      if (told.includes('A loop must await')) break
    }
    expect(told).toMatch(/^waitpoint: code has kept the event loop for 10 s, and still does:\n/)
    expect(told).toMatch(/at (isDone|run) \(.*poll\.ts:(9|1[0-2]|1[6-8]):\d+\)\n/)
  })
})
