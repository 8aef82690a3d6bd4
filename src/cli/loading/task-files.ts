import { existsSync, readdirSync, statSync } from 'node:fs'
import { join, relative, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { AnyTask } from '../../api/run.ts'
import { isTask } from '../../api/task-definition.ts'
import { messageOf } from '../../primitives/message.ts'
import { patternOf } from './glob.ts'

/** Files with code. Declarations hold no tasks. */
const CODE = /\.[cm]?[jt]sx?$/
const DECLARATION = /\.d\.[cm]?ts$/
const TYPESCRIPT = /\.[cm]?tsx?$/

/** Where task files are looked for when none are named. */
export const USUAL_FOLDERS: readonly string[] = ['trigger', 'src/trigger', 'tasks', 'src/tasks']

/** Files that are passed over in folders: by patterns of their paths from `root` on. */
export interface IgnoredFiles {
  readonly root: string
  readonly patterns: readonly string[]
}

/** Without a configuration that says otherwise, tests. */
export const TESTS: IgnoredFiles = {
  root: '.',
  patterns: ['**/*.{test,spec}.{ts,tsx,mts,cts,js,jsx,mjs,cjs}'],
}

/** The files at a path: itself, or the code below a folder, in the order of their names. */
export function taskFilesAt(path: string, { root, patterns }: IgnoredFiles): readonly string[] {
  if (!statSync(path).isDirectory()) return [resolve(path)]
  const ignored = patterns.map(patternOf)
  return codeBelow(path).filter((file) => {
    const fromRoot = relative(root, file).split(sep).join('/')
    return !ignored.some((pattern) => pattern.test(fromRoot))
  })
}

function codeBelow(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => !name.startsWith('.') && name !== 'node_modules')
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .flatMap((entry) => {
      const below = join(folder, entry.name)
      if (entry.isDirectory()) return codeBelow(below)
      return CODE.test(entry.name) && !DECLARATION.test(entry.name) ? [resolve(below)] : []
    })
}

/** The folders at a path, whose files may change. */
export function foldersAt(path: string): readonly string[] {
  if (!existsSync(path) || !statSync(path).isDirectory()) return []
  const below = readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== 'node_modules')
    .flatMap(({ name }) => foldersAt(join(path, name)))
  return [resolve(path), ...below]
}

/** A file cannot be loaded. */
class LoadError extends Error {
  override readonly name: string = 'LoadError'

  constructor(path: string, cause: unknown) {
    const reason =
      TYPESCRIPT.test(path) && isUnknownExtension(cause)
        ? `Node ${process.versions.node} reads no TypeScript; npm install --save-dev tsx, or use Node 22.18 or later`
        : placeOf(cause) + (cause instanceof Error ? `${cause.name}: ${cause.message}` : messageOf(cause))
    super(`Cannot load ${path}: ${reason}`, { cause })
  }
}

/** All that a file exports. @throws LoadError */
export async function exportsOf(path: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return (await import(pathToFileURL(path).href)) as Readonly<Record<string, unknown>>
  } catch (cause) {
    throw new LoadError(path, cause)
  }
}

/** Tasks, and the errors of files that cannot be loaded. */
export interface LoadedTasks {
  readonly tasks: readonly AnyTask[]
  readonly failures: readonly unknown[]
}

/** The tasks that files export, each once. A file that cannot be loaded keeps no other one from it. */
export async function tasksOf(paths: readonly string[]): Promise<LoadedTasks> {
  const tasks = new Set<AnyTask>()
  const failures: unknown[] = []
  for (const path of paths)
    try {
      for (const value of valuesOf(await exportsOf(path))) if (isTask(value)) tasks.add(value)
    } catch (failure) {
      failures.push(failure)
    }
  return { tasks: [...tasks], failures }
}

/** The values of a module. One that was compiled to CommonJS has them again below its default export. */
function valuesOf(module: Readonly<Record<string, unknown>>): readonly unknown[] {
  const { default: standard } = module
  const values = Object.values(module)
  if (typeof standard !== 'object' || standard === null || isTask(standard)) return values
  if (Object.hasOwn(standard, '__esModule'))
    return [...values, ...(Object.values(standard) as readonly unknown[])]
  // Of an object that is no module no property is read.
  const properties = Object.values(Object.getOwnPropertyDescriptors(standard))
  return [...values, ...properties.map(({ value }): unknown => value)]
}

/** By the code of Node's error. */
function isUnknownExtension(error: unknown): boolean {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  return typeof code === 'string' && code.endsWith('UNKNOWN_FILE_EXTENSION')
}

/** Errors of syntax name their place in the first line of the stack. */
function placeOf(error: unknown): string {
  const stack = error instanceof SyntaxError ? (error.stack ?? '') : ''
  const place = /^(?:file:\/\/)?(\/.*:\d+)$/m.exec(stack)?.[1]
  return place === undefined ? '' : `${place}: `
}
