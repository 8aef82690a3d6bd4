import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  mkdtempSync,
  openSync,
  readSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** So often is a file that changes meanwhile copied again. */
const MOST_TRIES = 20
/** The head of a log has another salt each time the log begins anew. */
const LOG_HEAD = 32

/** A SQLite file to look into: one that this process may not write, as a copy of its own, because SQLite writes also to read. */
export interface SeenFile extends Disposable {
  readonly path: string
  readonly isCopy: boolean
}

/** @throws Error when the file cannot be copied. */
export function seeFile(path: string): SeenFile {
  if (mayWrite(realpathSync(path))) return { path, isCopy: false, [Symbol.dispose]: () => undefined }
  const folder = mkdtempSync(join(tmpdir(), 'waitpoint-'))
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  const copy = join(folder, 'copy.db')
  try {
    copyFile(path, copy)
  } catch (error) {
    remove()
    throw error
  }
  return { path: copy, isCopy: true, [Symbol.dispose]: remove }
}

/** A copy of a file and its log as of one instant, while others write them. */
function copyFile(path: string, copy: string): void {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const before = stateOf(path)
    for (const end of ['', '-wal']) {
      rmSync(copy + end, { force: true })
      if (end !== '' && !existsSync(path + end)) continue
      copyFileSync(path + end, copy + end)
      chmodSync(copy + end, 0o600)
    }
    if (stateOf(path) === before) return
  }
  throw new Error('it may not be written, and changes too fast to be copied')
}

/** What is appended to the log changes nothing: SQLite reads it up to the last whole transaction. */
function stateOf(path: string): string {
  const { mtimeNs, size } = statSync(path, { bigint: true })
  const log = `${path}-wal`
  const head = existsSync(log) ? headOf(log) : ''
  return `${mtimeNs} ${size} ${head}`
}

function headOf(log: string): string {
  const file = openSync(log, 'r')
  try {
    const head = Buffer.alloc(LOG_HEAD)
    readSync(file, head, 0, LOG_HEAD, 0)
    return head.toString('hex')
  } finally {
    closeSync(file)
  }
}

/** SQLite keeps its log and the index of it beside the file, and makes both when it opens the file. */
function mayWrite(path: string): boolean {
  const files = [path, `${path}-wal`, `${path}-shm`]
  return files.every((file) => isWritable(existsSync(file) ? file : dirname(file)))
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}
