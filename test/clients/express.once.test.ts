import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { client, SECRET } from './published-client.ts'

const TEST_MS = 300_000
const root = fileURLToPath(new URL('../..', import.meta.url))
const program = `${root}test/clients/node_modules/.cache/express-${process.pid}.mjs`

describe('an express application with an engine in it', { timeout: TEST_MS }, () => {
  let application: ChildProcess
  let url = ''

  beforeAll(async () => {
    await build({
      entryPoints: [`${root}examples/express/main.mjs`],
      outfile: program,
      bundle: true,
      format: 'esm',
      platform: 'node',
      alias: { waitpoint: `${root}src/index.ts`, 'waitpoint/http': `${root}src/http.ts` },
      // As it is installed, next to where the program is.
      external: ['express'],
      logLevel: 'silent',
    })
    application = spawn(process.execPath, [program], {
      env: { ...process.env, PORT: '0', SECRET_KEY: SECRET },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [line] = (await once(application.stdout!, 'data')) as [Buffer]
    url = line.toString().trim()
    client.configure({ baseURL: `${url}/engine`, accessToken: SECRET })
  }, TEST_MS)

  afterAll(() => {
    application.kill('SIGKILL')
    rmSync(program, { force: true })
  })

  it('is used by the published client under the path of its mount', async () => {
    const created = await fetch(`${url}/reviews`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"doc":"d1"}',
    })
    const { run } = (await created.json()) as { readonly run: string }
    const words: unknown[] = []
    for await (const word of await client.streams.read(run, 'draft')) words.push(word)
    expect(words).toEqual(['Dear', 'reader', 'of', 'd1'])

    await expect
      .poll(async () => (await client.runs.retrieve(run)).status, { timeout: TEST_MS / 2 })
      .toBe('WAITING')
    const { approveAt } = (await client.runs.retrieve(run))['metadata'] as { readonly approveAt: string }
    expect(approveAt.startsWith(`${url}/engine/`)).toBe(true)
    const approved = await fetch(approveAt, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"approved":true}',
    })
    expect(approved.status).toBe(200)
    expect(await client.runs.poll(run, { pollIntervalMs: 20 })).toMatchObject({ output: { approved: true } })
  })

  it('keeps its own routes and errors', async () => {
    expect((await fetch(`${url}/nowhere`)).headers.get('content-type')).toContain('text/html')
    const answer = await fetch(`${url}/engine/nowhere`)
    expect([answer.status, await answer.json()]).toEqual([404, { error: 'Not found' }])
  })

  it('ends when it is told to, also while a client follows a run', async () => {
    const { id } = await client.tasks.trigger('review', { doc: 'd2' })
    const subscription = client.runs.subscribeToRun(id)
    const states = subscription[Symbol.asyncIterator]()
    expect((await states.next()).value).toMatchObject({ id })
    let next = states.next()
    const ended = once(application, 'exit')
    application.kill('SIGTERM')
    expect(await ended).toEqual([0, null])
    subscription.unsubscribe()
    // It may have gone on before that.
    while ((await next).done !== true) next = states.next()
  })
})
