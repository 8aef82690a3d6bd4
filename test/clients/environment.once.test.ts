import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
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

/** Another one, whose runs show what the configuration of the tasks says. Two share a queue with one place. */
const SHOP = `
import { runs, tasks } from '@trigger.dev/sdk'

const often = { pollIntervalMs: 100 }
const blocking = await tasks.trigger('blocks', null, { ttl: '1h' })
const late = await runs.poll(await tasks.trigger('late', null), often)
await runs.cancel(blocking.id)
const flaky = await runs.poll(await tasks.trigger('flaky', null, { ttl: '1h' }), often)
const blocked = await runs.poll(blocking, often)
console.log(JSON.stringify({ late: late.status, flaky: flaky.output, blocked: blocked.status }))
process.exit(0)
`

const SHOP_TASKS = `
import { queue, task } from '@trigger.dev/sdk'

const counter = queue({ name: 'counter', concurrencyLimit: 1 })
export const blocks = task({
  id: 'blocks',
  queue: counter,
  run: (_, { signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve)),
})
export const late = task({ id: 'late', queue: counter, run: async () => 'too early' })
export const flaky = task({
  id: 'flaky',
  run: async (_, { ctx }) => {
    if (ctx.attempt.number < 3) throw new Error('again')
    return { attempt: ctx.attempt.number, maxDuration: ctx.run.maxDuration }
  },
})
`

const SHOP_CONFIGURATION = `
export default {
  project: 'proj_shop',
  dirs: ['./trigger'],
  ttl: '1s',
  maxDuration: 3600,
  retries: {
    enabledInDev: true,
    default: { maxAttempts: 3, minTimeoutInMs: 1, maxTimeoutInMs: 1 },
  },
}
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
    writeFileSync(join(folder, 'shop.mjs'), SHOP)
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('triggers tasks of a served engine by two variables of its environment', async () => {
    await using app = await served([ordered])
    const { PATH } = process.env
    const env = { PATH, TRIGGER_API_URL: app.server.url, TRIGGER_SECRET_KEY: SECRET }
    expect(await outputOf(['caller.mjs'], { cwd: folder, env })).toEqual(ORDERED)
    expect((await app.engine.runs.list()).data).toHaveLength(1)
  })

  it('triggers the tasks that `npx waitpoint dev` has loaded, which follow their configuration', async () => {
    using installed = await InstalledPackage.create()
    const project = installed.project()
    mkdirSync(join(project, 'trigger'))
    writeFileSync(join(project, 'package.json'), '{ "type": "module" }')
    writeFileSync(join(project, 'trigger.config.js'), SHOP_CONFIGURATION)
    writeFileSync(join(project, 'trigger/shop.js'), SHOP_TASKS)
    await using dev = installed.start(['dev', '--json'], project)
    const ready = await dev.says(/"event":"ready".*"url":"[^"]*".*"key":"[^"]*"/, /"event":"failed"/)
    const [, url, key] = /"event":"ready".*"url":"([^"]*)".*"key":"([^"]*)"/.exec(ready) ?? []
    const { PATH } = process.env
    const env = { PATH, TRIGGER_API_URL: url, TRIGGER_SECRET_KEY: key }
    expect(await outputOf(['shop.mjs'], { cwd: folder, env })).toEqual({
      late: 'EXPIRED',
      flaky: { attempt: 3, maxDuration: 3600 },
      blocked: 'CANCELED',
    })
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
