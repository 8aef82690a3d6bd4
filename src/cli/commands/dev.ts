import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { CliCommand } from '../command.ts'
import { type DevEvent, DevSession } from '../dev/session.ts'
import type { TypeProblem } from '../dev/type-check.ts'
import { devWorker } from '../dev/worker.ts'
import { EXIT, UsageError } from '../exit.ts'
import { quote } from '../given.ts'
import { aborted } from '../output/aborted.ts'
import type { Terminal } from '../output/terminal.ts'
import { shownJson, oneLine, visible } from '../output/text.ts'
import { instantText } from '../output/time.ts'
import { DEV_DATABASE } from '../reach/place.ts'
import { randomKey } from '../secret-key.ts'

/** `waitpoint dev`. */
export const dev: CliCommand = {
  name: 'dev',
  summary: 'execute task files, watch them, and show their runs in the console',
  words: [
    {
      name: 'path',
      isOptional: true,
      says: 'a file or folder of tasks (default: dirs of trigger.config.ts, or trigger, src/trigger, tasks, src/tasks)',
    },
  ],
  options: {
    db: { value: '<file>', says: `the SQLite file for runs (default: ${DEV_DATABASE})` },
    port: { value: '<port>', says: 'the port of the console and the HTTP API (default: any that is free)' },
  },
  about:
    'TypeScript is read by tsx if it is installed, or by Node itself from 22.6 on. A change of a file starts anew with the new code; runs that wait are kept. With --json each line is one event.',
  async run(given, terminal) {
    const word = given.word('path')
    const path = word === '' ? undefined : word
    if (path !== undefined && !existsSync(path))
      throw new UsageError(`${quote(path)}: there is no such file or folder`)
    const database = given.option('db') ?? DEV_DATABASE
    const port = given.whole('port', { from: 0, to: 65_535 }) ?? 0
    const secretKey = keptKey(`${database}.key`, terminal)
    let tasks: readonly string[] = []
    const press = (key: string): void => {
      const task = tasks[Number(key) - 1]
      if (task !== undefined) session.trigger(task)
    }
    const hasKeys = !given.has('json') && terminal.hearKeys(press)
    const show = given.has('json')
      ? jsonLines(terminal, secretKey)
      : lines(terminal, { secretKey, database, hasKeys })
    const session = new DevSession(terminal.clock, { path, database, port, secretKey }, (event) => {
      if (event.kind === 'ready') tasks = event.tasks
      show(event)
    })
    session.start()
    await aborted(terminal.signal)
    await session.close()
    return EXIT.ok
  },
}

/** The process that `dev` starts to execute runs. */
export const devProcess: CliCommand = {
  name: 'dev-worker',
  summary: 'the process in which dev executes runs',
  isHidden: true,
  options: {},
  async run(_, { env }) {
    if (env['WAITPOINT_DEV_WORKER'] !== '1') throw new UsageError('it is started by waitpoint dev')
    return devWorker()
  },
}

/** The key stays the same over restarts, so that a login and the settings of an app do. */
function keptKey(file: string, { env }: Terminal): string {
  if (env['WAITPOINT_SECRET_KEY'] === undefined && existsSync(file)) {
    const kept = readFileSync(file, 'utf8').trim()
    if (kept !== '') return kept
  }
  const key = randomKey(env)
  if (env['WAITPOINT_SECRET_KEY'] !== undefined) return key
  mkdirSync(dirname(file), { recursive: true })
  keepOutOfGit(dirname(file))
  writeFileSync(file, `${key}\n`)
  chmodSync(file, 0o600)
  return key
}

/** Only for the folder that the command itself makes. */
function keepOutOfGit(folder: string): void {
  const file = join(folder, '.gitignore')
  if (folder === dirname(DEV_DATABASE) && !existsSync(file)) writeFileSync(file, '*\n')
}

function jsonLines(terminal: Terminal, key: string): (event: DevEvent) => void {
  return (event) => {
    const { kind, ...rest } = event
    terminal.print(shownJson({ event: kind, ...rest, ...(kind === 'ready' ? { key } : {}) }))
  }
}

interface ShownFacts {
  readonly secretKey: string
  readonly database: string
  /** A key that is pressed starts a run. */
  readonly hasKeys: boolean
}

/** So many keys are digits. */
const MOST_KEYS = 9
/** More type errors than these are counted. */
const MOST_PROBLEMS = 10

function lines(terminal: Terminal, facts: ShownFacts): (event: DevEvent) => void {
  let isFirst = true
  const say = (text: string): void =>
    terminal.print(`${instantText(terminal.clock.now()).slice(11, 19)}  ${text}`)
  return (event) => {
    switch (event.kind) {
      case 'ready':
        say(`ready: ${event.tasks.map((id, at) => nameOf(id, at, facts)).join(', ')}`)
        if (isFirst) terminal.print(addresses(event, facts))
        isFirst = false
        return
      case 'run':
        return say(
          `${event.id}  ${oneLine(event.task)}  ${event.status}${event.error === undefined ? '' : `: ${oneLine(event.error)}`}`,
        )
      case 'triggered':
        return say(
          `${event.id}  ${oneLine(event.task)}  was started with the payload ${event.as === undefined ? '{}' : `of ${event.as}`}`,
        )
      case 'changed':
        return say(`${oneLine(event.path)} has changed`)
      case 'types':
        return sayTypes(event.problems, say)
      case 'remark':
      case 'error':
        return say(`! ${oneLine(event.message)}`)
      case 'failed':
        return say(`✗ ${visible(event.message)}\n          Waiting for a change; Ctrl-C ends.`)
    }
  }
}

/** A task, with the key that starts a run of it. */
function nameOf(id: string, at: number, { hasKeys }: ShownFacts): string {
  return hasKeys && at < MOST_KEYS ? `[${at + 1}] ${oneLine(id)}` : oneLine(id)
}

/** Where to look, and how to start a run. */
function addresses(
  { url, link, tasks: [task = ''] }: Extract<DevEvent, { readonly kind: 'ready' }>,
  { secretKey, database, hasKeys }: ShownFacts,
): string {
  const place = database === DEV_DATABASE ? '' : ` --db ${shellWord(database)}`
  const rows = [
    ['console', `${url}/console`],
    ['log in', link],
    ['API', url],
    ['key', secretKey],
    ['a run', `${url}/console/tasks`],
    ['', `or npx waitpoint runs trigger ${shellWord(task)}${place} --payload '{}'`],
    ...(hasKeys
      ? [['', 'or press the number of its task: it has the payload of the newest one, else {}']]
      : []),
  ]
  return `\n${rows.map(([name = '', value = '']) => `  ${name.padEnd(7)}  ${value}`).join('\n')}\n`
}

/** A text of any origin as one word of a shell. */
function shellWord(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${oneLine(text).replaceAll("'", `'\\''`)}'`
}

function sayTypes(problems: readonly TypeProblem[], say: (text: string) => void): void {
  if (problems.length === 0) return say('no type errors any more')
  for (const { path, line, message } of problems.slice(0, MOST_PROBLEMS))
    say(`! ${oneLine(path)}:${line}: ${oneLine(message)}`)
  const more = problems.length - MOST_PROBLEMS
  if (more > 0) say(`! and ${more} more type errors`)
}
