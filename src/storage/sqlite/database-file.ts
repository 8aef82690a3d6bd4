import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { StorageUnavailableError } from '../../contract/storage-unavailable.ts'

/** The file that a database was opened from, told by its device and inode. */
export class DatabaseFile {
  readonly #path: string
  readonly #device: number
  readonly #inode: number

  /** The file at `path`, right after it was opened; none for a database in memory. */
  static at(path: string): DatabaseFile | undefined {
    const absolute = resolve(path)
    const found = statSync(absolute, { throwIfNoEntry: false })
    return found?.isFile() === true ? new DatabaseFile(absolute, found) : undefined
  }

  private constructor(path: string, { dev, ino }: { readonly dev: number; readonly ino: number }) {
    this.#path = path
    this.#device = dev
    this.#inode = ino
  }

  /**
   * Whatever is written after the file was moved, deleted or replaced is lost: no other process finds it, nor does the next
   * start.
   *
   * @throws StorageUnavailableError that says what happened to the file.
   */
  assertInPlace(): void {
    const found = statSync(this.#path, { throwIfNoEntry: false })
    if (found?.ino === this.#inode && found.dev === this.#device) return
    const what =
      found === undefined
        ? 'the file was moved or deleted while it was open; put it back, or close the engine and start anew'
        : 'the file was replaced by another one while it was open; close the engine and start anew'
    throw new StorageUnavailableError(`Cannot use SQLite database "${this.#path}": ${what}`, {
      mayBeDone: false,
    })
  }
}
