import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { isGone, ownProcess } from '../../../src/storage/sqlite/host-process.ts'

describe('isGone', () => {
  it('is said of a process of this host that has ended, not of one that is there', async () => {
    const child = spawn(process.execPath, ['-e', 'process.stdin.resume()'], {
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    const name = ownProcess().replace(/\d+$/, String(child.pid))
    expect([isGone(ownProcess()), isGone(name)]).toEqual([false, false])
    child.stdin.end()
    await once(child, 'close')
    expect(isGone(name)).toBe(true)
  })

  it.each(['elsewhere 1', '', 'nonsense'])(
    'is false for "%s", which names no process of this host',
    (name) => {
      expect(isGone(name)).toBe(false)
    },
  )

  it('is not said of what is no number of a process', () => {
    expect(isGone(ownProcess().replace(/\d+$/, '-1'))).toBe(false)
  })
})
