import { type FSWatcher, statSync, watch } from 'node:fs'
import { dirname } from 'node:path'
import type { Clock } from '../../contract/clock.ts'
import { foldersAt, type IgnoredFiles, taskFilesAt, TESTS } from '../loading/task-files.ts'

/** Editors write a file in several steps. */
const SETTLING_MS = 100

/** The files that a process has loaded, and the folders in which it looks for more. */
export class WatchedFiles {
  readonly #clock: Clock
  readonly #changed: (path: string) => void
  readonly #files = new Set<string>()
  readonly #folders = new Set<string>()
  readonly #watchers = new Map<string, FSWatcher>()
  #ignored = TESTS
  #seen = new Map<string, string>()
  #cancelLook: (() => void) | undefined

  /** @param changed Is told the first path that is not as it was, once the files have come to rest. */
  constructor(clock: Clock, changed: (path: string) => void) {
    this.#clock = clock
    this.#changed = changed
  }

  addFiles(paths: readonly string[]): void {
    for (const path of paths) {
      this.#files.add(path)
      if (!this.#seen.has(path)) this.#seen.set(path, stateOf(path))
      this.#watch(dirname(path))
    }
  }

  addFolders(paths: readonly string[], ignored: IgnoredFiles): void {
    this.#ignored = ignored
    for (const path of paths) {
      this.#folders.add(path)
      this.#watch(path)
    }
    for (const [path, state] of this.#state()) if (!this.#seen.has(path)) this.#seen.set(path, state)
  }

  has(path: string): boolean {
    return this.#files.has(path)
  }

  close(): void {
    this.#cancelLook?.()
    for (const watcher of this.#watchers.values()) watcher.close()
    this.#watchers.clear()
  }

  #watch(folder: string): void {
    if (this.#watchers.has(folder)) return
    try {
      const watcher = watch(folder, () => this.#lookSoon())
      watcher.on('error', () => {
        watcher.close()
        this.#watchers.delete(folder)
        this.#lookSoon()
      })
      this.#watchers.set(folder, watcher)
    } catch {
      // A folder that is gone is found by the change of its files.
    }
  }

  #lookSoon(): void {
    this.#cancelLook?.()
    this.#cancelLook = this.#clock.setTimer(this.#clock.now() + SETTLING_MS, () => this.#look())
  }

  #look(): void {
    const before = this.#seen
    this.#seen = this.#state()
    for (const folder of this.#folders) for (const below of foldersAt(folder)) this.#watch(below)
    const paths = [...new Set([...before.keys(), ...this.#seen.keys()])]
    const changed = paths.find((path) => before.get(path) !== this.#seen.get(path))
    if (changed !== undefined) this.#changed(changed)
  }

  #state(): Map<string, string> {
    const found = [...this.#folders].flatMap((folder) =>
      stateOf(folder) === '' ? [] : taskFilesAt(folder, this.#ignored),
    )
    return new Map([...this.#files, ...found].map((path) => [path, stateOf(path)]))
  }
}

/** Changes with the content of a file; empty for one that is not there. */
function stateOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false })
  return found === undefined ? '' : `${found.mtimeMs} ${found.size} ${found.ino}`
}
