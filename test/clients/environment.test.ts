import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { spawn } from 'node:child_process'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { streams, task, wait } from 'waitpoint'
import { InstalledPackage } from '../cli/program.ts'
import { SECRET, served } from './published-client.ts'

/** An app that knows nothing but the environment: it triggers, completes a token, polls, and reads a stream. */
const APP = `
import { runs, streams, tasks, wait } from '@trigger.dev/sdk'

export async function order() {
  const token = await wait.createToken({ timeout: '1h' })
  const { id } = await tasks.trigger('order', { item: 'tea', token: token.id }, { tags: ['app'] })
  const words = []
  for await (const word of await streams.read(id, 'words')) {
    words.push(word)
    if (word === 'waits') await wait.completeToken(token, { approved: true })
  }
  const run = await runs.poll(id, { pollIntervalMs: 100 })
  return { status: run.status, output: run.output, tags: run.tags, words }
}
`

const CALLER = `
import { order } from './order.mjs'
console.log(JSON.stringify(await order()))
process.exit(0)
`

/** The app and its engine in one process, which \`waitpoint/register\` leads to this package. */
const IN_PROCESS = `
import { createEngine } from 'waitpoint'
import { streams, task, wait } from '@trigger.dev/sdk'
import { order } from './order.mjs'

const ordered = task({
  id: 'order',
  run: async ({ item, token }) => {
    await streams.append('words', item)
    await streams.append('words', 'waits')
    const { approved } = await wait.forToken(token).unwrap()
    return { item, approved }
  },
})
const engine = createEngine({ tasks: [ordered] })
engine.makeDefault()
console.log(JSON.stringify(await order()))
await engine.close()
`

const ORDERED = {
  status: 'COMPLETED',
  output: { item: 'tea', approved: true },
  tags: ['app'],
  words: ['tea', 'waits'],
}

const ordered = task({
  id: 'order',
  run: async ({ item, token }: { item: string; token: string }) => {
    await streams.append('words', item)
    await streams.append('words', 'waits')
    const { approved } = await wait.forToken<{ approved: boolean }>(token).unwrap()
    return { item, approved }
  },
})

async function outputOf(
  args: readonly string[],
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Promise<unknown> {
  const child = spawn(process.execPath, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  let [out, err] = ['', '']
  child.stdout.on('data', (text) => (out += String(text)))
  child.stderr.on('data', (text) => (err += String(text)))
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`It ended with ${String(code)}: ${out}${err}`)
  return JSON.parse(out)
}

describe('an app that imports the published SDK', { timeout: 300_000 }, () => {
  let folder: string
  beforeAll(() => {
    // Where the published SDK is installed.
    folder = mkdtempSync(resolve('test/clients/node_modules/.app-'))
    writeFileSync(join(folder, 'order.mjs'), APP)
    writeFileSync(join(folder, 'caller.mjs'), CALLER)
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('triggers tasks of a served engine by two variables of its environment', async () => {
    await using app = await served([ordered])
    const { PATH } = process.env
    const env = { PATH, TRIGGER_API_URL: app.server.url, TRIGGER_SECRET_KEY: SECRET }
    expect(await outputOf(['caller.mjs'], { cwd: folder, env })).toEqual(ORDERED)
    expect((await app.engine.runs.list()).data).toHaveLength(1)
  })

  it('runs unchanged in one process with its engine', async () => {
    using installed = await InstalledPackage.create()
    const project = installed.project()
    writeFileSync(join(project, 'package.json'), '{}')
    writeFileSync(join(project, 'order.mjs'), APP)
    writeFileSync(join(project, 'app.mjs'), IN_PROCESS)
    const { code, out, err } = await installed.node(['--import', 'waitpoint/register', 'app.mjs'], project)
      .ended
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(JSON.parse(out)).toEqual(ORDERED)
  })
})
