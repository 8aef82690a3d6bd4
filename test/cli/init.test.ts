import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  appendFileSync,
  writeFileSync,
} from 'node:fs'
import { isBuiltin } from 'node:module'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { installFolder } from '../support/installed-folder.ts'
import { callProgram, InstalledPackage } from './program.ts'

let installed: InstalledPackage
beforeAll(async () => {
  installFolder(new URL('.', import.meta.url))
  installed = await InstalledPackage.create()
  symlinkSync(resolve('test/cli/node_modules/tsx'), join(installed.folder, 'node_modules/tsx'))
})
afterAll(() => installed[Symbol.dispose]())

/** Which port, how to take another one, and no stack. */
const TAKEN = /^Cannot listen on "127\.0\.0\.1:\d+": .*\nAnother port: PORT=\d+ npm start\n$/m

const FILES = [
  '.env',
  '.gitignore',
  'README.md',
  'package.json',
  'server.ts',
  'tasks/publish.test.ts',
  'tasks/publish.ts',
  'tsconfig.json',
]

interface AppPackage {
  readonly scripts: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}

const readPackage = (path: string): AppPackage => JSON.parse(readFileSync(path, 'utf8')) as AppPackage

const filesOf = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => statSync(join(folder, path)).isFile())
    .sort()

describe('waitpoint init', () => {
  it('writes an app whose scripts start it, go on with it after a kill, and test it', async () => {
    const folder = join(installed.project(), 'new/app')
    const { code, out } = await installed.start(['init', folder]).ended
    expect(out).toContain(`cd ${folder}\n  npm install\n  npm start\n`)
    expect(code).toBe(0)
    expect(filesOf(folder)).toEqual(FILES)
    expect(statSync(join(folder, '.env')).mode & 0o77).toBe(0)

    const { scripts } = readPackage(join(folder, 'package.json'))
    const start = (scripts['start'] ?? '').split(' ')
    expect(start.shift()).toBe('node')
    appendFileSync(join(folder, '.env'), 'PORT=0\n')
    await using app = installed.node(start, folder)
    const [, page = ''] = /Answer at (\S+)/.exec(await app.says(/Answer at \S+\n[^]*WAITING/)) ?? []
    expect(await (await fetch(page)).text()).toContain('Publish chapter 1?')
    const [, site = ''] = /The console is at (\S+),/.exec(app.out) ?? []
    expect(await (await fetch(`${site}/runs`)).text()).toContain('type="password"')
    app.kill('SIGKILL')
    await app.ended

    await using again = installed.node(start, folder)
    await again.says(/run_\w+ was here before/)
    const [, kept = ''] = /Publish chapter 1\? Answer at (\S+)\n/.exec(again.out) ?? []
    expect(new URL(kept).pathname).toMatch(/^\/console\/tokens\/waitpoint_\w+$/)
    expect((await fetch(kept)).url).toContain(encodeURIComponent(new URL(kept).pathname))

    const { port } = new URL(kept)
    const settings = readFileSync(join(folder, '.env'), 'utf8')
    writeFileSync(join(folder, '.env'), settings.replace('PORT=0', `PORT=${port}`))
    const taken = await installed.node(start, folder).ended
    expect(taken).toMatchObject({ code: 1, err: expect.stringMatching(TAKEN) as string })
    const list = await installed.start(['tokens', 'list', '--db', 'app.db', '--json'], folder).ended
    const { data } = JSON.parse(list.out) as { readonly data: readonly [{ readonly id: string }] }
    const answer = ['tokens', 'complete', data[0].id, '--output', '"publish"', '--db', 'app.db']
    expect(await installed.start(answer, folder).ended).toMatchObject({ code: 0 })
    await again.says(/COMPLETED chapter 1 is published/)
    again.kill('SIGINT')
    expect(await again.ended).toMatchObject({ code: 0 })

    rmSync(join(folder, '.env'))
    const keyless = await installed.node(start, folder).ended
    expect(keyless).toMatchObject({
      code: 1,
      err: expect.stringContaining('There is no SECRET_KEY') as string,
    })
    // What it says to do, done.
    const [, expression = ''] = /node -p "(.*)" >> \.env\n/.exec(keyless.err) ?? []
    const line = await installed.node(['-p', expression], folder).ended
    expect(line).toMatchObject({ code: 0, out: expect.stringMatching(/^SECRET_KEY=\w{64}\n$/) as string })
    writeFileSync(join(folder, '.env'), `${line.out}PORT=0\n`)
    await using keyed = installed.node(start, folder)
    await keyed.says(/The console is at/)

    // Without a configuration the runner looks for one in the folders above.
    writeFileSync(join(folder, 'vitest.config.mjs'), 'export default {}')
    const [runner, ...args] = (scripts['test'] ?? '').split(' ')
    expect(runner).toBe('vitest')
    const tested = await installed.node([resolve('node_modules/vitest/vitest.mjs'), ...args], folder).ended
    expect(tested).toMatchObject({ code: 0, out: expect.stringMatching(/Tests .*2 passed/) as string })
  })

  it('has an app on versions that are tested here', () => {
    const { dependencies, devDependencies } = readPackage('template/_package.json')
    const tested = {
      ...readPackage('package.json').devDependencies,
      ...readPackage('test/cli/package.json').dependencies,
      ...readPackage('test/databases/package.json').dependencies,
    }
    for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies }))
      if (name !== 'waitpoint') expect([name, version]).toEqual([name, `^${tested[name] ?? ''}`])
  })

  it('depends on its own version, and on a driver of SQLite where Node has none', async () => {
    const folder = installed.project()
    // A folder that git knows already is as good as an empty one.
    mkdirSync(join(folder, '.git'))
    const { out } = await installed.start(['init', '--json'], folder).ended
    expect(JSON.parse(out)).toEqual({ folder, files: expect.arrayContaining(FILES) as string[] })
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string }
    const { dependencies } = readPackage(join(folder, 'package.json'))
    expect(dependencies).toMatchObject({ waitpoint: `^${version}` })
    expect('libsql' in dependencies).toBe(!isBuiltin('node:sqlite'))
  })

  it.each([
    [
      'a folder that is not empty',
      ['full'],
      /^waitpoint init: "\S+\/full" is not empty, it has "a.txt": name an/,
    ],
    ['a file', ['full/a.txt'], /^waitpoint init: "\S+\/full\/a.txt" is a file: name an empty folder/],
    ['an unknown option', ['new', '--force'], /^waitpoint init: there is no option --force/],
    ['two folders', ['new', 'newer'], /^waitpoint init: there is nothing that "\S+" could be/],
  ])('refuses %s before it writes anything', async (_name, words, message) => {
    const folder = installed.project()
    mkdirSync(join(folder, 'full'))
    writeFileSync(join(folder, 'full/a.txt'), '')
    const args = words.map((word) => (word.startsWith('-') ? word : join(folder, word)))
    const { code, err } = await callProgram(['init', ...args])
    expect(err).toMatch(message)
    expect(code).toBe(2)
    expect(readdirSync(folder, { recursive: true })).toEqual(['full', 'full/a.txt'])
  })
})
