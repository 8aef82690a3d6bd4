import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { build } from 'esbuild'
import type { DocumentBlock } from './documents.ts'

/** Where the files of all pages lie while they are tested. */
const FOLDER = 'test/.documents'
const CONFIG = `${FOLDER}/vitest.config.ts`
const RECORDER = `${FOLDER}/recorder.mjs`

/** Names of another package that docs/hosted-task-files.md points at this one. */
export const HOSTED_NAMES: Readonly<Record<string, string>> = {
  '@trigger.dev/sdk': './src/sdk.ts',
  '@trigger.dev/sdk/v3': './src/sdk.ts',
}

/** The package of one line on that page: one of the ways to do so. */
export const HOSTED_PACKAGE = {
  name: '@trigger.dev/sdk',
  version: '4.8.3',
  type: 'module',
  exports: { '.': './index.js', './v3': './index.js' },
} as const

/** The names of the package lead to its sources; none of this project's other settings apply. */
const CONFIG_TEXT = `import { resolve } from 'node:path'
import config from '../../vitest.config.ts'
const hosted = { find: /^@trigger\\.dev\\/sdk(\\/v3)?$/, replacement: resolve('src/sdk.ts') }
export default {
  resolve: { alias: [...config({ mode: 'test', command: 'serve' }).resolve.alias, hosted] },
  test: { include: ['${FOLDER}/**/*.test.ts'] },
}
`

/** Tells, over a pipe of its own, each text that a program prints and the error that ends it. */
const RECORDER_TEXT = `import { writeSync } from 'node:fs'
import { format } from 'node:util'
const tell = (entry) => void writeSync(3, JSON.stringify(entry) + '\\n')
console.log = (...values) => tell({ printed: format(...values) })
process.on('uncaughtExceptionMonitor', (error) => tell({ failed: [error?.name, error?.code].map(String) }))
`

/** No program of a document takes that long: this ends what hangs. */
const PATIENCE_MS = 300_000

/** The file of a block. A folder has the name of its page, so no two pages share one. */
export function pathOf(block: DocumentBlock): string {
  const { document, line, file } = block
  return `${FOLDER}/${document}/${file ?? `line-${line}${isTest(block) ? '.test' : ''}.ts`}`
}

/** A block that uses a test runner is run by it. */
export function isTest({ file = '', code }: DocumentBlock): boolean {
  return file.endsWith('.test.ts') || /from '(waitpoint\/)?vitest'/.test(code)
}

/** Writes the files of all blocks, and beside them the package as an application finds it. */
export async function writePrograms(blocks: readonly DocumentBlock[]): Promise<void> {
  rmSync(FOLDER, { recursive: true, force: true })
  for (const block of blocks) {
    mkdirSync(dirname(pathOf(block)), { recursive: true })
    const isModule = /^(import|export)\b/m.test(block.code)
    writeFileSync(pathOf(block), isModule ? block.code : `${block.code}\nexport {}\n`)
  }
  // Or else Node would take the name of the package for this project, which need not be built.
  writeFileSync(`${FOLDER}/package.json`, JSON.stringify({ private: true, type: 'module' }))
  writeFileSync(CONFIG, CONFIG_TEXT)
  writeFileSync(RECORDER, RECORDER_TEXT)
  const installed = `${FOLDER}/node_modules/waitpoint`
  const names = readdirSync('src').filter((name) => name.endsWith('.ts'))
  await build({
    entryPoints: names.map((name) => `src/${name}`),
    outdir: `${installed}/dist`,
    bundle: true,
    splitting: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    target: 'node20',
    sourcemap: 'inline',
    logLevel: 'silent',
  })
  copyFileSync('package.json', `${installed}/package.json`)
  const hosted = `${FOLDER}/node_modules/${HOSTED_PACKAGE.name}`
  mkdirSync(hosted, { recursive: true })
  writeFileSync(`${hosted}/package.json`, JSON.stringify(HOSTED_PACKAGE))
  writeFileSync(`${hosted}/index.js`, "export * from 'waitpoint/sdk'\n")
}

/** What became of a program. */
export interface Ended {
  readonly code: number | null
  readonly printed: readonly string[]
  /** The name and the code of the error that ended it. */
  readonly failed: readonly string[]
  readonly stderr: string
}

/** A program in a process of its own, in an empty folder that goes with it unless another one is given. */
export class Program implements AsyncDisposable {
  readonly ended: Promise<Ended>
  readonly #child: ChildProcess
  readonly #printed: string[] = []
  readonly #failed: string[] = []
  #stderr = ''
  #heard: () => void = () => undefined

  constructor(path: string, env: Readonly<Record<string, string>> = {}, folder?: string) {
    const cwd = folder ?? mkdtempSync(join(tmpdir(), 'waitpoint-document-'))
    this.#child = spawn(
      process.execPath,
      ['--enable-source-maps', '--import', resolve(RECORDER), resolve(path)],
      {
        cwd,
        env: environment(env),
        stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
        timeout: PATIENCE_MS,
        killSignal: 'SIGKILL',
      },
    )
    this.#child.stderr?.on('data', (data) => (this.#stderr += String(data)))
    const told = createInterface({ input: this.#child.stdio[3] as Readable })
    told.on('line', (line) => this.#hear(JSON.parse(line) as { printed?: string; failed?: string[] }))
    this.ended = once(this.#child, 'close').then(([code]: unknown[]) => {
      this.#heard()
      if (folder === undefined) rmSync(cwd, { recursive: true, force: true })
      return {
        code: code as number | null,
        printed: this.#printed,
        failed: this.#failed,
        stderr: this.#stderr,
      }
    })
  }

  /** Waits until it has printed so many texts, or has ended. */
  async printed(count: number): Promise<readonly string[]> {
    while (this.#printed.length < count && this.#child.exitCode === null && this.#child.signalCode === null)
      await new Promise<void>((wake) => (this.#heard = wake))
    return this.#printed
  }

  /** Ends it without a word. */
  kill(): void {
    this.#child.kill('SIGKILL')
  }

  /** Asks it to end. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGTERM')
    const { code, stderr } = await this.ended
    if (code !== null && code !== 0) throw new Error(`A program ended with ${code}: ${stderr}`)
  }

  #hear({ printed, failed = [] }: { readonly printed?: string; readonly failed?: readonly string[] }): void {
    if (printed !== undefined) this.#printed.push(printed)
    this.#failed.push(...failed)
    this.#heard()
  }
}

/** Makes programs of the blocks of one page; answers the path of each. */
export async function buildPrograms(
  blocks: readonly DocumentBlock[],
): Promise<ReadonlyMap<DocumentBlock, string>> {
  const entries = blocks.map((block) => [block, pathOf(block).replace(/\.ts$/, '.mjs')] as const)
  await build({
    entryPoints: Object.fromEntries(
      entries.map(([block, path]) => [path.replace(/\.mjs$/, ''), pathOf(block)]),
    ),
    outdir: '.',
    outExtension: { '.js': '.mjs' },
    bundle: true,
    packages: 'external',
    // The settings of this project lead the name of the package to its sources.
    tsconfigRaw: {},
    format: 'esm',
    platform: 'node',
    target: 'node20',
    sourcemap: 'inline',
    logLevel: 'silent',
  })
  return new Map(entries)
}

interface Report {
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    readonly message: string
    readonly assertionResults: readonly {
      readonly status: string
      readonly failureMessages: readonly string[]
    }[]
  }[]
}

/** Runs all test files in one run of the test runner; answers for each path what went wrong, nothing where all passed. */
export async function runTests(paths: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
  const outputFile = `${FOLDER}/report.json`
  const args = [
    'node_modules/vitest/vitest.mjs',
    'run',
    '--config',
    CONFIG,
    '--root',
    '.',
    '--reporter=json',
    `--outputFile=${outputFile}`,
    ...paths,
  ]
  const child = spawn(process.execPath, args, {
    env: environment(),
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: PATIENCE_MS,
  })
  let stderr = ''
  child.stderr.on('data', (data) => (stderr += String(data)))
  await once(child, 'close')
  if (!existsSync(outputFile)) throw new Error(`The test runner has no report: ${stderr}`)
  const { testResults } = JSON.parse(readFileSync(outputFile, 'utf8')) as Report
  return new Map(
    paths.map((path) => {
      const result = testResults.find(({ name }) => name === resolve(path))
      if (result === undefined) return [path, ['The test runner did not find it']]
      const failures = result.assertionResults.filter(({ status }) => status !== 'passed')
      const nothing = result.assertionResults.length === 0 ? [`It has no test. ${result.message}`] : []
      return [
        path,
        [...nothing, ...failures.flatMap(({ status, failureMessages }) => [status, ...failureMessages])],
      ]
    }),
  )
}

/** What is set for the tests of this project is not for programs. */
function environment(more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(VITEST|WAITPOINT|TEST$|NODE_ENV$|NODE_OPTIONS$|NODE_V8_COVERAGE$)/.test(name),
  )
  // A Node without SQLite of its own finds the driver that the tests of databases have.
  return {
    ...Object.fromEntries(kept),
    NODE_PATH: resolve('test/databases/node_modules'),
    NO_COLOR: '1',
    ...more,
  }
}
