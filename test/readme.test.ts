import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { format, promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { freshDatabase } from './databases/postgres/fresh-database.ts'
import { blocksOf, docBlocks, isAsPromised, type DocBlock } from './support/docs.ts'
import { typeProblems, type TypeProblem } from './support/type-check.ts'

const FOLDER = 'test/.readme'
const CONFIG = `${FOLDER}/vitest.config.ts`
/** Under the names of the package, and nothing else of this project's settings. */
const CONFIG_TEXT = `import config from '../../vitest.config.ts'
export default { resolve: config.resolve, test: { include: ['${FOLDER}/**/*.test.ts'] } }
`
const DOCUMENTS = ['README.md', 'ARCHITECTURE.md']

const pathOf = (block: DocBlock): string => {
  const { document, line, file } = block
  const name = `${document.replace('.md', '')}-${line}${isTestFile(block) ? '.test' : ''}.ts`
  return `${FOLDER}/${file ?? name}`
}

const blocks = DOCUMENTS.flatMap(docBlocks)
let problems: readonly TypeProblem[] = []

/** A database of its own, as a reader would have one. */
let database: AsyncDisposable | undefined

beforeAll(async () => {
  const made = await freshDatabase()
  database = made
  process.env['DATABASE_URL'] = made.url
  rmSync(FOLDER, { recursive: true, force: true })
  mkdirSync(FOLDER, { recursive: true })
  for (const block of blocks) writeFileSync(pathOf(block), `${block.code}\nexport {}\n`)
  writeFileSync(CONFIG, CONFIG_TEXT)
  problems = typeProblems(blocks.map(pathOf))
})
afterAll(() => database?.[Symbol.asyncDispose]())

// Every block is a program of its own: what one made default or left open, the next does not see.
beforeEach(() => vi.resetModules())
afterEach(() => vi.restoreAllMocks())

it('the README has code to run', () => {
  expect(docBlocks('README.md')).not.toEqual([])
})

it('the README has the template of a storage as it is', () => {
  const template = readFileSync('examples/storage/template-storage.ts', 'utf8')
  expect(blocks.filter(({ code }) => code.includes('class TemplateStorage'))).toMatchObject([
    { code: template },
  ])
})

describe.each(blocks.map((block) => [`${block.document}:${block.line}`, block] as const))(
  '%s',
  (_name, block) => {
    it('type-checks', () => {
      const here = problems
        .filter(({ path }) => path === pathOf(block))
        .map(
          ({ line, message }) => `${block.document}:${line - block.hiddenLines + block.line - 1}: ${message}`,
        )
      expect(here).toEqual([])
    })

    if (block.file !== undefined) {
      it('is a file that another one needs', () => {
        expect(blocks.some(({ code }) => code.includes(`'./${block.file}'`))).toBe(true)
      })
      return
    }

    if (isTestFile(block)) {
      it('is a test file that passes', async () => {
        expect(await runTestFile(pathOf(block))).toMatch(/Tests +\d+ passed/)
      })
      return
    }

    it('runs and keeps its promises', async () => {
      const printed: string[] = []
      vi.spyOn(console, 'log').mockImplementation(
        (...values: unknown[]) => void printed.push(format(...values)),
      )
      const ran = import(/* @vite-ignore */ resolve(pathOf(block))) as Promise<unknown>
      if (block.throws === undefined) await ran
      else expect(await namesOfRejection(ran)).toContain(block.throws)
      if (block.prints.length === 0) return
      const wrong = printed.some((text, index) => !isAsPromised(text, block.prints[index] ?? ''))
      if (wrong || printed.length !== block.prints.length) expect(printed).toEqual(block.prints)
    })
  },
)

/** What defines tests is run by a test runner of its own. */
function isTestFile({ code }: DocBlock): boolean {
  return code.includes("from 'waitpoint/vitest'")
}

/** What the runner prints; rejects when a test fails. */
async function runTestFile(path: string): Promise<string> {
  // What is set for this test file is not for that one.
  const names = Object.keys(process.env).filter(
    (name) => !/^(VITEST|WAITPOINT|TEST$|NODE_ENV$|NODE_OPTIONS$)/.test(name),
  )
  const env = { ...Object.fromEntries(names.map((name) => [name, process.env[name]])), NO_COLOR: '1' }
  const args = ['node_modules/vitest/vitest.mjs', 'run', '--config', CONFIG, '--root', '.', path]
  return (await promisify(execFile)(process.execPath, args, { env })).stdout
}

/** What its error calls itself: its name and, where it has one, its code. */
async function namesOfRejection(ran: Promise<unknown>): Promise<unknown[]> {
  const error: unknown = await ran.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  const { name, code } = Object(error) as { readonly name?: unknown; readonly code?: unknown }
  return [name, code]
}

describe('blocksOf', () => {
  const text = [
    '# Title',
    '',
    '<!-- ts',
    "const greeting: string = 'hello'",
    '-->',
    '',
    '```ts',
    'console.log(greeting) // => hello',
    'console.log({ at: 1 }) // => { at: 1 }',
    "throw new RangeError('no') // throws RangeError",
    '```',
    '```sh',
    'npm install',
    '```',
    '```ts',
    'greet()',
    '```',
  ].join('\n')

  it('finds the code, its hidden start, and its promises', () => {
    const [first, second, ...others] = blocksOf('a.md', text)
    expect(first).toMatchObject({
      line: 8,
      hiddenLines: 1,
      prints: ['hello', '{ at: 1 }'],
      throws: 'RangeError',
    })
    expect(first?.code).toMatch(/^const greeting.*\nconsole\.log\(greeting\)/)
    expect(second).toMatchObject({
      line: 16,
      hiddenLines: 0,
      prints: [],
      throws: undefined,
      code: 'greet()\n',
    })
    expect(others).toEqual([])
  })

  it('finds the name of a file where the first line says one', () => {
    const named = (code: string): unknown => blocksOf('a.md', `\`\`\`ts\n${code}\n\`\`\``)[0]?.file
    expect(named('// tasks.ts\nrun()')).toBe('tasks.ts')
    expect(named('// like tasks.ts\nrun()')).toBeUndefined()
    expect(named('run()\n// tasks.ts')).toBeUndefined()
  })

  it('refuses a fence that nothing would run', () => {
    expect(() => blocksOf('a.md', '```typescript\nx\n```')).toThrow('a.md:1: write ```ts')
  })

  it('compares texts, not their white space, and takes … for anything', () => {
    expect(isAsPromised('{ a: 1,\n  b: 2 }', '{ a: 1, b: 2 }')).toBe(true)
    expect(isAsPromised('waitpoint_x1 (WAITING)', 'waitpoint_… (WAITING)')).toBe(true)
    expect(isAsPromised('waitpoint_x1', 'waitpoint_')).toBe(false)
    expect(isAsPromised('ab', 'a.')).toBe(false)
  })
})
