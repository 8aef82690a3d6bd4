import { readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import ts from 'typescript'

/** One parsed source file and what it imports of ours. */
export interface Module {
  /** From the root of the project: `src/core/engine.ts`. */
  readonly path: string
  /** The folder below src it lives in; `undefined` for an entry. */
  readonly layer: string | undefined
  readonly file: ts.SourceFile
  readonly imports: readonly Import[]
  /** The names that it imports or exports again, each from where. */
  readonly imported: readonly ImportedName[]
}

export interface ImportedName {
  /** The path of a relative import; `undefined` for a package. */
  readonly target: string | undefined
  /** The name that the other file exports; `*` for all of it. */
  readonly name: string
}

export interface Import {
  readonly specifier: string
  /** The path of a relative import; `undefined` for a package. */
  readonly target: string | undefined
  /** It imports types only, and loads nothing. */
  readonly isTypeOnly: boolean
}

/** Path to text of every TypeScript file below a folder. */
export function readSources(folder: string): Map<string, string> {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  )
  return new Map(
    paths.map((name) => {
      const path = posix.join(folder, name)
      return [path, readFileSync(path, 'utf8')]
    }),
  )
}

export function parse(path: string, text: string): Module {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.ESNext, true)
  const [, layer, ...rest] = path.split('/')
  const targetOf = (specifier: string): string | undefined =>
    specifier.startsWith('.') ? posix.join(posix.dirname(path), specifier) : undefined
  return {
    path,
    layer: rest.length === 0 ? undefined : layer,
    file,
    imports: importsOf(file).map(({ specifier, isTypeOnly }) => ({
      specifier,
      target: targetOf(specifier),
      isTypeOnly,
    })),
    imported: file.statements.flatMap(importedNames).map(({ specifier, name }) => ({
      target: targetOf(specifier),
      name,
    })),
  }
}

/** The names that a statement takes from another module. */
function importedNames(statement: ts.Statement): { specifier: string; name: string }[] {
  const isImport = ts.isImportDeclaration(statement)
  if (!isImport && !ts.isExportDeclaration(statement)) return []
  const { moduleSpecifier } = statement
  if (moduleSpecifier === undefined || !ts.isStringLiteral(moduleSpecifier)) return []
  const bindings = isImport ? statement.importClause?.namedBindings : statement.exportClause
  const specifier = moduleSpecifier.text
  if (bindings === undefined || !('elements' in bindings)) return [{ specifier, name: '*' }]
  return bindings.elements.map(({ propertyName, name }) => ({ specifier, name: (propertyName ?? name).text }))
}

/** `import`, `import type`, `export … from`, `import()` of a value and of a type alike. */
function importsOf(file: ts.SourceFile): Pick<Import, 'specifier' | 'isTypeOnly'>[] {
  return descendants(file).flatMap((node) => {
    const specifier =
      ts.isImportDeclaration(node) || ts.isExportDeclaration(node)
        ? node.moduleSpecifier
        : ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)
          ? node.argument.literal
          : ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword
            ? node.arguments[0]
            : undefined
    if (specifier === undefined || !ts.isStringLiteralLike(specifier)) return []
    return [{ specifier: specifier.text, isTypeOnly: isTypeOnly(node) }]
  })
}

function isTypeOnly(node: ts.Node): boolean {
  if (ts.isImportDeclaration(node)) return node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword
  return ts.isImportTypeNode(node) || (ts.isExportDeclaration(node) && node.isTypeOnly)
}

/** Every node below this one, in source order. */
export function descendants(node: ts.Node): ts.Node[] {
  const found: ts.Node[] = []
  const visit = (child: ts.Node): void => {
    found.push(child)
    ts.forEachChild(child, visit)
  }
  ts.forEachChild(node, visit)
  return found
}
