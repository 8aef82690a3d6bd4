import { execFile } from 'node:child_process'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>
  readonly peerDependencies: Readonly<Record<string, string>>
}

/** What package.json says. */
export const manifest: Manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest

/** The package as it is published, without its types, and a folder in which it and a driver of SQLite are installed. */
export class BuiltPackage implements Disposable {
  readonly folder: string

  private constructor(folder: string) {
    this.folder = folder
  }

  static async create(): Promise<BuiltPackage> {
    mkdirSync('test/.bundles', { recursive: true })
    const folder = mkdtempSync(resolve('test/.bundles/package-'))
    const tsup = resolve('node_modules/tsup/dist/cli-default.js')
    await run(process.execPath, [tsup, '--silent', '--no-dts', '--out-dir', join(folder, 'waitpoint/dist')])
    writeFileSync(join(folder, 'package.json'), '{ "name": "app" }')
    copyFileSync('package.json', join(folder, 'waitpoint/package.json'))
    mkdirSync(join(folder, 'node_modules'))
    symlinkSync(join(folder, 'waitpoint'), join(folder, 'node_modules/waitpoint'))
    symlinkSync(resolve('test/databases/node_modules/libsql'), join(folder, 'node_modules/libsql'))
    return new BuiltPackage(folder)
  }

  /** The files that the names of its entries lead to. Longer names come first: to some tools a name is also a beginning. */
  get entries(): Readonly<Record<string, string>> {
    const entries = Object.entries(manifest.exports).flatMap(([key, target]) =>
      typeof target === 'string'
        ? []
        : [[`waitpoint${key.slice(1)}`, join(this.folder, 'waitpoint', target.default)] as const],
    )
    return Object.fromEntries(entries.reverse())
  }

  /** Runs a file with Node, in another folder than its own, and answers what it prints. */
  async run(file: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
    const cwd = mkdtempSync(join(this.folder, 'elsewhere-'))
    const { stdout } = await run(process.execPath, [file], {
      cwd,
      env: { ...process.env, NODE_OPTIONS: '', ...env },
    })
    return stdout
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}
