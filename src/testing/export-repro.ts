import { systemClock } from '../clock/system.ts'
import type { Storage } from '../contract/storage.ts'
import {
  type OptionNames,
  requireFunction,
  requireMethods,
  requireName,
  requireOptions,
} from '../primitives/require.ts'
import { readHistory } from './history/reading.ts'
import { type Redact, Redaction } from './history/redaction.ts'
import { reproFile } from './history/repro-file.ts'

/** Options of `exportRepro`; all have defaults. */
export interface ExportReproOptions {
  /**
   * The module that exports the tasks, as the test file imports it.
   *
   * @default `'./tasks.ts'`
   */
  readonly tasks?: string
  /**
   * The module whose default export is the codec of the engine that executed the run, as the test file imports it.
   *
   * @default none
   */
  readonly codec?: string
  /**
   * Answers what is written instead of a value: of a payload, an answer, an output, the message of an error, a tag, a name.
   *
   * @default values are written as they are
   */
  readonly redact?: Redact
}

const OPTION_NAMES: OptionNames<ExportReproOptions> = { tasks: true, codec: true, redact: true }
const READER = 'exportRepro'

/**
 * The text of a vitest file that replays a run on the present code, in virtual time: any run that the storage still has and
 * whose function was called. The storage is only read. See docs/replaying-a-run.md.
 *
 * @throws TypeError for arguments that cannot be used; WaitpointError `ERR_RUN_NOT_FOUND`; TestError `ERR_NO_HISTORY` for a run
 * whose function was never called; the error of the storage.
 *
 * @example
 * ```ts
 * console.log(await exportRepro(sqliteStorage('app.db'), run.id, { tasks: '../src/tasks.ts' }))
 * ```
 */
export async function exportRepro(
  storage: Storage,
  runId: string,
  options: ExportReproOptions = {},
): Promise<string> {
  requireMethods(storage, 'storage', ['open'])
  requireName(runId, 'runId')
  requireOptions(options, 'the options of exportRepro', OPTION_NAMES)
  const { tasks = './tasks.ts', codec, redact } = options
  requireName(tasks, 'tasks')
  if (codec !== undefined) requireName(codec, 'codec')
  requireFunction(redact, 'redact')
  const now = systemClock().now()
  await storage.open()
  try {
    const history = await readHistory(storage, runId, { now, redaction: new Redaction(redact) })
    return reproFile(history, { tasks, codec })
  } finally {
    await storage.leave({ owner: READER, now })
  }
}
