import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { build, type Format } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postgresUrl } from './databases/postgres/client.ts'
import { BuiltPackage, manifest } from './support/built-package.ts'

const run = promisify(execFile)

let built: BuiltPackage
beforeAll(async () => {
  built = await BuiltPackage.create()
})
afterAll(() => built[Symbol.dispose]())

/** An engine with a task, for each program. */
const APP = `
  import { createEngine, task, wait } from 'waitpoint'
  const ask = task({
    id: 'ask',
    run: async () => wait.forToken(await wait.createToken({ timeout: '1h', tags: ['question'] })).unwrap(),
  })
  const double = task({ id: 'double', run: async (n) => n * 2 })
  const app = (options) => createEngine({ tasks: [ask, double], secretKey: 'secret-key', ...options })
  const doubledBy = async (engine) => (await engine.trigger(double, 21)).result()
  /** Likewise; the engine is closed with it. */
  async function doubled(engine) {
    const result = await doubledBy(engine)
    await engine.close()
    return result
  }
`

interface UsedEntry {
  readonly imports?: string
  /** The body of a function. */
  readonly main: string
  readonly says: unknown
}

/** How each entry is used, and what comes of it. */
const ENTRIES: Readonly<Record<string, UsedEntry>> = {
  '.': {
    main: `
      const engine = app()
      const run = await engine.trigger(ask)
      for await (const { isWaiting } of engine.runs.subscribeToRun(run)) if (isWaiting) break
      const [{ id, url }] = (await engine.wait.listTokens({ tags: 'question' })).data
      await engine.wait.completeToken(id, 'yes')
      const answer = await run.result()
      const { name } = await engine.wait.forToken('waitpoint_none').then(undefined, (error) => error)
      const later = (await engine.runs.explain(run.id)).sentence !== ''
      await engine.close()
      return [answer, typeof url, typeof run.publicAccessToken, later, name]`,
    says: ['yes', 'string', 'string', true, 'WaitpointError'],
  },
  './http': {
    imports: `import { serve } from 'waitpoint/http'`,
    main: `
      const engine = app()
      const server = await serve(engine, { port: 0, console: true })
      const run = await engine.trigger(ask)
      for await (const { isWaiting } of engine.runs.subscribeToRun(run)) if (isWaiting) break
      const headers = { authorization: 'Bearer secret-key' }
      const statuses = [await fetch(server.url + '/api/v3/runs/' + run.id, { headers }), await fetch(server.url + '/api/v3/runs/' + run.id)]
      const [{ url }] = (await engine.wait.listTokens({ tags: 'question' })).data
      statuses.push(await fetch(url, { method: 'POST', body: '"yes"', headers: { 'content-type': 'application/json' } }))
      statuses.push(await fetch(server.url + '/console/login'))
      const answer = await run.result()
      await server.close()
      await engine.close()
      return [answer, ...statuses.map(({ status }) => status)]`,
    says: ['yes', 200, 401, 200, 200],
  },
  './console': {
    imports: `import { createConsole } from 'waitpoint/console'`,
    main: `
      const engine = app()
      const answer = createConsole(engine)
      const body = new URLSearchParams({ key: 'secret-key', next: '/' })
      const origin = 'http://localhost'
      const login = await answer(new Request(origin + '/login', { method: 'POST', body, headers: { origin } }))
      const cookie = login.headers.getSetCookie().map((one) => one.split(';')[0]).join('; ')
      const runs = await answer(new Request(origin + '/runs', { headers: { cookie } }))
      await engine.close()
      return [login.status, runs.status]`,
    says: [303, 200],
  },
  './client': {
    imports: `
      import { createClient } from 'waitpoint/client'
      import { serve } from 'waitpoint/http'`,
    main: `
      const engine = app()
      const server = await serve(engine, { port: 0 })
      const client = createClient({ baseUrl: server.url, accessToken: 'secret-key' })
      const { id } = await client.tasks.trigger('double', 4)
      let last
      for await (const run of client.runs.subscribeToRun(id)) last = run
      await server.close()
      await engine.close()
      return [last.status, last.output]`,
    says: ['COMPLETED', 8],
  },
  './storage': {
    imports: `import { isFinal, StorageUnavailableError } from 'waitpoint/storage'`,
    main: `return [isFinal('COMPLETED'), new StorageUnavailableError('away', { mayBeDone: false }).mayBeDone]`,
    says: [true, false],
  },
  './sqlite': {
    imports: `
      import { mkdtempSync } from 'node:fs'
      import { sqliteStorage } from 'waitpoint/sqlite'`,
    main: `return doubled(app({ storage: sqliteStorage(mkdtempSync('bundle-') + '/a.db') }))`,
    says: 42,
  },
  './postgres': {
    imports: `import { postgresStorage } from 'waitpoint/postgres'`,
    main: `
      const { WAITPOINT_POSTGRES_URL: connectionString, SCHEMA: schema } = process.env
      return doubled(app({ storage: postgresStorage({ connectionString, schema }) }))`,
    says: 42,
  },
  './sdk': {
    imports: `import { auth, idempotencyKeys, task as sdkTask } from 'waitpoint/sdk'`,
    main: `
      const engine = app({ tasks: [sdkTask({ id: 'a', run: async (n) => n + 1 })] })
      engine.makeDefault()
      const token = await auth.createPublicToken({ scopes: { read: { tasks: ['a'] } } })
      const result = await (await engine.tasks.trigger('a', 1)).result()
      const key = await idempotencyKeys.create('key')
      await engine.close()
      return [result, token.split('.').length, key.length]`,
    says: [2, 3, 64],
  },
  './otel': {
    imports: `import { createTelemetry } from 'waitpoint/otel'`,
    main: `
      const telemetry = createTelemetry()
      const result = await doubled(app())
      telemetry.close()
      return result`,
    says: 42,
  },
  './ai': {
    imports: `import { chatTask, createChatHandler } from 'waitpoint/ai'`,
    main: `
      const chat = chatTask({
        id: 'chat',
        run: async function* () {
          yield { type: 'text-start', id: 't' }
          yield { type: 'text-delta', id: 't', delta: 'hello' }
        },
      })
      const engine = app({ tasks: [chat] })
      const handler = createChatHandler(engine, chat, { authorize: () => 'ann' })
      const messages = [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'hi' }] }]
      const headers = { 'content-type': 'application/json' }
      const body = JSON.stringify({ id: 'c1', messages })
      const text = await (await handler(new Request('http://localhost/chat', { method: 'POST', headers, body }))).text()
      await engine.close()
      return [text.includes('hello'), text.endsWith('[DONE]\\n\\n')]`,
    says: [true, true],
  },
  // A page renders it: here it is loaded, beside the React of the application.
  './react': {
    imports: `import { createElement } from 'react'
      import { useRun, WaitpointProvider } from 'waitpoint/react'`,
    main: `
      const page = createElement(WaitpointProvider, { baseUrl: 'http://localhost' }, 'the page')
      return [page.type === WaitpointProvider, page.props.children, typeof useRun]`,
    says: [true, 'the page', 'function'],
  },
  './register': {
    imports: `import { registeredNames } from 'waitpoint/register'`,
    main: `
      const { task: hosted } = await import('@trigger.dev/sdk')
      return [Object.keys(registeredNames).length, hosted({ id: 'a', run: async () => 1 }).id]`,
    says: [2, 'a'],
  },
  './testing': {
    imports: `import { createTestEngine, explore } from 'waitpoint/testing'`,
    main: `
      const t = await createTestEngine({ tasks: [ask] })
      const run = await t.engine.trigger(ask)
      const end = await run.result().catch(({ cause }) => cause.name)
      await t.close()
      const { complete } = await explore(async ({ engine }) => doubledBy(engine), { tasks: [double] })
      return [end, complete]`,
    says: ['WaitpointTimeoutError', true],
  },
  './vitest-plugin': {
    imports: `
      import { existsSync } from 'node:fs'
      import { waitpoint } from 'waitpoint/vitest-plugin'`,
    main: `return waitpoint().config().resolve.alias.map(({ replacement }) => existsSync(replacement))`,
    says: [true, true],
  },
  './fast-check': {
    imports: `
      import { sample } from 'fast-check'
      import { delaysAround } from 'waitpoint/fast-check'`,
    main: `return sample(delaysAround(3_600_000), 3).length`,
    says: 3,
  },
}

/** It is for tests that vitest executes, and vitest refuses to be loaded by CommonJS. */
const TESTS = `
  import { expect } from 'vitest'
  import { taskTest } from 'waitpoint/vitest'
  taskTest('times out', { tasks: [ask] }, async ({ t }) => {
    await expect(await t.engine.trigger(ask)).toTimeOutIn('1h')
  })
`

/** Builds a program and the package into one file. Answers its path, and what esbuild warns of. */
async function bundle(
  name: string,
  contents: string,
  format: Format,
): Promise<readonly [string, readonly string[]]> {
  const outfile = join(built.folder, `${name}.${format === 'cjs' ? 'cjs' : 'mjs'}`)
  const { warnings } = await build({
    stdin: { contents, resolveDir: resolve('.'), sourcefile: 'program.mjs' },
    outfile,
    bundle: true,
    minify: true,
    format,
    platform: 'node',
    target: 'node20',
    alias: built.entries,
    external: [...Object.keys(manifest.peerDependencies), '@trigger.dev/sdk'],
    logLevel: 'silent',
  })
  return [outfile, warnings.map(({ text }) => text)]
}

describe('one file of an application and the package', () => {
  const cases = Object.keys(ENTRIES).flatMap((name) =>
    (['esm', 'cjs'] as const).map((format) => [name, format] as const),
  )

  it('is tried with every entry', () => {
    const names = Object.keys(manifest.exports).filter((name) => name !== './package.json')
    expect([...Object.keys(ENTRIES), './vitest'].sort()).toEqual(names.sort())
  })

  it.each(cases)('uses %s as %s, minified, and is built without a warning', async (name, format) => {
    const { imports = '', main, says } = ENTRIES[name] as UsedEntry
    const program = `${imports}${APP}
      async function main() { ${main} }
      main().then((says) => console.log(JSON.stringify(says)))`
    const [file, warnings] = await bundle(`${name.slice(2)}-program`, program, format)
    expect(warnings).toEqual([])
    // From elsewhere: what is installed is found from the place of the bundle.
    const env = { WAITPOINT_POSTGRES_URL: postgresUrl(), SCHEMA: `bundle_${format}` }
    expect(JSON.parse(await built.run(file, env))).toEqual(says)
  })

  it('is a file of tests for vitest', async () => {
    const [file, warnings] = await bundle('vitest.test', APP + TESTS, 'esm')
    expect(warnings).toEqual([])
    writeFileSync(join(built.folder, 'vitest.config.mjs'), 'export default {}')
    const vitest = resolve('node_modules/vitest/vitest.mjs')
    const { stdout } = await run(process.execPath, [vitest, 'run', '--root', built.folder, file])
    expect(stdout).toContain('1 passed')
  })
})

describe('the package', () => {
  it('names the modules of Node by their whole names', () => {
    const dist = join(built.folder, 'waitpoint/dist')
    const names = readdirSync(dist)
      .filter((file) => file.endsWith('.js'))
      .flatMap((file) => [
        ...readFileSync(join(dist, file), 'utf8').matchAll(/^(?:import|\}|export).* from "([^"]+)";$/gm),
      ])
      .map(([, name]) => name as string)
    expect(names).toContain('node:async_hooks')
    expect(names.filter((name) => builtinModules.includes(name))).toEqual([])
  })
})
