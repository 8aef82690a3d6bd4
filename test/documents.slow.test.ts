import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freshDatabase } from './databases/postgres/fresh-database.ts'
import {
  buildPrograms,
  HOSTED_NAMES,
  HOSTED_PACKAGE,
  isTest,
  pathOf,
  Program,
  runTests,
  writePrograms,
  type Ended,
} from './support/document-programs.ts'
import {
  blocksOf,
  documentBlocks,
  executedDocuments,
  isAsPromised,
  transcriptsOf,
  type DocumentBlock,
} from './support/documents.ts'
import { freePort } from './support/free-port.ts'
import { typeProblems, type TypeProblem } from './support/type-check.ts'

/** Programs that run while the other blocks of their page do: they are started first, and get a SIGTERM at the end. */
const BESIDE: Readonly<Record<string, readonly string[]>> = {
  'docs/operations.md': ['app.ts'],
  'docs/postgres.md': ['worker.ts'],
}

/** Files that are type-checked only, because what runs them is not here, or because another test runs them. */
const ONLY_CHECKED: Readonly<Record<string, readonly string[]>> = {
  'docs/getting-started.md': ['app.ts'],
}

/** Declarations for packages that documents use and that are not installed here. */
const DECLARATIONS: readonly string[] = ['test/support/pg.d.ts']

/** Code that needs packages which are installed apart: test/clients/frameworks.once.test.ts and test/browser execute it. */
const isApart = ({ document, language }: DocumentBlock): boolean =>
  document === 'docs/in-your-server.md' || language === 'tsx'

const pages = executedDocuments().map((document) => {
  const those = documentBlocks(document).filter((block) => !isApart(block))
  return [document, those] as const
})
const blocks = pages.flatMap(([, those]) => those)
const testFiles = blocks.filter(isTest).map(pathOf)
let problems: readonly TypeProblem[] = []
let testProblems: ReadonlyMap<string, readonly string[]> = new Map()

/** For pages that want one: a database of their own. */
let database: (AsyncDisposable & { readonly url: string }) | undefined

beforeAll(async () => {
  await writePrograms(blocks)
  if (blocks.some(({ code }) => code.includes('DATABASE_URL'))) database = await freshDatabase()
  problems = typeProblems([...blocks.map(pathOf), ...DECLARATIONS], HOSTED_NAMES)
  if (testFiles.length > 0) testProblems = await runTests(testFiles)
})
afterAll(() => database?.[Symbol.asyncDispose]())

describe.each(pages)('%s', (document, those) => {
  const beside = those.filter(({ file = '' }) => BESIDE[document]?.includes(file))
  const onlyChecked = those.filter(({ file = '' }) => ONLY_CHECKED[document]?.includes(file))
  const programs = those.filter(
    (block) =>
      !isTest(block) && !isImported(block, those) && !onlyChecked.includes(block) && !beside.includes(block),
  )
  const running: Program[] = []
  let paths: ReadonlyMap<DocumentBlock, string> = new Map()
  let env: Readonly<Record<string, string>> = {}

  const start = (block: DocumentBlock): Program => new Program(paths.get(block) ?? '', env)

  beforeAll(async () => {
    paths = await buildPrograms([...beside, ...programs])
    env = { PORT: String(await freePort()), ...(database !== undefined && { DATABASE_URL: database.url }) }
    for (const block of beside) {
      const program = start(block)
      running.push(program)
      await program.printed(block.prints.length)
    }
  })
  afterAll(async () => {
    for (const program of running.reverse()) await program[Symbol.asyncDispose]()
  })

  it('has every file that is said to be special', () => {
    expect([...beside, ...onlyChecked].map(({ file }) => file).sort()).toEqual(
      [...(BESIDE[document] ?? []), ...(ONLY_CHECKED[document] ?? [])].sort(),
    )
  })

  it.each(those.map((block) => [block.file ?? 'the code', block.line, block] as const))(
    '%s in line %i type-checks',
    (_name, _line, block) => {
      const here = problems.filter(({ path }) => path === pathOf(block))
      expect(here.map(({ line, message }) => `${document}:${line + block.line - 1}: ${message}`)).toEqual([])
    },
  )

  it.each(those.filter(isTest).map((block) => [block.line, block] as const))(
    'the test in line %i passes',
    (_line, block) => {
      expect(testProblems.get(pathOf(block))).toEqual([])
    },
  )

  it.each(programs.map((block) => [block.line, block] as const))(
    'the program in line %i runs and keeps its promises',
    async (_line, block) => {
      expectAsPromised(block, await start(block).ended)
    },
  )
})

/** A block that another one of its page imports is not a program. */
function isImported({ file }: DocumentBlock, those: readonly DocumentBlock[]): boolean {
  return file !== undefined && those.some(({ code }) => code.includes(`/${file}'`))
}

function expectAsPromised({ throws, prints }: DocumentBlock, { code, failed, printed, stderr }: Ended): void {
  if (throws === undefined)
    expect(code === 0 ? 'ended well' : `ended with ${code}: ${stderr}`).toBe('ended well')
  else expect(failed).toContain(throws)
  if (prints.length === 0) return
  const wrong = printed.some((text, index) => !isAsPromised(text, prints[index] ?? ''))
  if (wrong || printed.length !== prints.length) expect(printed).toEqual(prints)
}

describe('docs/hosted-task-files.md', () => {
  it('shows the package that its programs import', () => {
    const page = readFileSync('docs/hosted-task-files.md', 'utf8')
    const shown = [...page.matchAll(/^```json\n(.*?)^```$/gms)].map(
      ([, json = '']) => JSON.parse(json) as unknown,
    )
    expect(shown).toContainEqual(HOSTED_PACKAGE)
    expect(page).toContain("export * from 'waitpoint/sdk'")
    // The compiler looks for it beside the file that is exported.
    expect(page).toContain('index.d.ts')
  })
})

describe('the program of docs/getting-started.md', () => {
  const document = 'docs/getting-started.md'
  let folder = ''
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'waitpoint-getting-started-'))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('goes on where it was killed, and prints what the page shows', async () => {
    const blocks = documentBlocks(document).filter(({ file }) => file === 'app.ts')
    const [path = ''] = (await buildPrograms(blocks)).values()
    const env = { PORT: String(await freePort()) }
    const [first = [], second = [], third = []] = transcriptsOf(document)
    expect([first.length, second.length, third.length]).toEqual([3, 1, 2])

    await using killed = new Program(path, env, folder)
    const printed = [...(await killed.printed(first.length))]
    killed.kill()
    await killed.ended
    const url = /http:\S+/.exec(printed.join(' '))?.[0] ?? ''
    expect(printed.map((line) => line.replace(env.PORT, '3000'))).toSatisfy(isShown(first))

    await using again = new Program(path, env, folder)
    expect(await again.printed(second.length)).toSatisfy(isShown(second))
    expect(await (await fetch(url)).text()).toMatch(/<button[^>]* value="0"[^>]*>\s*Publish/)
    const answer = await fetch(url, { method: 'POST', body: new URLSearchParams({ form: '1', answer: '0' }) })
    expect(await answer.text()).toContain('Thank you')
    expect(await again.ended).toMatchObject({ code: 0 })
    expect(await again.printed(0)).toSatisfy(isShown([...second, ...third]))

    const afterwards = await new Program(path, env, folder).ended
    expect(afterwards.printed).toEqual(['the run was here before', 'chapter 1 is published'])
  })

  const isShown =
    (shown: readonly string[]) =>
    (printed: readonly string[]): boolean =>
      printed.length === shown.length && printed.every((line, at) => isAsPromised(line, shown[at] ?? ''))
})

describe('blocksOf', () => {
  const text = [
    '# Title',
    '',
    '```ts',
    "const greeting: string = 'hello'",
    'console.log(greeting) // => hello',
    'console.log({ at: 1 }) // => { at: 1 }',
    "throw new RangeError('no') // throws RangeError",
    '```',
    '```sh',
    'npm install',
    '```',
    '````md',
    '```ts',
    'not code, but how code is written',
    '```',
    '````',
    '```ts',
    'greet()',
    '```',
  ].join('\n')

  it('finds the code and its promises', () => {
    const [first, second, ...others] = blocksOf('a.md', text)
    expect(first).toMatchObject({ line: 4, prints: ['hello', '{ at: 1 }'], throws: 'RangeError' })
    expect(first?.code).toMatch(/^const greeting.*\nconsole\.log\(greeting\)/)
    expect(second).toMatchObject({ line: 18, prints: [], throws: undefined, code: 'greet()\n' })
    expect(others).toEqual([])
  })

  it('finds the name of a file where the first line says one', () => {
    const named = (code: string): unknown => blocksOf('a.md', `\`\`\`ts\n${code}\n\`\`\``)[0]?.file
    expect(named('// tasks.ts\nrun()')).toBe('tasks.ts')
    expect(named('// app/engine/[...path]/route.ts\nrun()')).toBe('app/engine/[...path]/route.ts')
    expect(named('// like tasks.ts\nrun()')).toBeUndefined()
    expect(named('run()\n// tasks.ts')).toBeUndefined()
  })

  it.each([
    ['a fence that no test would run', '```typescript\nx\n```', 'a.md:1: write ```ts'],
    ['a fence that is indented', '- one\n  ```ts\n  x\n  ```', 'a.md:2: begin the ```ts block'],
    ['a block of tsx without a name', '```tsx\nx\n```', 'a.md:1: name the file'],
    ['one name for two files', '```ts\n// a.ts\n```\n```ts\n// a.ts\n```', 'a.md:4: there is a file a.ts'],
    ['code that readers cannot see', '# A\n<!-- ts\nx\n-->', 'a.md:2: show all of the code'],
  ])('refuses %s', (_name, document, message) => {
    expect(() => blocksOf('a.md', document)).toThrow(message)
  })

  it('compares texts, not their white space, and takes … for anything', () => {
    expect(isAsPromised('{ a: 1,\n  b: 2 }', '{ a: 1, b: 2 }')).toBe(true)
    expect(isAsPromised('waitpoint_x1 (WAITING)', 'waitpoint_… (WAITING)')).toBe(true)
    expect(isAsPromised('waitpoint_x1', 'waitpoint_')).toBe(false)
    expect(isAsPromised('ab', 'a.')).toBe(false)
  })
})
