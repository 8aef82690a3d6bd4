import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { installedIn } from '../loading/typescript.ts'

/** A type error of a project. */
export interface TypeProblem {
  readonly path: string
  readonly line: number
  readonly message: string
}

/** Looks for type errors with the TypeScript of a project, if it has one and a tsconfig.json. Nothing waits for it. */
export class TypeCheck {
  readonly #folder: string
  readonly #record: string
  readonly #tell: (problems: readonly TypeProblem[]) => void
  #child: ChildProcess | undefined

  /** @param record The file in which TypeScript notes what it has checked, to be sooner the next time. */
  constructor(folder: string, record: string, tell: (problems: readonly TypeProblem[]) => void) {
    this.#folder = folder
    this.#record = record
    this.#tell = tell
  }

  /** Checks the project as it is now; a check that goes on is given up. */
  begin(): void {
    this.close()
    const about = installedIn(this.#folder, 'typescript/package.json')
    if (about === undefined || !existsSync(join(this.#folder, 'tsconfig.json'))) return
    const args = ['--noEmit', '--pretty', 'false', '--incremental', '--tsBuildInfoFile', this.#record]
    const child = spawn(process.execPath, [join(dirname(about), 'bin/tsc'), ...args], {
      cwd: this.#folder,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    this.#child = child
    let printed = ''
    child.stdout.on('data', (data) => (printed += String(data)))
    // Types are advice: a checker that cannot be started has none.
    child.on('error', () => undefined)
    child.on('close', () => {
      if (child === this.#child) this.#tell(problemsOf(printed, this.#folder))
    })
  }

  close(): void {
    this.#child?.kill()
    this.#child = undefined
  }
}

/** The lines of TypeScript that begin an error; those that are indented say more about it. */
function problemsOf(printed: string, folder: string): readonly TypeProblem[] {
  const lines = printed.matchAll(/^(?:(.+)\((\d+),\d+\): )?error (TS\d+: .*)$/gm)
  return [...lines].map(([, path = 'tsconfig.json', line = '1', message = '']) => ({
    path: resolve(folder, path),
    line: Number(line),
    message: message.trim(),
  }))
}
