import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { examplesOf } from './support/comment-examples.ts'
import { readSources } from './support/modules.ts'
import { typeProblems, type TypeProblem } from './support/type-check.ts'

const FOLDER = 'test/.examples'

const entries = readdirSync('src')
  .filter((name) => name.endsWith('.ts'))
  .map((name) => `src/${name}`)
const examples = [...readSources('src').keys()].flatMap((path) => examplesOf(path, entries))
/** The app that `waitpoint init` writes; test/cli/init.test.ts runs it. */
const template = ['template/server.ts', 'template/tasks/publish.ts', 'template/tasks/publish.test.ts']
const pathOf = (index: number): string => `${FOLDER}/${index}.ts`
let problems: readonly TypeProblem[] = []

beforeAll(() => {
  mkdirSync(FOLDER, { recursive: true })
  for (const [index, { code }] of examples.entries()) writeFileSync(pathOf(index), code)
  problems = typeProblems([...template, ...examples.map((_example, index) => pathOf(index))])
})

afterAll(() => rmSync(FOLDER, { recursive: true, force: true }))

describe('the examples of doc comments', () => {
  it('are all found', () => {
    const count = [...readSources('src').values()].join('').split('* @example').length - 1
    expect(examples).toHaveLength(count)
    expect(count).toBeGreaterThan(30)
  })

  it.each(examples.map(({ place }, index) => [place, index] as const))(
    'at %s type-check',
    (_place, index) => {
      expect(problems.filter(({ path }) => path === pathOf(index))).toEqual([])
    },
  )
})

describe('the app that `waitpoint init` writes', () => {
  it('type-checks', () => {
    expect(problems.filter(({ path }) => template.includes(path))).toEqual([])
  })
})
