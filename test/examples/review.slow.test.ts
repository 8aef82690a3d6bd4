import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
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
  it('reviews README.md, is approved by another process, and ends by itself', () => {
    expect(firstRun.stdout).toContain('# waitpoint')
    expect(firstRun.stdout).toMatch(
      /curl -X POST http:\/\/127\.0\.0\.1:\d+\/api\/v1\/waitpoints\/tokens\/waitpoint_/,
    )
    expect(firstRun.stdout).toMatch(/^output \{"file":"README.md",.*"approved":true,"by":"process \d+"\}$/m)
    expect(firstRun.stdout).toMatch(/timeline\n.*QUEUED\n.*EXECUTING\n.*token {2}WAITING \[review\]\n/)
    expect(firstRun.stderr).toContain('100 %')
    expect(firstRun.code).toBe(0)
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
      'Cannot use --db: it needs the path of a file; usage: npm start [-- --ask | --db file.db] [file]\n',
    ],
    [
      'an unknown option',
      ['--fast'],
      'Cannot use --fast: it is not an option; usage: npm start [-- --ask | --db file.db] [file]\n',
    ],
  ])('says in one line what is wrong with %s', async (_name, args, message) => {
    expect(await ended(start(...args))).toEqual({ code: 1, stdout: '', stderr: message })
  })

  it('waits for your own answer with --ask', async () => {
    const child = start('--ask', 'LICENSE')
    const ending = ended(child)
    const response = await fetch(await urlOf(child), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"approved":false,"by":"me"}',
    })
    expect(await response.json()).toEqual({ success: true, status: 'COMPLETED' })
    const { code, stdout: printed } = await ending
    expect(printed).toContain('"approved":false,"by":"me"')
    expect(code).toBe(0)
  })

  it('goes on where it was killed with --db, and is approved at the same URL', async () => {
    const args = ['--db', join(folder, 'review.db'), 'LICENSE']
    const child = start(...args)
    const url = await urlOf(child)
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone

    const again = start(...args)
    const ending = ended(again)
    expect(await urlOf(again)).toBe(url)
    const { status } = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"approved":true,"by":"me"}',
    })
    expect(status).toBe(200)
    const { code, stdout } = await ending
    expect(stdout).toContain('continuing with run_')
    expect(stdout).toContain('Permission is hereby granted')
    expect(stdout).toMatch(/^output \{"file":"LICENSE",.*"approved":true,"by":"me"\}$/m)
    expect(code).toBe(0)
  })

  it('stops at once on Ctrl-C', async () => {
    const child = start('--ask', 'LICENSE')
    const ending = ended(child)
    await urlOf(child)
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

/** The address in the printed curl line, once the program waits. */
function urlOf(child: ChildProcess): Promise<string> {
  let printed = ''
  return new Promise((resolve, reject) => {
    child.stdout?.on('data', (data) => {
      printed += String(data)
      const url = /curl -X POST (\S+) /.exec(printed)?.[1]
      if (url !== undefined) resolve(url)
    })
    child.once('close', () => reject(new Error(`Cannot find a curl line in: ${printed}`)))
  })
}
