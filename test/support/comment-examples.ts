import { readFileSync } from 'node:fs'

/** One `@example` of a doc comment, with what it may use. */
export interface CommentExample {
  /** Where its code starts: `src/api/task.ts:12`. */
  readonly place: string
  /** A module: the example after its imports. */
  readonly code: string
}

/** What an example need not introduce: things of the reader's own, as every document calls them. */
const READERS_OWN = `
declare const engine: import('waitpoint').Engine
declare const review: import('waitpoint').Task<{ doc: string }, string>
declare const greet: import('waitpoint').Task<{ name: string }, string>
declare const run: import('waitpoint').RunHandle<string>
declare const token: import('waitpoint').Token
declare const clock: import('waitpoint/testing').TestClock
declare const random: import('../../src/contract/random.ts').RandomSource
declare const history: import('waitpoint/testing').RunHistory
declare const model: { stream(prompt: string): AsyncIterable<string> }
declare const mail: (url: string) => Promise<{ messageId: string }>
declare const myStorage: () => import('waitpoint').Storage
declare const deferred: { promise: Promise<void>; reject(reason: unknown): void }
declare const signal: AbortSignal
declare const prompt: string
declare const userId: string
declare const secretKey: string
declare const app: { use(path: string, listener: import('waitpoint/http').NodeListener): void }
declare let text: string
`

/** Where a name comes from that is neither the file's nor the reader's. */
const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  'fast-check': ['default as fc'],
  vitest: ['expect', 'test'],
}

/** The examples of a file under `src`, as modules that lie in a folder beside it. */
export function examplesOf(path: string, entries: readonly string[]): CommentExample[] {
  const source = readFileSync(path, 'utf8')
  return [...source.matchAll(/^ *\* @example\n *\* ```ts\n(?<example>.*?)^ *\* ```$/gms)].map((match) => {
    const example = (match.groups?.['example'] ?? '').replace(/^ *\* ?/gm, '')
    const line = source.slice(0, match.index).split('\n').length + 2
    return { place: `${path}:${line}`, code: moduleOf(example, { path, entries }) }
  })
}

function moduleOf(
  example: string,
  { path, entries }: { readonly path: string; readonly entries: readonly string[] },
): string {
  const missing = new Set(wordsOf(example))
  const imported = (from: string, names: readonly string[]): string => {
    const used = names.filter((name) => missing.delete(name.replace('default as ', '')))
    return used.length === 0 ? `import '${from}'` : `import { ${used.join(', ')} } from '${from}'`
  }
  const first = imported(`../../${path}`, valuesOf(path))
  const own = READERS_OWN.split('\n').filter((line) =>
    missing.delete(/^declare \w+ (\w+)/.exec(line)?.[1] ?? ''),
  )
  const others = [
    ...entries.map((entry) => imported(`../../${entry}`, valuesOf(entry))),
    ...Object.entries(ELSEWHERE).map(([from, names]) => imported(from, names)),
  ]
  return [first, ...others, ...own, example, 'export {}', ''].join('\n')
}

/** What a file exports, types left out. */
function valuesOf(path: string): string[] {
  const source = readFileSync(path, 'utf8')
  const declared = [...source.matchAll(/^export (?:async )?(?:function|class|const) (\w+)/gm)]
  const lists = [...source.matchAll(/^export \{([^}]*)\}/gm)].flatMap(([, list = '']) => list.split(','))
  const named = lists.map((name) => name.trim()).filter((name) => /^\w+$/.test(name))
  return [...declared.map(([, name = '']) => name), ...named]
}

/** The names an example uses and does not introduce. */
function wordsOf(example: string): string[] {
  const code = example.replace(/\/\/.*$|'[^'\n]*'/gm, '')
  const introduced = [
    ...code.matchAll(/\b(?:const|let) (?:\{([^}]*)\}|(\w+))|\((\w+)\) =>|\(\{ (\w+) \}\) =>/g),
  ]
  const own = new Set(introduced.flatMap((groups) => groups.slice(1).join(',').split(/\W+/)))
  return [...code.matchAll(/(?<![.\w])\w+/g)].map(([word]) => word).filter((word) => !own.has(word))
}
