import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { expect, it } from 'vitest'

/** Files that would be somewhere else. */
const others = {
  // The published SDK has `queues`; both refuse the payload.
  'wrong.ts': `
import { queues, task } from '@trigger.dev/sdk'
export const wrong = task({ id: 'wrong', run: async ({ n }: { n: number }) => queues.pause(n.toFixed()) })
export const begin = () => wrong.trigger({ n: '1' })
`,
  'throwing.ts': `
import { task } from '@trigger.dev/sdk/v3'
export const early = task({ id: 'before-throwing', run: async () => 1 })
throw new Error('cannot be loaded')
`,
  'refused.ts': `
import { auth, task } from '@trigger.dev/sdk'
import client, { connect } from 'a-library'
export const connection = connect(process.env.NO_SUCH_VARIABLE!.length)
export const fine = task({ id: 'fine', run: async ({ n }: { n: number }) => client.send(n) })
export const refused = task({ id: 'refused', run: async () => auth.createPublicToken() })
`,
  'older.ts': `
import { eventTrigger } from '@trigger.dev/sdk'
export const event = eventTrigger({ name: 'older' })
`,
  'unrelated.ts': 'export const unrelated: number = 1',
}

/** Some of the task files of these tests, as each is checked by others. */
const own = readdirSync('test/adapters/sdk/files').filter((file) => /^(a|g|s)/.test(file))
const unaffected = ['around-each.ts', 'greetings.ts', 'spoken.ts']

it('judges the task files of a folder, and tells what is wrong with each', () => {
  const folder = mkdtempSync(join(tmpdir(), 'waitpoint-judge-'))
  try {
    for (const file of own) cpSync(`test/adapters/sdk/files/${file}`, join(folder, basename(file)))
    for (const [file, text] of Object.entries(others)) writeFileSync(join(folder, file), text)
    const lines = execFileSync(process.execPath, ['scripts/judge.mjs', folder], { encoding: 'utf8' }).split(
      '\n',
    )
    const row = (file: string): string | undefined => lines.find((line) => line.startsWith(`| ${file} `))
    expect(unaffected.map(row)).toEqual(unaffected.map((file) => `| ${file} | ok | ok | ok | ok |`))
    expect(row('wrong.ts')).toMatch(
      /\| queues \| 1: line 2: .*no exported member.* \| .*no.*export named 'queues' \|/,
    )
    expect(row('throwing.ts')).toBe('| throwing.ts | ok | ok | cannot be loaded | ok |')
    expect(row('refused.ts')).toMatch(/\| ok \| ok \| ok \| 1 of 2: FAILED .*auth\.createPublicToken/)
    expect(row('unrelated.ts')).toBeUndefined()
    expect(lines).toContain('older.ts is for another version: eventTrigger')
    const count = own.length + 3
    const sums = `names ${count - 1}, types ${count - 1}, load ${count - 2}, run `
    expect(lines.at(-2)).toContain(`Of ${count} files are ok: ${sums}`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
