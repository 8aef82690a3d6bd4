import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'

/** Files that would be somewhere else. */
const others: Readonly<Record<string, string>> = {
  // The published SDK has the name; both refuse the payload.
  'wrong.ts': `
import { __setSessionOpenImplForTests, task } from '@trigger.dev/sdk'
export const wrong = task({ id: 'wrong', run: async ({ n }: { n: number }) => __setSessionOpenImplForTests(void n.toFixed()) })
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
export const refused = task({ id: 'refused', run: async () => auth.createBatchTriggerPublicToken('fine') })
`,
  // What tasks and their options take from a package is nothing, and a request goes nowhere.
  'empty.ts': `
import { metadata, queue, task, tasks } from '@trigger.dev/sdk/v3'
import { settings } from 'a-library'
const { limit } = JSON.parse(process.env.NO_SUCH_VARIABLE!)
export const slow = queue({ name: 'slow', concurrencyLimit: settings.limit })
export const limited = task({
  id: 'limited',
  queue: { concurrencyLimit: limit },
  run: async ({ url }: { url: string }) => {
    metadata.set('url', url).append('urls', { url })
    const { request } = await import('another-library')
    request(url)
    const response = await fetch(url)
    if (!response.ok) throw new Error('not found')
    await new Promise((resolve) => setTimeout(resolve, 86_400_000))
    return response.json()
  },
})
export const parent = task({ id: 'parent', run: async ({ url }: { url: string }) => limited.trigger({ url }) })
export const all = task({
  id: 'all',
  run: async ({ urls }: { urls: string[] }) => {
    const items = urls.map((url) => ({ payload: { url } }))
    await limited.batchTrigger(items)
    await tasks.batchTrigger<typeof limited>('limited', items)
  },
})
export const thrower = task({
  id: 'thrower',
  retry: { maxAttempts: 2 },
  run: async ({ error }: { error: Error }) => {
    throw error
  },
})
`,
  'differing.ts': `
import { task } from '@trigger.dev/sdk'
import { limited } from './empty'
export const place = task({
  id: 'place',
  run: async (_: unknown, { ctx }) => {
    throw new RangeError(ctx.environment.slug + ' is ' + ctx.environment.type + limited.id)
  },
})
`,
  'endless.ts': `
import { task } from '@trigger.dev/sdk'
export const never = task({ id: 'never', run: () => new Promise<string>(() => undefined) })
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

/** What the script prints of some files in a folder. */
function judged(name: string, files: readonly string[], ...options: readonly string[]): readonly string[] {
  const above = mkdtempSync(join(tmpdir(), 'waitpoint-judge-'))
  const folder = join(above, name)
  try {
    mkdirSync(folder)
    for (const file of files) {
      const text = others[file]
      if (text === undefined) cpSync(`test/adapters/sdk/files/${file}`, join(folder, file))
      else writeFileSync(join(folder, file), text)
    }
    const given = ['scripts/judge.mjs', ...options, folder]
    return execFileSync(process.execPath, given, { encoding: 'utf8' }).split('\n')
  } finally {
    rmSync(above, { recursive: true, force: true })
  }
}

it('judges the task files of a folder, and tells what is wrong with each', () => {
  const lines = judged('app', [...own, ...Object.keys(others)])
  const row = (file: string): string | undefined => lines.find((line) => line.startsWith(`| ${file} `))
  expect(unaffected.map(row)).toEqual(unaffected.map((file) => `| ${file} | ok | ok | ok | ok |`))
  expect(row('wrong.ts')).toMatch(
    /\| __setSession\w+ \| 1: line 2: .*no exported member.* \| .*no.*export named '__setSession\w+' \|/,
  )
  expect(row('throwing.ts')).toBe('| throwing.ts | ok | ok | cannot be loaded | ok |')
  expect(row('refused.ts')).toMatch(
    /\| ok \| ok \| ok \| 1 of 2: refused: WaitpointError: .*auth\.createBatchTriggerPublicToken/,
  )
  expect(row('empty.ts')).toBe('| empty.ts | ok | ok | ok | alone |')
  expect(row('differing.ts')).toMatch(
    /\| ok \| ok \| ok \| 0 of 1: place: RangeError: \w+ is DEVELOPMENTlimited, there: RangeError: local is PRODUCTIONlimited \|/,
  )
  expect(row('endless.ts')).toBe('| endless.ts | ok | ok | ok | ok |')
  expect(row('unrelated.ts')).toBeUndefined()
  expect(lines).toContain('older.ts is for another version: eventTrigger')
  const count = own.length + 6
  const sums = `names ${count - 1}, types ${count - 1}, load ${count - 2}, run `
  expect(lines.at(-2)).toContain(`Of ${count} files are ok: ${sums}`)
})

it('writes a page about folders that are named after repositories', () => {
  const lines = judged('someone__an-app@0123456789abcdef', ['empty.ts', 'differing.ts'], '--markdown')
  expect(lines).toContain('| someone/an-app | 0123456 | empty.ts | ok | ok | ok | alone |')
  expect(lines).toContain('| someone/an-app | 0123456 | differing.ts | ok | ok | ok | note 1 |')
  expect(lines).toContain('| Tasks that end as under the published executor | 2 of 3 (66.7 %) |')
  expect(lines).toContain('| Tasks that ask the service there, and complete here | 2 of 2 (100.0 %) |')
  expect(lines.join('\n')).toMatch(/^- 1: `someone\/an-app` `differing\.ts` \(run\): .*DEVELOPMENT/m)
})
