import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { installFolder } from '../support/installed-folder.ts'
import { InstalledPackage, type ProgramEnd, type RunningProgram } from './program.ts'

let installed: InstalledPackage
beforeAll(async () => {
  installFolder(new URL('.', import.meta.url))
  installed = await InstalledPackage.create()
  symlinkSync(resolve('test/cli/node_modules/tsx'), join(installed.folder, 'node_modules/tsx'))
})
afterAll(() => installed[Symbol.dispose]())

/** A project of files, in which `waitpoint` is called. */
class Project {
  readonly #folder = installed.project()

  constructor(files: Readonly<Record<string, string>>) {
    for (const [path, text] of Object.entries(files)) this.write(path, text)
  }

  write(path: string, text: string): void {
    const file = join(this.#folder, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }

  start(...args: readonly string[]): RunningProgram {
    return installed.start(args, this.#folder)
  }

  startOnTerminal(...args: readonly string[]): ReturnType<InstalledPackage['startOnTerminal']> {
    return installed.startOnTerminal(args, this.#folder)
  }

  async call(...args: readonly string[]): Promise<string> {
    const { code, out, err } = await this.start(...args).ended
    if (code !== 0) throw new Error(`${args.join(' ')} ends with ${code}: ${err}`)
    return out.trim()
  }

  node(...args: readonly string[]): Promise<ProgramEnd> {
    return installed.node(args, this.#folder).ended
  }
}

/** So many engines have begun; the last one has these tasks. */
const ready = (count: number, ...tasks: readonly string[]): RegExp =>
  new RegExp(
    `(?:"event":"ready"[^]*){${count - 1}}"event":"ready".*"tasks":${JSON.stringify(tasks).replaceAll('[', '\\[')}`,
  )

const FAILED = /"event":"failed"/

const ASK = `import { task, wait } from 'waitpoint'
import { ending } from '../lib/ending.ts'

export const ask = task({
  id: 'ask',
  version: '1',
  run: async (name: string): Promise<string> => {
    const token = await wait.createToken({ tags: ['question'] })
    const answer = await wait.forToken<string>(token).unwrap()
    return answer + ', ' + name + ending
  },
})
`

describe('waitpoint dev', () => {
  it('starts anew with changed files while a run waits, and ends by Ctrl-C', async () => {
    const project = new Project({
      'package.json': '{ "type": "module" }',
      'tasks/ask.ts': ASK,
      'lib/ending.ts': `export const ending: string = '.'`,
    })
    await using dev = project.start('dev', '--json')
    await dev.says(ready(1, 'ask'), FAILED)
    const id = await project.call('runs', 'trigger', 'ask', '--payload', '"Ada"')
    await dev.says(/"status":"WAITING"/)
    project.write('lib/ending.ts', `export const ending: string = '!'`)
    await dev.says(ready(2, 'ask'), FAILED)
    const { data } = JSON.parse(await project.call('tokens', 'list', '--json')) as { data: [{ id: string }] }
    await project.call('tokens', 'complete', data[0].id, '--output', '"Hello"')
    expect(await project.call('runs', 'watch', id)).toContain('COMPLETED')
    expect(JSON.parse(await project.call('runs', 'get', id, '--json'))).toMatchObject({
      output: 'Hello, Ada!',
    })
    // A link of the process before is good for this one.
    const [, link = ''] = /"link":"([^"]*)"/.exec(dev.out) ?? []
    const logins = [await fetch(link, { redirect: 'manual' }), await fetch(link, { redirect: 'manual' })]
    expect(logins.map(({ status }) => status)).toEqual([303, 401])
    const [first, second] = [...dev.out.matchAll(/"event":"ready".*"url":"([^"]*)".*"key":"([^"]*)"/g)]
    expect(second?.slice(1)).toEqual(first?.slice(1))
    dev.kill('SIGINT')
    expect(await dev.ended).toMatchObject({ code: 0 })
    expect(await project.call('runs', 'list')).toContain(id)
  })

  it('starts a run by a key on a terminal, and says how to start one from another', async () => {
    const project = new Project({
      'package.json': '{ "type": "module" }',
      'tasks/ask.ts': ASK,
      'tasks/greet.ts': `import { task } from 'waitpoint'
        export const greet = task({ id: 'greet', run: async ({ name = 'you' }: { name?: string }) => 'hello, ' + name })`,
      'lib/ending.ts': `export const ending: string = '.'`,
    })
    await using dev = project.startOnTerminal('dev', '--db', 'my.db')
    await dev.says(/ready: \[1\] ask, \[2\] greet\r\n/, /✗/)
    await dev.says(
      /a run +http:\S+\/console\/tasks\r\n +or npx waitpoint runs trigger ask --db my\.db --payload '\{\}'/,
    )
    dev.type('92')
    await dev.says(/(run_\w+) {2}greet {2}was started with the payload \{\}\r\n[^]*COMPLETED/)
    const id = await project.call('runs', 'trigger', 'greet', '--db', 'my.db', '--payload', '{"name":"Ada"}')
    await dev.says(new RegExp(`${id} {2}greet {2}COMPLETED`))
    dev.type('2')
    const [last = ''] =
      /run_\w+/.exec(
        await dev.says(new RegExp(`run_\\w+ {2}greet {2}was started with the payload of ${id}`)),
      ) ?? []
    await dev.says(new RegExp(`${last} {2}greet {2}COMPLETED`))
    expect(JSON.parse(await project.call('runs', 'get', last, '--db', 'my.db', '--json'))).toMatchObject({
      output: 'hello, Ada',
    })
    dev.type('\u0003')
    expect(await dev.ended).toMatchObject({ code: 0 })

    const noted = await project.start('runs', 'trigger', 'greet', '--db', 'my.db').ended
    expect(noted.err).toContain('No process executes runs of my.db right now')
    const misspelt = await project.start('runs', 'trigger', 'gret', '--db', 'my.db').ended
    expect(misspelt).toMatchObject({
      code: 3,
      err: expect.stringContaining('did you mean "greet"?') as string,
    })
  })

  it('tells type errors of the files that it has loaded, and does not wait for them', async () => {
    const project = new Project({
      'package.json': '{ "type": "module" }',
      'tsconfig.json':
        '{ "compilerOptions": { "types": [], "lib": ["es2022"], "noResolve": true, "allowImportingTsExtensions": true, "noEmit": true } }',
      'tasks/greet.js': `import { task } from 'waitpoint'
        import { name } from '../lib/name.ts'
        export const greet = task({ id: 'greet', run: async () => name })`,
      'lib/name.ts': `export const name: string = 'Ada'`,
      'lib/other.ts': `export const other: string = 1`,
    })
    await using dev = project.start('dev', '--json')
    await dev.says(ready(1, 'greet'), FAILED)
    project.write('lib/name.ts', `\nexport const name: string = 1`)
    await dev.says(ready(2, 'greet'), FAILED)
    const [, types = ''] = /(\{"event":"types".*)/.exec(await dev.says(/\{"event":"types".*\n/)) ?? []
    expect(JSON.parse(types)).toEqual({
      event: 'types',
      problems: [
        { path: 'lib/name.ts', line: 2, message: expect.stringMatching(/^TS2322: Type 'number'/) as string },
      ],
    })
    project.write('lib/name.ts', `export const name: string = 'Bob'`)
    await dev.says(/"event":"types","problems":\[\]/)
    dev.kill('SIGINT')
    expect(await dev.ended).toMatchObject({ code: 0 })
  })

  it('says which file cannot be read, and waits until it can', async () => {
    const project = new Project({
      'package.json': '{ "type": "module" }',
      'work/ask.ts': ASK.replace('run:', 'run::'),
      'lib/ending.ts': `export const ending = '.'`,
    })
    await using dev = project.start('dev', 'work', '--json')
    expect(await dev.says(/"event":"failed".*/)).toContain('work/ask.ts')
    project.write('work/ask.ts', ASK)
    await dev.says(ready(1, 'ask'))
    project.write(
      'work/below/greet.js',
      `import { task } from 'waitpoint'
      export const greet = task({ id: 'greet', run: async () => 'hello' })`,
    )
    await dev.says(ready(2, 'ask', 'greet'))
    project.write('lib/ending.ts', `export const ending = String(null.length)`)
    // The others go on.
    expect(await dev.says(/"event":"error".*TypeError.*/)).toContain('ask.ts: TypeError: Cannot read')
    await dev.says(ready(3, 'greet'))
    dev.kill('SIGINT')
    expect(await dev.ended).toMatchObject({ code: 0 })
  })

  it('loads task files as the bundle of the hosted service does', async () => {
    const file = (id: string, code: string): string =>
      `import { task } from '@trigger.dev/sdk'
      ${code}
      export const ${id} = task({ id: '${id}', run: async () => 1 })
      console.log('${id}:', here)`
    const project = new Project({
      'package.json': '{}',
      '.env': 'FIRST=env\nSECOND=env',
      '.env.local': 'SECOND=local\nTHIRD=local',
      'trigger/a.ts': file(
        'a',
        `const here: string = [__dirname, __filename].map((path) => path.slice(-8)).join(' ')`,
      ),
      'trigger/b.ts': file('b', `const here = require('node:path').join('b', 'c')`),
      'trigger/c.ts': file(
        'c',
        `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url); const here = typeof require`,
      ),
      'trigger/d.ts': file('d', `import 'server-only'; const here = 'server'`),
      'trigger/e.ts': file(
        'e',
        `const here = [process.env.FIRST, process.env.SECOND, process.env.THIRD].join(' ')`,
      ),
      'trigger/f.ts': `const get = () => { throw new Error('url is required') }
        export const client = new Proxy({}, { get, has: get })
        export default new Proxy({}, { get, has: get })`,
    })
    await using dev = project.start('dev', '--json')
    await dev.says(ready(1, 'a', 'b', 'c', 'd', 'e'), FAILED)
    dev.kill('SIGINT')
    const { code, err } = await dev.ended
    expect(code).toBe(0)
    for (const line of ['a: /trigger ger/a.ts', 'b: b/c', 'c: function', 'd: server', 'e: env env local'])
      expect(err).toContain(line)
  })

  it('executes the task files of the hosted service with their configuration, in a CommonJS package', async () => {
    const project = new Project({
      'package.json': '{}',
      'trigger.config.ts': `import { defineConfig } from '@trigger.dev/sdk'
        export default defineConfig({
          project: 'proj_1',
          dirs: ['./src/jobs'],
          retries: { default: { maxAttempts: 2, minTimeoutInMs: 1, maxTimeoutInMs: 1 } },
          onSuccess: async ({ ctx }: any) => console.log('hook of', ctx.task.id),
        })`,
      'src/jobs/job.ts': `import { task } from '@trigger.dev/sdk/v3'
        export const job = task({
          id: 'job',
          run: async (payload: { n: number }, { ctx }) => {
            if (ctx.attempt.number === 1) throw new Error('again')
            return payload.n + 1
          },
        })`,
    })
    await using dev = project.start('dev')
    await dev.says(
      /ready: job\n[^]*console\s+http:[^]*log in\s+http:\S+\/console\/login\?link=link\S+\n[^]*key /,
      /✗/,
    )
    const id = await project.call('runs', 'trigger', 'job', '--payload', '{"n":1}', '--new-task')
    expect(await project.call('runs', 'watch', id)).toContain('COMPLETED, attempt 2  2')
    dev.kill('SIGINT')
    expect(await dev.ended).toMatchObject({ code: 0, err: expect.stringContaining('hook of job') as string })
  })

  it('follows a configuration: its patterns of files, its defaults and its hooks', async () => {
    const jobs = `import { task } from '@trigger.dev/sdk'
      export const show = task({
        id: 'show',
        run: async (_: unknown, { ctx, init }: any) => ({
          limit: ctx.run.maxDuration,
          machine: ctx.machine.name,
          init,
        }),
      })
      export const fails = task({
        id: 'fails',
        retry: { maxAttempts: 5, minTimeoutInMs: 1, maxTimeoutInMs: 1 },
        run: async () => { throw new Error('no') },
        catchError: async () => ({ retryDelayInMs: 1 }),
      })
      export const spins = task({ id: 'spins', maxDuration: 0.05, run: () => new Promise(() => undefined) })`
    const project = new Project({
      'package.json': '{ "type": "module" }',
      'trigger.config.ts': `export default {
        project: 'proj_1',
        runtime: 'node',
        build: {},
        logLevel: 'warn',
        telemetry: {},
        dirz: ['src'],
        dirs: ['src/**/jobs'],
        ignorePatterns: ['**/*.draft.ts', './src/shop/jobs/{old,older}'],
        retries: { enabledInDev: false, default: { maxAttempts: 3 } },
        maxDuration: 300,
        ttl: '1h',
        machine: 'large-1x',
        init: async () => ({ shop: 'tea', by: 'configuration' }),
        onStart: async ({ task }: any) => console.log('start of', task),
        onFailure: async ({ task, ctx }: any) => console.log('failure of', task, ctx.attempt.number),
      }`,
      'src/shop/jobs/all.ts': jobs,
      'src/shop/jobs/new.draft.ts': 'throw new Error("a draft")',
      'src/shop/jobs/old/a.ts': 'throw new Error("an old one")',
      'src/shop/other.ts': 'throw new Error("no task file")',
      'src/post/jobs/mail.test.ts': `import { task } from '@trigger.dev/sdk'
        export const mail = task({
          id: 'mail',
          init: async () => ({ by: 'task' }),
          run: async (_: unknown, { init }: any) => init,
        })`,
    })
    await using dev = project.start('dev', '--json')
    await dev.says(/"tasks":\["mail","fails","show","spins"\]/, FAILED)
    expect([...dev.out.matchAll(/"event":"remark","message":"([^"]*)"/g)].map(([, text]) => text)).toEqual([
      'trigger.config.ts: without effect here: logLevel, telemetry',
      'trigger.config.ts: unknown and without effect: dirz',
    ])
    const ended = async (task: string): Promise<unknown> => {
      const id = await project.call('runs', 'trigger', task, '--payload', 'null', '--new-task')
      await project.call('runs', 'watch', id).catch(() => undefined)
      return JSON.parse(await project.call('runs', 'get', id, '--json'))
    }
    const init = { shop: 'tea', by: 'configuration' }
    expect(await ended('show')).toMatchObject({ output: { limit: 300, machine: 'large-1x', init } })
    expect(await ended('mail')).toMatchObject({ output: { shop: 'tea', by: 'task' } })
    expect(await ended('fails')).toMatchObject({ status: 'FAILED', attemptCount: 1 })
    expect(await ended('spins')).toMatchObject({ status: 'TIMED_OUT' })
    dev.kill('SIGINT')
    const { err } = await dev.ended
    expect(err).toContain('start of show')
    expect(err).toContain('failure of fails 1')
  })

  it('refuses a configuration that it cannot use', async () => {
    const wrong = [
      [`retries: { defaults: {} }`, 'no option \\"defaults\\"'],
      [`retries: { default: { maxAttempt: 2 } }`, 'no option \\"maxAttempt\\"'],
      [`maxDuration: 'long'`, 'maxDuration'],
      [`ignorePatterns: '**/*.ts'`, 'ignorePatterns'],
      [`ignorePatterns: ['src/{a,b']`, 'src/{a,b'],
      [`onStart: true`, 'onStart'],
    ] as const
    const project = new Project({ 'package.json': '{ "type": "module" }', 'tasks/a.js': '' })
    project.write('trigger.config.js', 'export default 1')
    await using dev = project.start('dev', '--json')
    await dev.says(FAILED)
    for (const [index, [text, problem]] of wrong.entries()) {
      project.write('trigger.config.js', `export default { ${text} }`)
      const failed = await dev.says(new RegExp(`(?:"event":"failed"[^]*){${index + 1}}"event":"failed".*`))
      expect(failed.split('\n').at(-1)).toContain(problem)
    }
  })

  it('says what it misses', async () => {
    const project = new Project({ 'package.json': '{}', 'empty/a.js': 'exports.a = 1' })
    await using nothing = project.start('dev', '--json')
    expect(await nothing.says(/"event":"failed".*/)).toContain('Cannot find task files')
    await using empty = project.start('dev', 'empty', '--json')
    expect(await empty.says(/"event":"failed".*/)).toContain('Cannot find a task in empty')
  })
})

describe('waitpoint/register', () => {
  it('points the imports of the hosted module at this package', async () => {
    const project = new Project({
      'package.json': '{}',
      'app.mjs': `import { createEngine } from 'waitpoint'
        import { task } from '@trigger.dev/sdk'
        const greet = task({ id: 'greet', run: async () => 'hello' })
        await using_(createEngine({ tasks: [greet] }))
        async function using_(engine) {
          console.log(await (await engine.trigger(greet)).result())
          await engine.close()
        }`,
    })
    expect(await project.node('--import', 'waitpoint/register', 'app.mjs')).toMatchObject({
      code: 0,
      out: 'hello\n',
    })
    expect((await project.node('app.mjs')).err).toContain('@trigger.dev/sdk')
  })
})
