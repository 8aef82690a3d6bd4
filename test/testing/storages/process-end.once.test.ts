import { describe, expect, it } from 'vitest'
import { runInChild } from '../../clock/child-process.ts'

const SAYS = `
  import { writeSync } from 'node:fs'
  import { atProcessEnd } from './src/testing/storages/process-end.ts'
  atProcessEnd(() => writeSync(1, 'one '))
  atProcessEnd(() => writeSync(1, 'two'))
`

describe('atProcessEnd', () => {
  it('does everything once when the process ends by itself', async () => {
    expect(await runInChild(SAYS)).toBe('one two')
  })

  it('does it, too, when a signal ends the process, which dies of that signal', async () => {
    const ended: unknown = await runInChild(`
      ${SAYS}
      setInterval(() => undefined, 1_000)
      process.kill(process.pid, 'SIGTERM')
    `).catch((error: unknown) => error)
    expect(ended).toMatchObject({ signal: 'SIGTERM', stdout: 'one two' })
  })
})
