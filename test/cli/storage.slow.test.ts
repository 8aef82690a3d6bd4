import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openDriver } from '../databases/drivers.ts'
import { callProgram, InstalledPackage, type ProgramEnd, type RunningProgram } from './program.ts'

const KEY = 'key-of-these-tests'
let installed: InstalledPackage
beforeAll(async () => {
  installed = await InstalledPackage.create()
})
afterAll(() => installed[Symbol.dispose]())

interface Listed {
  readonly data: readonly { readonly id: string; readonly status: string; readonly taskIdentifier: string }[]
}

/** Calls `waitpoint` for one place. */
class Caller {
  readonly #place: readonly string[]

  constructor(...place: readonly string[]) {
    this.#place = place
  }

  start(...args: readonly string[]): RunningProgram {
    return installed.start([...args, ...this.#place])
  }

  /** An app behind HTTP is asked from here: a process of its own for each call would only take longer. */
  call(...args: readonly string[]): Promise<ProgramEnd> {
    const isHere = this.#place.includes('--url')
    return isHere ? callProgram([...args, ...this.#place]) : this.start(...args).ended
  }

  async json(...args: readonly string[]): Promise<unknown> {
    const { out, err } = await this.call(...args, '--json')
    if (out === '') throw new Error(err)
    return JSON.parse(out) as unknown
  }
}

describe.each(['--db', '--url'] as const)('%s of a running app', (option) => {
  let app: RunningProgram & { readonly url: string }
  let cli: Caller

  beforeAll(async () => {
    const file = join(installed.project(), 'app.db')
    app = await installed.app(file, KEY)
    cli = option === '--db' ? new Caller('--db', file) : new Caller('--url', app.url, '--key', KEY)
  })
  afterAll(() => app[Symbol.asyncDispose]())

  it('triggers a run, follows it with its streams, replays it and lists both', async () => {
    const isNew = option === '--db' ? ['--new-task'] : []
    const triggered = await cli.call('runs', 'trigger', 'greet', '--payload', '{"name":"Ada"}', ...isNew)
    expect(triggered).toMatchObject({ code: 0, err: '' })
    const id = triggered.out.trim()
    const watched = await cli.call('runs', 'watch', id)
    expect(watched.code).toBe(0)
    expect(watched.out).toContain('words[0]  Hello')
    expect(watched.out).toContain('COMPLETED  "Hello Ada"')
    const replayed = (await cli.json('runs', 'replay', id)) as { readonly id: string }
    const parts = (await cli.call('runs', 'watch', replayed.id, '--json')).out.trim().split('\n')
    expect(JSON.parse(parts.at(-1) ?? '')).toMatchObject({ type: 'run', run: { output: 'Hello Ada' } })
    const { data } = (await cli.json('runs', 'list', '--task', 'greet', '--status', 'completed')) as Listed
    expect(data.map((run) => run.id)).toEqual([replayed.id, id])
    const shown = await cli.call('runs', 'get', id)
    expect(shown.out).toMatch(/^status\s+COMPLETED$/m)
    const explained = await cli.call('runs', 'explain', id)
    expect(explained.out).toMatch(/^The run completed at 2\d\d\d-/)
    expect(shown.out).toMatch(/^created\s+.*\(2\d\d\d-.*Z\)$/m)
  })

  it('completes the token of a run that waits, and says when it was settled before', async () => {
    const isNew = option === '--db' ? ['--new-task'] : []
    const { id } = (await cli.json('runs', 'trigger', 'ask', '--priority', '5', ...isNew)) as {
      readonly id: string
    }
    expect(await cli.json('runs', 'get', id)).toMatchObject({ id, priority: 5 })
    await using watching = cli.start('runs', 'watch', id)
    await watching.says(/WAITING/)
    const { data } = (await cli.json('tokens', 'list', '--tag', 'question')) as Listed
    const token = data[0]?.id ?? ''
    expect((await cli.call('tokens', 'get', token)).out).toMatch(/^tags\s+question$/m)
    const completed = await cli.call(
      'tokens',
      'complete',
      token,
      '--output',
      '{"approved":true}',
      '--by',
      'ann',
    )
    expect(completed).toMatchObject({ code: 0, err: '' })
    expect(await watching.ended).toMatchObject({ code: 0 })
    expect(watching.out).toContain('{"approved":true}')
    expect(await cli.json('tokens', 'get', token)).toMatchObject(
      option === '--url' ? { id: token } : { answeredBy: { id: 'ann', via: 'cli' } },
    )
    const again = await cli.call('tokens', 'complete', token)
    const told = { code: 1, err: expect.stringContaining('it is COMPLETED, by ann via cli.') as string }
    expect(again).toMatchObject(told)
    expect(await cli.call('tokens', 'withdraw', token)).toMatchObject(told)
  })

  it('pauses and resumes a queue, and sets its limit', async () => {
    const isNew = option === '--db' ? ['--new-task'] : []
    const known = option === '--db' ? 'not known here' : 'none'
    expect(await cli.json('queues', 'pause', 'greetings')).toMatchObject({
      name: 'greetings',
      isPaused: true,
    })
    // Without its app a storage knows the queue of a task by its newest run.
    const queue = ['--queue', 'greetings']
    const id = (await cli.call('runs', 'trigger', 'greet', '--payload', '{"name":"Bo"}', ...queue, ...isNew))
      .out
    const listed = await cli.call('queues', 'list')
    expect(listed.out).toMatch(new RegExp(`^greetings +${known} +0 +1 +paused$`, 'm'))
    const set = await cli.call('queues', 'set-limit', 'greetings', '3')
    expect(set).toMatchObject({ code: 0, err: '' })
    expect(set.out).toMatch(/^limit +3 \(set\)$/m)
    expect((await cli.call('queues', 'get', 'greetings')).out).toMatch(/^queued +1$/m)
    expect(await cli.json('queues', 'reset-limit', 'greetings')).not.toHaveProperty('limit')
    expect((await cli.call('queues', 'resume', 'greetings')).out).toMatch(/^paused +no$/m)
    expect((await cli.call('runs', 'watch', id.trim())).code).toBe(0)
    const { data } = (await cli.json('queues', 'list')) as { readonly data: readonly object[] }
    if (option === '--url') expect(data).toContainEqual(expect.objectContaining({ name: 'task/ask' }))
  })

  it('ends with 1 for a run that fails, with 3 for one that is not there, and with 130 by Ctrl-C', async () => {
    const isNew = option === '--db' ? ['--new-task'] : []
    const failing = (await cli.call('runs', 'trigger', 'fail', ...isNew)).out.trim()
    const failed = await cli.call('runs', 'watch', failing)
    expect(failed).toMatchObject({ code: 1, out: expect.stringContaining('there is no way') as string })
    expect(await cli.call('runs', 'get', 'run_00000000000000000000000000')).toMatchObject({
      code: 3,
      out: '',
    })

    const holding = (await cli.call('runs', 'trigger', 'hold', ...isNew)).out.trim()
    await using watching = cli.start('runs', 'watch', holding)
    await watching.says(/EXECUTING/)
    watching.kill('SIGINT')
    expect(await watching.ended).toMatchObject({ code: 130 })
    expect(await cli.json('runs', 'cancel', holding)).toMatchObject({ canceled: true, status: 'CANCELED' })
    expect(await cli.call('runs', 'cancel', holding)).toMatchObject({ code: 1 })
  })
})

describe('export', () => {
  it('writes a test of a run, redacted, and no file that is there', async () => {
    const folder = installed.project()
    const file = join(folder, 'app.db')
    await using app = await installed.app(file, KEY)
    expect(app.url).toContain('http')
    const cli = new Caller('--db', file)
    const id = (
      await cli.call('runs', 'trigger', 'greet', '--payload', '{"name":"Ada"}', '--new-task')
    ).out.trim()
    expect((await cli.call('runs', 'watch', id)).code).toBe(0)
    const redact = join(folder, 'redact.mjs')
    writeFileSync(
      redact,
      "export default (value) => JSON.parse(JSON.stringify(value).replaceAll('Ada', 'x'))",
    )
    const out = join(folder, 'greet.test.ts')
    const exporting = ['export', id, '--out', out, '--redact', redact, '--tasks', './greet.ts'] as const
    expect(await cli.call(...exporting)).toMatchObject({ code: 0, err: '' })
    const text = readFileSync(out, 'utf8')
    expect(text).toContain('"output": "Hello x"')
    expect(text).toContain('from "./greet.ts"')
    expect(text).not.toContain('Ada')
    expect(await cli.call(...exporting)).toMatchObject({ code: 2 })
    const [code, err] = [2, expect.stringContaining('name the module of the tasks') as string]
    expect(await cli.call('export', id, '--out', join(folder, 'other.test.ts'))).toMatchObject({ code, err })
    writeFileSync(join(folder, 'tasks.ts'), '')
    expect(await cli.call('export', id, '--out', join(folder, 'other.test.ts'))).toMatchObject({ code: 0 })
    expect((await cli.call('export', id, '--codec', 'superjson')).out).toContain(
      'import codec from "superjson"',
    )
    expect(await cli.json('export', id)).toMatchObject({ id, text: expect.stringContaining('Ada') as string })
    expect(await cli.call('export', 'run_00000000000000000000000000')).toMatchObject({ code: 3, out: '' })
  })
})

describe('a file whose app was killed', () => {
  /** Every record that an app has, as it is stored. */
  function recordsOf(file: string): unknown {
    const database = openDriver(file)
    try {
      return ['runs', 'tokens', 'waits', 'owners', 'settings', 'chunks'].map((table) =>
        database.prepare(`SELECT * FROM ${table} ORDER BY 1, 2`).all(),
      )
    } finally {
      database.close()
    }
  }

  it('is looked at without a change, and goes on with the answer that it was given meanwhile', async () => {
    const file = join(installed.project(), 'app.db')
    const cli = new Caller('--db', file)
    await using app = await installed.app(file, KEY)
    const asking = (await cli.call('runs', 'trigger', 'ask', '--new-task')).out.trim()
    const holding = (await cli.call('runs', 'trigger', 'hold', '--new-task')).out.trim()
    await using asked = cli.start('runs', 'watch', asking)
    await asked.says(/WAITING/)
    await using held = cli.start('runs', 'watch', holding)
    await held.says(/EXECUTING/)
    app.kill('SIGKILL')
    await app.ended
    for (const watching of [asked, held]) watching.kill('SIGINT')
    await Promise.all([asked.ended, held.ended])

    const before = recordsOf(file)
    const { data } = (await cli.json('runs', 'list')) as Listed
    expect(data.map(({ status }) => status)).toEqual(['EXECUTING', 'WAITING'])
    expect((await cli.call('runs', 'explain', asking)).out).toContain('[question]')
    const health = await cli.call('doctor')
    expect(health).toMatchObject({ code: 1, err: '' })
    expect(health.out).toContain('No engine is alive, and 2 runs cannot go on')
    expect(health.out).toContain('1 engine died and left 2 runs')
    expect(health.out).toMatch(/^oldest waiting\s+waitpoint_/m)

    await using pages = installed.start(['console', '--db', file, '--json'])
    const { url, link, key } = JSON.parse(await pages.says(/\{.*\}\n/)) as Record<
      'url' | 'link' | 'key',
      string
    >
    const login = new URLSearchParams({ key, next: '' })
    expect(await pageAfter(url, `${url}/login`, { method: 'POST', body: login })).toContain(asking)
    expect(await pageAfter(url, link)).toContain(asking)
    expect((await fetch(link, { redirect: 'manual' })).status).toBe(401)
    pages.kill('SIGINT')
    expect(await pages.ended).toMatchObject({ code: 0, err: '' })
    expect(recordsOf(file)).toEqual(before)

    const token = ((await cli.json('tokens', 'list')) as Listed).data[0]?.id ?? ''
    expect(await cli.call('tokens', 'complete', token, '--output', '"yes"')).toMatchObject({ code: 0 })
    await using again = await installed.app(file, KEY)
    expect(await cli.call('runs', 'watch', asking)).toMatchObject({
      code: 0,
      out: expect.stringContaining('"yes"') as string,
    })
    again.kill('SIGTERM')
    expect((await again.ended).code).toBe(0)
  })

  /** The page of runs, with the cookie of a login. */
  async function pageAfter(url: string, login: string, init: RequestInit = {}): Promise<string> {
    const { headers } = await fetch(login, { ...init, redirect: 'manual' })
    const cookie = headers.get('set-cookie')?.split(';')[0] ?? ''
    return (await fetch(`${url}/runs`, { headers: { cookie } })).text()
  }
})

describe('a file that may not be written', () => {
  it('is looked at as it is, with its log, and not changed', async () => {
    const folder = installed.project()
    const file = join(folder, 'app.db')
    await using app = await installed.app(file, KEY)
    const cli = new Caller('--db', file)
    const { out } = await cli.call('runs', 'trigger', 'ask', '--new-task')
    const id = out.trim()
    expect(await cli.call('runs', 'get', id)).toMatchObject({ code: 0 })
    chmodSync(file, 0o444)
    const look = (...args: readonly string[]): Promise<ProgramEnd> =>
      installed.startWithoutRights([...args, '--db', file]).ended
    const note = expect.stringContaining(`This is ${file} as it is now: it may not be written`) as string
    const looks = async (): Promise<void> => {
      const shown = { code: 0, out: expect.stringContaining(id) as string, err: note }
      expect(await look('runs', 'list')).toMatchObject(shown)
      expect(await look('runs', 'get', id)).toMatchObject(shown)
    }
    await looks()
    expect(await look('doctor')).toMatchObject({ code: 0, err: '' })
    const refused = expect.stringContaining(`Cannot change ${file}: it may not be written`) as string
    expect(await look('runs', 'replay', id)).toMatchObject({ code: 4, out: '', err: refused })
    app.kill('SIGTERM')
    await app.ended
    chmodSync(folder, 0o555)
    await looks()
    chmodSync(folder, 0o755)
    expect(readdirSync(folder)).toEqual(['app.db'])
  })
})

describe('a file that no app has opened', () => {
  it('is not made, and not taken for a database', async () => {
    const folder = installed.project()
    const missing = await installed.start(['doctor', '--db', join(folder, 'new.db')]).ended
    expect(missing).toMatchObject({ code: 2, out: '' })
    expect(existsSync(join(folder, 'new.db'))).toBe(false)
    const other = join(folder, 'other.db')
    const database = openDriver(other)
    database.exec('CREATE TABLE books (title TEXT)')
    database.close()
    for (const command of ['doctor', 'console'])
      expect(await installed.start([command, '--db', other]).ended).toMatchObject({
        code: 4,
        err: expect.stringContaining('it is a database of another program') as string,
      })
  })

  it('is not brought up to date by a look', async () => {
    const old = join(installed.project(), 'old.db')
    const database = openDriver(old)
    database.exec('CREATE TABLE runs (id TEXT); PRAGMA application_id = 2003857012; PRAGMA user_version = 0')
    database.close()
    const listed = await installed.start(['runs', 'list', '--db', old]).ended
    expect(listed).toMatchObject({
      code: 4,
      err: expect.stringContaining('its schema is version 0') as string,
    })
    const looked = await installed.start(['doctor', '--db', old]).ended
    expect(looked).toMatchObject({
      code: 1,
      out: expect.stringContaining('version 0, this program') as string,
    })
  })
})
