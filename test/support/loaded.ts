import ts from 'typescript'
import { descendants, parse, readSources } from './modules.ts'

/** What a file loads only when it comes to it: `import()`. */
function loadedLater(file: ts.SourceFile): ReadonlySet<string> {
  const later = new Set<string>()
  for (const node of descendants(file)) {
    if (!ts.isCallExpression(node) || node.expression.kind !== ts.SyntaxKind.ImportKeyword) continue
    const [specifier] = node.arguments
    if (specifier !== undefined && ts.isStringLiteralLike(specifier)) later.add(specifier.text)
  }
  return later
}

/** Everything that loading a file of ours loads: files, and packages. */
export function loadedBy(entry: string): ReadonlySet<string> {
  const sources = readSources('src')
  const loaded = new Set<string>()
  const visit = (path: string): void => {
    if (loaded.has(path)) return
    loaded.add(path)
    const source = sources.get(path)
    if (source === undefined) return
    const { file, imports } = parse(path, source)
    const later = loadedLater(file)
    for (const { specifier, target, isTypeOnly } of imports) {
      if (!isTypeOnly && !later.has(specifier)) visit(target ?? specifier)
    }
  }
  visit(entry)
  return loaded
}
