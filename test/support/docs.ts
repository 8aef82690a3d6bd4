import { existsSync, readFileSync } from 'node:fs'

/** One ```ts block of a document, with what it promises to print or to throw. */
export interface DocBlock {
  readonly document: string
  /** The line of the document its code starts on. */
  readonly line: number
  /** What it is called, if its first line says so (`// tasks.ts`): it is not run by itself, but by others that need it. */
  readonly file: string | undefined
  /** The block, after the code of the `<!-- ts … -->` comment before it, if there is one. */
  readonly code: string
  /** How many lines of the code come from that comment. */
  readonly hiddenLines: number
  /** What its `// => …` comments say, in order. */
  readonly prints: readonly string[]
  /** The name or code of the error in its `// throws …` comment. */
  readonly throws: string | undefined
}

const FENCE = /^<!-- ts\n(?<hidden>.*?)^-->\n\s*(?=```ts\n)|^```(?<language>[^\n]*)\n(?<code>.*?)^```$/gms

/** Fences that look like code somebody would run, but that nothing here does. */
const UNCHECKED = ['js', 'mjs', 'javascript', 'typescript', 'tsx', 'jsx', 'mts']

/** Every ```ts block of a document; none when there is no such document. */
export function docBlocks(document: string): DocBlock[] {
  return existsSync(document) ? blocksOf(document, readFileSync(document, 'utf8')) : []
}

/** Throws for a fence that escapes the checks, such as ```typescript. */
export function blocksOf(document: string, text: string): DocBlock[] {
  const blocks: DocBlock[] = []
  let hidden = ''
  for (const { index, groups = {} } of text.matchAll(FENCE)) {
    const line = text.slice(0, index).split('\n').length + 1
    const { language, code = '' } = groups
    if (language === undefined) {
      hidden = groups['hidden'] ?? ''
      continue
    }
    if (UNCHECKED.includes(language))
      throw new Error(`${document}:${line - 1}: write \`\`\`ts, not \`\`\`${language}`)
    if (language === 'ts') blocks.push(block({ document, line, hidden, code }))
    hidden = ''
  }
  return blocks
}

function block(part: { document: string; line: number; hidden: string; code: string }): DocBlock {
  const { document, line, hidden, code } = part
  return {
    document,
    line,
    file: /^\/\/ ([\w-]+\.ts)$/m.exec(code.split('\n', 1)[0] ?? '')?.[1],
    code: hidden + code,
    hiddenLines: hidden.split('\n').length - 1,
    prints: [...code.matchAll(/\/\/ => (.*)$/gm)].map(([, printed = '']) => printed.trim()),
    throws: /\/\/ throws (\w+)/.exec(code)?.[1],
  }
}

/** Whether a printed text is the promised one: white space is all alike, `…` stands for anything. */
export function isAsPromised(printed: string, promised: string): boolean {
  const words = (text: string): string => text.trim().replace(/\s+/g, ' ')
  const pattern = words(promised)
    .split('…')
    .map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
    .join('.*')
  return new RegExp(`^${pattern}$`).test(words(printed))
}
