// What the files of a folder import from the SDK, and what the compiler says of them.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

export const SDK = /^@trigger\.dev\/sdk(\/v3)?$/

/** The files that import the SDK. */
export function filesOf(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /(?<!\.d)\.[cm]?tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .filter((path) => !path.includes('node_modules') && importedNames(path).length > 0)
    .toSorted()
}

/** The names that a file imports from the SDK; `*` for all of them. */
export function importedNames(path) {
  const text = readFileSync(path, 'utf8')
  if (!text.includes('@trigger.dev/sdk')) return []
  return ts
    .createSourceFile(path, text, ts.ScriptTarget.Latest)
    .statements.filter(
      (statement) => ts.isImportDeclaration(statement) && SDK.test(statement.moduleSpecifier.text),
    )
    .flatMap(({ importClause }) => {
      const bindings = importClause?.namedBindings
      if (bindings === undefined || ts.isNamespaceImport(bindings)) return ['*']
      return bindings.elements.map(({ name, propertyName = name }) => propertyName.text)
    })
}

/** The names that a module exports, and the type errors of the files with it, by file. */
export function checked(files, module, root) {
  const program = ts.createProgram([...files, module], {
    target: ts.ScriptTarget.ESNext,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    lib: ['lib.esnext.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
    jsx: ts.JsxEmit.Preserve,
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    resolveJsonModule: true,
    typeRoots: [join(root, 'node_modules/@types')],
    types: ['node'],
    paths: {
      '@trigger.dev/sdk': [module],
      '@trigger.dev/sdk/v3': [module],
      zod: [join(root, 'node_modules/zod')],
    },
  })
  const checker = program.getTypeChecker()
  const symbol = checker.getSymbolAtLocation(program.getSourceFile(module))
  const names = new Set(['*', ...checker.getExportsOfModule(symbol).map(({ name }) => name)])
  const problems = new Map(
    files.map((file) => [file, program.getSemanticDiagnostics(program.getSourceFile(file)).map(problemOf)]),
  )
  return { names, problems }
}

function problemOf({ file, start, messageText }) {
  const line = file.getLineAndCharacterOfPosition(start).line + 1
  const [message] = ts.flattenDiagnosticMessageText(messageText, '\n').split('\n')
  return { key: line, text: `line ${line}: ${message}` }
}
