import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import type { CliCommand } from '../command.ts'
import { EXIT, UsageError } from '../exit.ts'
import { quote } from '../given.ts'
import { ownVersion, templateFolder } from '../loading/names.ts'
import { oneLine } from '../output/text.ts'
import { randomKey } from '../secret-key.ts'

/** A folder that is to hold a new app may have it already. */
const OF_GIT = '.git'

/** `waitpoint init`. */
export const init: CliCommand = {
  name: 'init',
  summary: 'write a small app into an empty folder',
  words: [{ name: 'folder', isOptional: true, says: 'an empty folder, or a new one (default: this one)' }],
  options: {},
  about:
    'A task that asks a person, its test, and a server with the console on SQLite: npm install, npm start and npm test run it.',
  async run(given, terminal) {
    const word = given.word('folder') || '.'
    const folder = resolve(word)
    requireEmpty(folder, word)
    const files = appFiles()
    for (const [path, text] of files) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), text, { flag: 'wx', mode: path === '.env' ? 0o600 : 0o666 })
    }
    if (given.has('json')) terminal.printJson({ folder, files: [...files.keys()] })
    else {
      const steps = [...(word === '.' ? [] : [`cd ${oneLine(word)}`]), 'npm install', 'npm start']
      terminal.print(`Wrote ${[...files.keys()].join(', ')}\n\n  ${steps.join('\n  ')}`)
    }
    return EXIT.ok
  },
}

function requireEmpty(folder: string, word: string): void {
  if (!existsSync(folder)) return
  if (!statSync(folder).isDirectory()) throw new UsageError(`${quote(word)} is a file: name an empty folder`)
  const [found] = readdirSync(folder).filter((name) => name !== OF_GIT)
  if (found !== undefined)
    throw new UsageError(`${quote(word)} is not empty, it has ${quote(found)}: name an empty folder`)
}

/**
 * The files of an app by their paths. A name in the template begins with `_` where npm or an editor would take the file for one
 * of this package.
 */
function appFiles(): ReadonlyMap<string, string> {
  const template = templateFolder()
  const paths = readdirSync(template, { recursive: true, encoding: 'utf8' }).sort()
  const files = paths.filter((path) => statSync(join(template, path)).isFile())
  const app = new Map(
    files.map((path) => [path.replace(/^_/, ''), readFileSync(join(template, path), 'utf8')]),
  )
  app.set('package.json', packageJson(app.get('package.json') ?? ''))
  return app.set('.env', `SECRET_KEY=${randomKey({})}\n`)
}

/** Depends on this version, and on a driver of SQLite where Node has none. */
function packageJson(text: string): string {
  // It is the file of the template.
  const about = JSON.parse(text) as { readonly dependencies: Record<string, string> }
  about.dependencies['waitpoint'] = `^${ownVersion()}`
  if (isBuiltin('node:sqlite')) delete about.dependencies['libsql']
  return `${JSON.stringify(about, undefined, 2)}\n`
}
