import { relative } from 'node:path'
import ts from 'typescript'

/** A type error in one of the files that were asked about. */
export interface TypeProblem {
  readonly path: string
  readonly line: number
  readonly message: string
}

/** Type-checks files with the project's own settings; `aliases` lead names of packages to files. */
export function typeProblems(
  paths: readonly string[],
  aliases: Readonly<Record<string, string>> = {},
): TypeProblem[] {
  const options = projectOptions()
  const program = ts.createProgram(paths, {
    ...options,
    paths: {
      ...options.paths,
      ...Object.fromEntries(Object.entries(aliases).map(([name, file]) => [name, [file]])),
    },
    declaration: false,
    isolatedDeclarations: false,
    jsx: ts.JsxEmit.ReactJSX,
    // Of a file in JavaScript only the syntax is checked.
    allowJs: true,
  })
  return paths.flatMap((path) =>
    ts
      .getPreEmitDiagnostics(program, program.getSourceFile(path))
      .map(({ file, start = 0, messageText }) => ({
        path: file ? relative('.', file.fileName) : path,
        line: file ? file.getLineAndCharacterOfPosition(start).line + 1 : 0,
        message: ts.flattenDiagnosticMessageText(messageText, '\n'),
      })),
  )
}

/** The names that each of the modules exports, types too. */
export function exportedNames(paths: readonly string[]): readonly (readonly string[])[] {
  const program = ts.createProgram(paths, projectOptions())
  const checker = program.getTypeChecker()
  return paths.map((path) => {
    const file = program.getSourceFile(path)
    const module = file && checker.getSymbolAtLocation(file)
    return module === undefined ? [] : checker.getExportsOfModule(module).map(({ name }) => name)
  })
}

function projectOptions(): ts.CompilerOptions {
  const settings = ts.readConfigFile('tsconfig.json', (path) => ts.sys.readFile(path)).config as unknown
  return ts.parseJsonConfigFileContent(settings, ts.sys, '.').options
}
