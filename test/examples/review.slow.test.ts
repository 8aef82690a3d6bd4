import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const MAIN = 'build/review/main.js'

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

const folder = mkdtempSync(join(tmpdir(), 'waitpoint-review-'))
let firstRun: Ended

/** `npm start` builds the program that the other cases run. */
beforeAll(async () => {
  firstRun = await ended(spawn('npm', ['start', '--silent'], { stdio: 'pipe' }))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('npm start', () => {
  it('tells its steps, approves itself where there is no terminal, and ends by itself', () => {
    expect(firstRun).toMatchObject({ code: 0, stderr: '' })
    const lines = firstRun.stdout.split('\n').map((line) => line.replace(/^ +\d+\.\d s/, '+').trim())
    const steps = [
      /^\+ {2}triggers run_\w+, which reviews README\.md$/,
      /^\+ {2}the draft is there: \d+ characters$/,
      /^\+ {2}the run is WAITING$/,
      /^\+ {2}approves it at once, .*; --wait 20 waits for you and prints a page$/,
      /^\+ {2}that is answered 200 \{"success":true,/,
      /^\+ {2}its output is \{"file":"README\.md",.*"decision":"approve","via":"url"\}$/,
    ]
    const found = steps.map((step) => lines.findIndex((line) => step.test(line)))
    expect(found).not.toContain(-1)
    expect(found).toEqual(found.toSorted((one, other) => one - other))
    // An address that is dead before it can be opened is none.
    expect(firstRun.stdout).not.toContain('http://')
    // It tells what happens, and prints no file.
    expect(lines.length).toBeLessThan(20)
  })

  it.each([
    ['an empty file', Buffer.alloc(0), '"characters":0'],
    ['a file of three megabytes', Buffer.from('words and more words\n'.repeat(150_000)), '"words":600000'],
    ['a file that is not UTF-8', Buffer.from([0x61, 0xff, 0xfe, 0x20, 0x62]), '"characters":5,"words":2'],
  ])('reviews %s', async (_name, content, output) => {
    const file = join(folder, 'file')
    writeFileSync(file, content)
    const { code, stdout } = await ended(start(file))
    expect(stdout).toContain(output)
    expect(code).toBe(0)
  })

  it.each([
    ['a file that does not exist', ['nowhere.txt'], 'Cannot read "nowhere.txt": there is no such file\n'],
    ['a folder', ['src'], 'Cannot read "src": it is a folder\n'],
    [
      '--db without a file',
      ['--db'],
      'Cannot use --db: it needs the path of a file; npm start -- --help says more\n',
    ],
    [
      'an unknown option',
      ['--fast'],
      'Cannot use --fast: it is not an option; npm start -- --help says more\n',
    ],
    [
      'too long a wait',
      ['--wait', '601'],
      'Cannot wait for 601 s: it must be a number from 0 to 600; npm start -- --help says more\n',
    ],
  ])('says in one line what is wrong with %s', async (_name, args, message) => {
    expect(await ended(start(...args))).toEqual({ code: 1, stdout: '', stderr: message })
  })

  it('says its options with --help', async () => {
    const { code, stdout } = await ended(start('--help', '--fast'))
    expect(stdout).toContain('--wait <seconds>')
    expect(code).toBe(0)
  })

  it('waits for your answer: the printed pages are there, and the printed curl works', async () => {
    const child = start('--wait', '600', 'LICENSE')
    const ending = ended(child)
    const { shown, page, url, body } = await asked(child)
    expect(await textAt(shown)).toContain('LICENSE')
    // A page of another site whose name leads to this machine is not let in.
    expect((await fetch(shown.replace('127.0.0.1', 'localhost'))).status).toBe(403)
    expect(await textAt(page)).toMatch(/Publish the draft of LICENSE, which has \d+ words\?/)
    expect(body).toBe('"approve"')
    expect(await post(url, '"reject"')).toMatchObject({ success: true, status: 'COMPLETED' })
    const { code, stdout: printed } = await ending
    expect(printed).toContain('"decision":"reject","via":"url"')
    expect(code).toBe(0)
  })

  it('goes on where it was killed with --db, and is approved at the same URL', async () => {
    const args = ['--db', join(folder, 'review.db'), '--wait', '600', 'LICENSE']
    const child = start(...args)
    const { url, page } = await asked(child)
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone

    // Another program may have its port meanwhile.
    const { port } = new URL(url)
    const other = createServer().listen(Number(port), '127.0.0.1')
    await once(other, 'listening')
    const { code: refused, stderr } = await ended(start(...args))
    expect(stderr).toMatch(new RegExp(`^Cannot listen on "127.0.0.1:${port}": .* or use another --db$`, 'm'))
    expect(stderr).not.toMatch(/^ +at /m)
    expect(refused).toBe(1)
    other.close()
    await once(other, 'close')

    const again = start(...args)
    const ending = ended(again)
    expect(await asked(again)).toMatchObject({ url, page })
    expect(await post(url, '"approve"')).toMatchObject({ success: true })
    const { code, stdout } = await ending
    expect(stdout).toContain('goes on with run_')
    expect(stdout).toMatch(/its output is \{"file":"LICENSE",.*"decision":"approve","via":"url"\}$/m)
    expect(code).toBe(0)
  })

  it('stops at once on Ctrl-C', async () => {
    const child = start('--wait', '600', 'LICENSE')
    const ending = ended(child)
    await asked(child)
    child.kill('SIGINT')
    expect(await ending).toMatchObject({
      code: 130,
      stderr: expect.stringContaining('stopped by SIGINT') as string,
    })
  })

  it('goes quietly when its reader has seen enough', async () => {
    const file = join(folder, 'long')
    writeFileSync(file, 'a line\n'.repeat(500_000))
    const child = start(file)
    child.stdout?.once('data', () => child.stdout?.destroy())
    // Otherwise the child would wait for a reader of its progress.
    child.stderr?.resume()
    const [code] = (await once(child, 'exit')) as [number | null]
    expect(code).toBe(0)
  })
})

function start(...args: readonly string[]): ChildProcess {
  // A Node without SQLite of its own finds the driver that the tests of databases have.
  const env = { ...process.env, NODE_PATH: 'test/databases/node_modules' }
  return spawn(process.execPath, [MAIN, ...args], { stdio: 'pipe', env })
}

async function ended(child: ChildProcess): Promise<Ended> {
  let stdout = ''
  let stderr = ''
  child.stdout?.on('data', (data) => (stdout += String(data)))
  child.stderr?.on('data', (data) => (stderr += String(data)))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, stdout, stderr }
}

interface Asked {
  /** The page of the console. */
  readonly shown: string
  /** The page for an answer. */
  readonly page: string
  /** What the printed curl sends where. */
  readonly url: string
  readonly body: string
}

/** The addresses that a program has printed, once it waits. */
function asked(child: ChildProcess): Promise<Asked> {
  const line =
    /console: (\S+)\n[^]*its page: (\S+)\n.*curl -X POST (\S+) -H 'content-type: application\/json' -d '(.*)'\n/
  let printed = ''
  return new Promise((resolve, reject) => {
    child.stdout?.on('data', (data) => {
      printed += String(data)
      const [, shown = '', page = '', url = '', body = ''] = line.exec(printed) ?? []
      if (url !== '') resolve({ shown, page, url, body })
    })
    child.once('close', () => reject(new Error(`Cannot find a curl line in: ${printed}`)))
  })
}

/** What the printed curl does. */
async function post(url: string, body: string): Promise<unknown> {
  const headers = { 'content-type': 'application/json' }
  return (await fetch(url, { method: 'POST', headers, body })).json()
}

async function textAt(url: string): Promise<string> {
  return (await fetch(url)).text()
}
