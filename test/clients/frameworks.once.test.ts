import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createClient } from 'waitpoint/client'
import { documentBlocks } from '../support/documents.ts'
import { freePort } from '../support/free-port.ts'
import { typeProblems } from '../support/type-check.ts'
import { BUN, DECLARATIONS, DENO, NEXT } from './framework-hosts.ts'

const TEST_MS = 300_000
const DOCUMENT = 'docs/in-your-server.md'
/** Servers of hosts that few use. They take `tasks.ts` and `engine.ts` of the page. */
const EXAMPLES = 'examples/servers'
const FOLDER = 'test/clients/.frameworks'
const SECRET = 'sk_frameworks'

/** The files of the page, and of the examples beside it, by their path. */
const files = new Map([
  ...documentBlocks(DOCUMENT).map(({ file, code, line }) => {
    if (file === undefined) throw new Error(`${DOCUMENT}:${line}: say the name of the file in its first line`)
    return [file, code] as const
  }),
  ...readdirSync(EXAMPLES).map((file) => [file, readFileSync(`${EXAMPLES}/${file}`, 'utf8')] as const),
])

/** Bundles with every package left out: they are loaded as they are installed. */
const bundled = {
  bundle: true,
  packages: 'external',
  format: 'esm',
  platform: 'node',
  logLevel: 'silent',
} as const
/** Without the paths of this project, by which its own name is no package. */
const asInstalled = { ...bundled, tsconfigRaw: '{}' } as const

beforeAll(async () => {
  rmSync(FOLDER, { recursive: true, force: true })
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(`${FOLDER}/${path}`), { recursive: true })
    writeFileSync(`${FOLDER}/${path}`, text)
  }
  for (const [path, code] of files) write(path, code)
  write('lib/tasks.ts', files.get('tasks.ts') ?? '')
  write('stand-ins.d.ts', DECLARATIONS)
  write('bun-host.mjs', BUN)
  write('deno-host.mjs', DENO)
  write('next-host.mjs', NEXT)

  // The package as it is installed, without its build.
  const entries = { index: 'src/index.ts', http: 'src/http.ts' }
  const installed = 'node_modules/waitpoint'
  await build({ ...bundled, entryPoints: entries, splitting: true, outdir: `${FOLDER}/${installed}` })
  const exports = { '.': './index.js', './http': './http.js' }
  write(`${installed}/package.json`, JSON.stringify({ name: 'waitpoint', type: 'module', exports }))
  for (const path of files.keys()) {
    const outfile = `${FOLDER}/${path.replace(/\.ts$/, '.mjs')}`
    await build({ ...asInstalled, entryPoints: [`${FOLDER}/${path}`], outfile })
  }
}, TEST_MS)

afterAll(() => rmSync(FOLDER, { recursive: true, force: true }))

it(
  'every file of the page and of the examples type-checks, with stand-ins for Next, Bun and Deno',
  { timeout: TEST_MS },
  () => {
    const paths = [...files.keys(), 'stand-ins.d.ts'].map((path) => `${FOLDER}/${path}`)
    expect(typeProblems(paths)).toEqual([])
  },
)

/** Each server, and how it is started here. */
const SERVERS = [
  ['own-port.ts', 'own-port.mjs'],
  ['hono-server.ts', 'hono-server.mjs'],
  ['express-server.ts', 'express-server.mjs'],
  ['fastify-server.ts', 'fastify-server.mjs'],
  ['app/engine/[...path]/route.ts, evaluated again for each request by a stand-in for Next', 'next-host.mjs'],
  ['bun-server.ts, behind a stand-in for Bun.serve', 'bun-host.mjs'],
  ['deno-server.ts, behind a stand-in for Deno.serve', 'deno-host.mjs'],
] as const

it('every server is started', () => {
  const servers = [...files.keys()].filter((path) => /server|route|own-port/.test(path))
  const started = SERVERS.map(([name]) => name.split(',')[0])
  expect(started.toSorted()).toEqual(servers.toSorted())
})

describe.each(SERVERS)('%s', { timeout: TEST_MS }, (_name, program) => {
  let server: ChildProcess
  let url = ''

  beforeAll(async () => {
    const port = await freePort()
    url = `http://localhost:${port}`
    const env = { ...process.env, PORT: `${port}`, BASE_URL: `${url}/engine`, SECRET_KEY: SECRET }
    server = spawn(process.execPath, [`${FOLDER}/${program}`], {
      env,
      stdio: 'ignore',
    })
    // It refuses connections until it listens.
    const listens = vi.waitFor(() => fetch(`${url}/engine/nowhere`), { timeout: TEST_MS / 2 })
    const ends = once(server, 'exit').then(() => Promise.reject(new Error(`${program} ended at once`)))
    await Promise.race([listens, ends])
  }, TEST_MS)

  afterAll(() => server.kill('SIGKILL'))

  /** A review as a page of the application asks for one; a server of the engine alone is asked with the secret key. */
  async function review(doc: string): Promise<{ readonly run: string; readonly accessToken: string }> {
    const body = JSON.stringify({ doc })
    const response = await fetch(`${url}/reviews`, { method: 'POST', headers: JSON_TYPE, body })
    if (response.status === 201) return (await response.json()) as Awaited<ReturnType<typeof review>>
    expect(program).toBe('own-port.mjs')
    const client = createClient({ baseUrl: `${url}/engine`, accessToken: SECRET })
    const { id, publicAccessToken } = await client.tasks.trigger('review', { doc })
    return { run: id, accessToken: publicAccessToken }
  }

  it('shows a page every chunk, and completes the token by its URL', async () => {
    const { run, accessToken } = await review('d1')
    const page = createClient({ baseUrl: `${url}/engine`, accessToken })
    const words: unknown[] = []
    let approved: Response | undefined
    for await (const part of page.runs.subscribeToRun(run).withStreams<{ draft: string }>()) {
      if (part.type === 'draft') words.push(part.chunk)
      else if (part.run.isWaiting && approved === undefined) {
        const approveAt = String(part.run.metadata['approveAt'])
        expect(approveAt.startsWith(`${url}/engine/api/v1/waitpoints/tokens/`)).toBe(true)
        const body = '{"approved":true}'
        approved = await fetch(approveAt, { method: 'POST', headers: JSON_TYPE, body })
      }
    }
    expect(words).toEqual(['Dear', 'reader', 'of', 'd1'])
    expect([approved?.status, await approved?.json()]).toEqual([200, { success: true, status: 'COMPLETED' }])
    expect(await page.runs.retrieve(run)).toMatchObject({ status: 'COMPLETED', output: { approved: true } })
  })

  it.each(['content-length: 20\r\n\r\n{}', 'transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n'])(
    'completes nothing by a body that its client cuts: %j',
    async (cut) => {
      const { run, accessToken } = await review('d3')
      const page = createClient({ baseUrl: `${url}/engine`, accessToken })
      let approveAt: unknown
      for await (const { isWaiting, metadata } of page.runs.subscribeToRun(run)) {
        approveAt = metadata['approveAt']
        if (isWaiting && approveAt !== undefined) break
      }
      const { host, pathname, port } = new URL(String(approveAt))
      const socket = connect(Number(port), 'localhost')
      await once(socket, 'connect')
      socket.end(`POST ${pathname} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\n${cut}`)
      await once(socket.resume(), 'close')
      expect((await page.runs.retrieve(run)).isWaiting).toBe(true)
      const body = '{"approved":true}'
      const approved = await fetch(String(approveAt), { method: 'POST', headers: JSON_TYPE, body })
      expect(await approved.json()).toEqual({ success: true, status: 'COMPLETED' })
    },
  )

  it.each(['{}', '{"doc":7}'])('starts nothing with the body %s in a route of its own', async (body) => {
    const { status } = await fetch(`${url}/reviews`, { method: 'POST', headers: JSON_TYPE, body })
    expect(status).toBe(program === 'own-port.mjs' ? 404 : 400)
  })

  it('answers below its path, and nowhere else', async () => {
    const inside = await fetch(`${url}/engine/nowhere`)
    expect([inside.status, await inside.json()]).toEqual([404, { error: 'Not found' }])
    const path = '/api/v1/runs'
    expect((await fetch(`${url}/engine${path}`)).status).toBe(401)
    expect((await fetch(url + path)).status).toBe(404)
  })

  it('ends when it is told to, also while a page follows a run', async () => {
    const { run, accessToken } = await review('d2')
    const stream = `${url}/engine/api/v1/runs/${run}/stream?access_token=${accessToken}`
    const events = (await fetch(stream)).body!.getReader()
    expect((await events.read()).done).toBe(false)
    const ended = once(server, 'exit')
    server.kill('SIGTERM')
    expect(await ended).toEqual([0, null])
    await events.cancel().catch(() => undefined)
  })
})

const JSON_TYPE = { 'content-type': 'application/json' }
