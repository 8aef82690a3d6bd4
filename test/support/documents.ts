import { readFileSync, readdirSync } from 'node:fs'

/** One block of code of a document, with what it promises to print or to throw. */
export interface DocumentBlock {
  readonly document: string
  /** The line of the document its code starts on. */
  readonly line: number
  readonly language: string
  /** Its path in the folder of its page, if its first line says so (`// tasks.ts`). Other blocks of the page may import it. */
  readonly file: string | undefined
  readonly code: string
  /** The texts of its `// => …` comments, in order. */
  readonly prints: readonly string[]
  /** The name or code of the error in its `// throws …` comment. */
  readonly throws: string | undefined
}

const FENCE = /^(?<indent>[ \t]*)(?<ticks>`{3,})(?<language>[^\n`]*)\n(?<code>.*?)^[ \t]*\k<ticks>$/gms
const FILE_NAME = /^\/\/ (?<file>[\w./[\]@-]+\.(?:ts|tsx|js))$/
const HIDDEN = /^<!-- ts$/m

/** `ts` is executed. The others are only checked; they are whole files, so they have a name. */
const LANGUAGES = ['ts', 'tsx', 'js']

/** Fences that look like code to run, but that no test would run. */
const UNCHECKED = ['mjs', 'javascript', 'typescript', 'jsx', 'mts']

/** Markdown files with code that is executed. */
export function executedDocuments(): string[] {
  return ['README.md', 'ARCHITECTURE.md', ...pagesOfDocs()]
}

/** Every page under `docs/`, in folders too. */
export function pagesOfDocs(): string[] {
  return readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .map((path) => `docs/${path}`)
    .filter((path) => path.endsWith('.md'))
    .sort()
}

/** The blocks of a document. */
export function documentBlocks(document: string): DocumentBlock[] {
  return blocksOf(document, readFileSync(document, 'utf8'))
}

/** The lines of the ```console blocks of a document: what its readers are shown to see. */
export function transcriptsOf(document: string): string[][] {
  return [...readFileSync(document, 'utf8').matchAll(FENCE)]
    .filter(({ groups }) => groups?.['language'] === 'console')
    .map(({ groups }) => (groups?.['code'] ?? '').trimEnd().split('\n'))
}

/** Throws for a block that would escape the checks, such as ```typescript, and for code that readers cannot see. */
export function blocksOf(document: string, text: string): DocumentBlock[] {
  const hidden = HIDDEN.exec(text)
  if (hidden !== null)
    throw new Error(`${document}:${lineAt(text, hidden.index)}: show all of the code, not <!-- ts`)
  const blocks: DocumentBlock[] = []
  for (const { index, groups = {} } of text.matchAll(FENCE)) {
    const { indent = '', language = '', code = '' } = groups
    const place = `${document}:${lineAt(text, index)}`
    if (UNCHECKED.includes(language)) throw new Error(`${place}: write \`\`\`ts, not \`\`\`${language}`)
    if (!LANGUAGES.includes(language)) continue
    if (indent !== '') throw new Error(`${place}: begin the \`\`\`${language} block at the start of the line`)
    const block = blockOf({ document, line: lineAt(text, index) + 1, language, code })
    if (language !== 'ts' && block.file === undefined)
      throw new Error(`${place}: name the file in the first line of the \`\`\`${language} block`)
    if (block.file !== undefined && blocks.some(({ file }) => file === block.file))
      throw new Error(`${place}: there is a file ${block.file} on this page already`)
    blocks.push(block)
  }
  return blocks
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length
}

function blockOf(part: Pick<DocumentBlock, 'document' | 'line' | 'language' | 'code'>): DocumentBlock {
  return {
    ...part,
    file: FILE_NAME.exec(part.code.split('\n', 1)[0] ?? '')?.groups?.['file'],
    prints: [...part.code.matchAll(/\/\/ => (.*)$/gm)].map(([, printed = '']) => printed.trim()),
    throws: /\/\/ throws ([A-Z]\w+)/.exec(part.code)?.[1],
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
