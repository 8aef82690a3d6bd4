import { afterEach, describe, expect, it, vi } from 'vitest'
import { runInChild } from '../../clock/child-process.ts'
import { memoryStorage } from '../../../src/storage/memory/memory.ts'
import { createTestEngine } from '../../../src/testing/create-test-engine.ts'

describe('WAITPOINT_STORAGE', () => {
  afterEach(() => void vi.unstubAllEnvs())

  it.each([
    ['memory', false],
    ['memory-async', true],
  ])('%s: the default storage answers later: %s', async (kind, isAsync) => {
    vi.stubEnv('WAITPOINT_STORAGE', kind)
    await using t = await createTestEngine()
    const creating = t.engine.wait.createToken()
    expect(t.clock.timeline().includes('\n  call ')).toBe(isAsync)
    await creating
  })

  it('says what was used also when a test runner ends its worker', async () => {
    const ended: unknown = await runInChild(`
      import { createTestEngine } from './src/testing.ts'
      process.env.WAITPOINT_STORAGE = 'memory-async'
      await createTestEngine()
      setInterval(() => undefined, 1_000)
      process.kill(process.pid, 'SIGTERM')
    `).catch((error: unknown) => error)
    expect(ended).toMatchObject({
      signal: 'SIGTERM',
      stderr: 'waitpoint/testing ran on storage "memory-async" (1 engine)\n',
    })
  })

  it('refuses a storage it does not know', async () => {
    vi.stubEnv('WAITPOINT_STORAGE', 'paper')
    await expect(createTestEngine()).rejects.toMatchObject({
      code: 'ERR_UNKNOWN_STORAGE',
      message:
        'Cannot use WAITPOINT_STORAGE "paper": use "memory", "memory-async", "flaky", "sqlite" or "postgres"',
    })
  })

  it('does not touch a storage that is given', async () => {
    vi.stubEnv('WAITPOINT_STORAGE', 'paper')
    await using t = await createTestEngine({ storage: memoryStorage() })
    expect(t.engine.stats().attempts).toBe(0)
  })
})
