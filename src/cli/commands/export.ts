import { existsSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { inside } from '../../core/inside.ts'
import { readHistory } from '../../testing/history/reading.ts'
import { type Redact, Redaction } from '../../testing/history/redaction.ts'
import { reproFile } from '../../testing/history/repro-file.ts'
import type { CliCommand } from '../command.ts'
import { EXIT, UsageError } from '../exit.ts'
import { type Given, quote } from '../given.ts'
import { exportsOf } from '../loading/task-files.ts'
import { readStorage, STORAGE_OPTIONS } from '../reach/place.ts'
import { lookInto } from '../reach/reach.ts'
import { requireId, RUN_WORD } from '../words.ts'

const DEFAULT_TASKS = './tasks.ts'

/** `waitpoint export`. */
export const exportRun: CliCommand = {
  name: 'export',
  summary: 'write a test that replays a run in virtual time',
  words: [RUN_WORD],
  options: {
    ...STORAGE_OPTIONS,
    out: { value: '<file>', says: 'where the test is written (default: the standard output)' },
    tasks: {
      value: '<module>',
      says: `the module of the tasks, as the test imports it (default: ${DEFAULT_TASKS}, if it is beside the test)`,
    },
    codec: {
      value: '<module>',
      says: 'the module whose default export is the codec of the engine, as the test imports it (default: none)',
    },
    redact: {
      value: '<file>',
      says: 'a module whose default export replaces each value: (value, place) => value',
    },
  },
  about:
    'The storage is only read. The test has the values of the run in it: --redact replaces those that are secret.',
  async run(given, terminal) {
    const id = requireId(given.word('run'), 'run')
    const place = readStorage(given)
    const out = given.option('out')
    if (out !== undefined && existsSync(out))
      throw new UsageError(`--out ${quote(out)}: there is such a file`)
    const tasks = readTasks(given, out)
    const redaction = new Redaction(await readRedact(given.option('redact')))
    await using engine = await lookInto(place, terminal)
    const { storage } = inside(engine).host
    const history = await readHistory(storage, id, { now: terminal.clock.now(), redaction })
    const text = reproFile(history, { tasks, codec: given.option('codec') })
    if (out !== undefined) writeFileSync(out, text, { flag: 'wx' })
    if (given.has('json')) terminal.printJson(out === undefined ? { id, text } : { id, out })
    else if (out === undefined) terminal.print(text.trimEnd())
    else terminal.print(`Run ${id} is replayed by ${out}.`)
    return EXIT.ok
  },
}

/** The module of the tasks as the test imports it. Beside a test that is written to a file the default has to be there. */
function readTasks(given: Given, out: string | undefined): string {
  const tasks = given.option('tasks')
  if (tasks !== undefined) return tasks
  if (out === undefined || existsSync(join(dirname(out), DEFAULT_TASKS))) return DEFAULT_TASKS
  throw new UsageError(
    `name the module of the tasks, as the test imports it: --tasks <module>; there is no ${DEFAULT_TASKS} beside ${quote(out)}`,
  )
}

async function readRedact(file: string | undefined): Promise<Redact | undefined> {
  if (file === undefined) return undefined
  if (!existsSync(file)) throw new UsageError(`--redact ${quote(file)}: there is no such file`)
  const { default: redact } = await exportsOf(resolve(file))
  if (typeof redact !== 'function')
    throw new UsageError(`--redact ${quote(file)}: its default export must be a function`)
  // What it answers is only written down as JSON.
  return redact as Redact
}
