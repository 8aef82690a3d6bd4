import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { freePort } from '../test/support/free-port.ts'

const SCRIPT = resolve('scripts/example.mjs')
const names = readdirSync('examples').filter((name) => existsSync(`examples/${name}/pages.ts`))

/** A folder in which applications keep their files, and a port on which they are found again. */
class Place implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), 'waitpoint-example-'))
  readonly #port: number

  constructor(port: number) {
    this.#port = port
  }

  get address(): string {
    return `http://localhost:${this.#port}`
  }

  /** Starts an application, and waits until it says where its page is. */
  async start(name: string): Promise<ChildProcess> {
    const env = { ...process.env, PORT: String(this.#port) }
    const child = spawn(process.execPath, [SCRIPT, name], { cwd: this.#folder, env, stdio: 'pipe' })
    const said = await new Promise<string>((resolve) => {
      let all = ''
      child.stderr.on('data', (text) => (all += String(text)))
      child.stdout.on('data', (text) => {
        all += String(text)
        if (all.includes(this.address)) resolve(all)
      })
      child.once('close', () => resolve(all))
    })
    expect(said).toContain(`open ${this.address} (Ctrl-C ends it)`)
    return child
  }

  async page(path = '/'): Promise<string> {
    const response = await fetch(this.address + path)
    expect(response.status).toBe(200)
    return response.text()
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** As Ctrl-C does it. Answers the exit code. */
async function interrupt(child: ChildProcess): Promise<unknown> {
  child.kill('SIGINT')
  const [code] = (await once(child, 'exit')) as unknown[]
  return code
}

/** What is said in the chat until this is, by a server that may not be there yet. */
async function saidUntil(place: Place, last: string): Promise<string> {
  for (;;) {
    const response = await fetch(`${place.address}/said`).catch(() => undefined)
    let events = ''
    for await (const bytes of response?.body ?? []) {
      events += Buffer.from(bytes).toString()
      const said = [...events.matchAll(/^data: (\{.*\})$/gm)].map(([, piece = '']) => textOf(piece))
      if (said.includes(last)) return said.join('')
    }
  }
}

function textOf(piece: string): string {
  return (JSON.parse(piece) as { readonly text: string }).text
}

describe('npm run example', () => {
  it.concurrent.each(names)('%s says where its page is, shows it, and ends at Ctrl-C', async (name) => {
    using place = new Place(await freePort())
    const child = await place.start(name)
    expect(await place.page()).toContain('<div id="live">')
    expect(await place.page('/console/runs')).toContain('<main')
    // A page that is open does not keep the program.
    const open = await fetch(`${place.address}/changes`)
    expect(await interrupt(child)).toBe(0)
    await open.body?.cancel().catch(() => undefined)
  })

  it('approval-by-mail goes on after a restart, where Node has SQLite', async () => {
    using place = new Place(await freePort())
    const first = await place.start('approval-by-mail')
    const body = new URLSearchParams({ from: 'ada@example.com', what: 'Train', euros: '5' })
    await fetch(`${place.address}/expenses`, { method: 'POST', body })
    expect(await interrupt(first)).toBe(0)

    const second = await place.start('approval-by-mail')
    const hasSqlite = process.getBuiltinModule('node:sqlite') !== undefined
    expect((await place.page()).includes('waits for Grace')).toBe(hasSqlite)
    expect(await interrupt(second)).toBe(0)
  })

  it('chat goes on where it was when its process was killed, where Node has SQLite', async () => {
    using place = new Place(await freePort())
    const child = await place.start('chat')
    const body = new URLSearchParams({ text: 'hello', key: randomUUID() })
    await fetch(`${place.address}/messages`, { method: 'POST', body })
    await saidUntil(place, 'takes ')
    await fetch(`${place.address}/kill`, { method: 'POST' })
    if (process.getBuiltinModule('node:sqlite') !== undefined) {
      const said = await saidUntil(place, 'was. ')
      expect(said).toMatch(/^helloYou said “hello”. An answer takes [^“]* where it was. $/)
    }
    expect(await interrupt(child)).toBe(0)
  })

  it('says in a line or two which port is taken, and how to take another one', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const env = { ...process.env, PORT: String(port) }
    const child = spawn(process.execPath, [SCRIPT, 'early-webhook'], { env, stdio: 'pipe' })
    let said = ''
    child.stderr.on('data', (text) => (said += String(text)))
    expect((await once(child, 'close'))[0]).toBe(1)
    expect(said).toContain(`Cannot listen on port ${port}: `)
    expect(said).toContain(`PORT=${port + 1} npm run example`)
    expect(said).not.toMatch(/^ +at /m)
    other.close()
  })

  it('without a name lists them', async () => {
    const child = spawn(process.execPath, [SCRIPT], { stdio: 'pipe' })
    let said = ''
    child.stderr.on('data', (text) => (said += String(text)))
    expect((await once(child, 'close'))[0]).toBe(2)
    for (const name of names) expect(said).toContain(name)
  })
})

describe('examples/README.md', () => {
  it('lists each folder beside it once', () => {
    const linked = [...readFileSync('examples/README.md', 'utf8').matchAll(/\]\(([\w-]+)\/[\w.-]*\)/g)]
    const folders = readdirSync('examples', { withFileTypes: true }).filter((entry) => entry.isDirectory())
    expect(linked.map(([, name]) => name).sort()).toEqual(folders.map(({ name }) => name).sort())
  })
})
