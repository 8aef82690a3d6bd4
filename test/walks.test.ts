import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { fencedBlocks, stepsOf, wrongSteps } from './support/walks.ts'

/** The walks of ARCHITECTURE.md, and the files that each may have. */
const PROMISED = [
  { walk: 'from trigger to the first line of the task', first: 'EngineTasks.trigger', most: 8 },
  { walk: 'from completeToken to the next line of the task', first: 'EngineWait.completeToken', most: 10 },
  { walk: 'from a chunk to its subscriber', first: 'subscribeToRun', most: 12 },
]

const read = (path: string): string | undefined => (existsSync(path) ? readFileSync(path, 'utf8') : undefined)

describe('ARCHITECTURE.md', () => {
  const walks = fencedBlocks(readFileSync('ARCHITECTURE.md', 'utf8'), 'walk').map(stepsOf)

  it('has the walks that are promised', () => {
    expect(walks.map(([first]) => first?.name)).toEqual(PROMISED.map(({ first }) => first))
  })

  it.each(PROMISED)('walks $walk through functions that exist', ({ first, most }) => {
    const walk = walks.find(([step]) => step?.name === first) ?? []
    expect(wrongSteps(walk, read)).toEqual([])
    expect(new Set(walk.map(({ path }) => path)).size).toBeLessThanOrEqual(most)
  })
})

describe('wrongSteps', () => {
  const files: Readonly<Record<string, string>> = {
    'src/a.ts': `import { b } from './b.ts'\nexport class A { begin() { b() } }`,
    'src/b.ts': 'export function b() {}\nexport function alone() {}',
  }
  const wrong = (...lines: string[]): string[] => wrongSteps(stepsOf(lines.join('\n')), (path) => files[path])

  it('finds nothing in a walk whose functions are there and call each other', () => {
    expect(wrong('src/a.ts  A.begin  begins', 'src/b.ts  b  ends')).toEqual([])
  })

  it.each([
    ['a file that is gone', 'src/c.ts  c  ends', 'src/c.ts does not exist'],
    ['a function that is gone', 'src/b.ts  c  ends', 'src/b.ts has no c'],
    ['a method of another class', 'src/a.ts  B.begin  ends', 'src/a.ts has no B.begin'],
    [
      'a function that the walk does not come to',
      'src/b.ts  alone  ends',
      'src/b.ts: no other file of the walk names alone',
    ],
  ])('finds %s', (_what, line, problem) => {
    expect(wrong('src/a.ts  A.begin  begins', line)).toEqual([problem])
  })
})
