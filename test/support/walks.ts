import ts from 'typescript'
import { descendants, parse } from './modules.ts'

/** The contents of all blocks of a document that are fenced with a language. */
export function fencedBlocks(text: string, language: string): string[] {
  return [...text.matchAll(/^```(\w+)\n([\s\S]*?)\n```$/gm)].flatMap(([, found, block = '']) =>
    found === language ? [block] : [],
  )
}

/** One step of a walk: a function, or a member of a class or an interface, in a file. */
export interface Step {
  readonly path: string
  readonly name: string
}

/** The steps of a walk: a line each, with the path, the function and what happens there. */
export function stepsOf(block: string): Step[] {
  return block.split('\n').map((line) => {
    const [path = '', name = ''] = line.split(/\s+/)
    return { path, name }
  })
}

/** Everything that is wrong with a walk, one sentence each. `read` answers the text of a file, if it exists. */
export function wrongSteps(steps: readonly Step[], read: (path: string) => string | undefined): string[] {
  const files = new Map(steps.map(({ path }) => [path, read(path)]))
  return steps.flatMap(({ path, name }, index) => {
    const text = files.get(path)
    if (text === undefined) return [`${path} does not exist`]
    const { file } = parse(path, text)
    if (!namesIn(file).includes(name)) return [`${path} has no ${name}`]
    const own = name.slice(name.indexOf('.') + 1)
    const isCalled = [...files].some(
      ([other, code]) => other !== path && code !== undefined && new RegExp(`\\b${own}\\b`).test(code),
    )
    return index === 0 || isCalled ? [] : [`${path}: no other file of the walk names ${name}`]
  })
}

/** `persist`, `Waiter.resolve`, `TokenStore.settle`: functions, and the members of classes and interfaces. */
function namesIn(file: ts.SourceFile): string[] {
  return descendants(file).flatMap((node) => {
    if (ts.isFunctionDeclaration(node) && node.name !== undefined) return [node.name.text]
    if (!ts.isClassDeclaration(node) && !ts.isInterfaceDeclaration(node)) return []
    const { name, members } = node
    return [...members].flatMap((member) =>
      (ts.isMethodDeclaration(member) || ts.isMethodSignature(member)) && name !== undefined
        ? [`${name.text}.${member.name.getText(file)}`]
        : [],
    )
  })
}
