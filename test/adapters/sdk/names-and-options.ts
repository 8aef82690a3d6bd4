import { readFileSync } from 'node:fs'
import ts from 'typescript'

/** Functions whose first object literal has the options of a task. */
const DEFINING = new Set(['task', 'schemaTask', 'schedules.task'])

/**
 * Which names of the SDK a task file uses, and which options it gives to tasks and to triggers: one text for each
 * combination.
 */
export function namesAndOptions(path: string): string {
  const file = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest)
  const found = new Set<string>()
  /** What the names of the file are called in the SDK; the whole module is ''. */
  const imported = new Map<string, string>()
  for (const statement of file.statements) if (ts.isImportDeclaration(statement)) noteImports(statement)
  const visit = (node: ts.Node): void => {
    if (ts.isPropertyAccessExpression(node)) {
      const name = nameOf(node)
      if (name !== undefined) found.add(name)
    }
    if (ts.isCallExpression(node)) noteCall(node)
    ts.forEachChild(node, visit)
  }
  visit(file)
  return [...found].toSorted().join(' ')

  function noteImports({ moduleSpecifier, importClause }: ts.ImportDeclaration): void {
    if (!ts.isStringLiteral(moduleSpecifier) || !moduleSpecifier.text.startsWith('@trigger.dev/sdk')) return
    const bindings = importClause?.namedBindings
    if (bindings === undefined) return
    if (ts.isNamespaceImport(bindings)) imported.set(bindings.name.text, '')
    else
      for (const { name, propertyName = name } of bindings.elements) {
        imported.set(name.text, propertyName.text)
        found.add(propertyName.text)
      }
  }

  function nameOf(node: ts.Expression): string | undefined {
    if (ts.isIdentifier(node)) return imported.get(node.text)
    if (!ts.isPropertyAccessExpression(node)) return undefined
    const of = nameOf(node.expression)
    return of === undefined ? undefined : [of, node.name.text].filter(Boolean).join('.')
  }

  function noteCall({ expression, arguments: given }: ts.CallExpression): void {
    const name = nameOf(expression)
    if (name !== undefined && DEFINING.has(name)) noteKeys('option', given[0], 2)
    else if (ts.isPropertyAccessExpression(expression) && /trigger|unwrap/i.test(expression.name.text)) {
      found.add(`.${expression.name.text}`)
      for (const argument of given.slice(1)) noteKeys(`.${expression.name.text}`, argument, 1)
    }
  }

  function noteKeys(of: string, node: ts.Node | undefined, depth: number): void {
    if (node === undefined || !ts.isObjectLiteralExpression(node) || depth === 0) return
    for (const property of node.properties) {
      if (property.name === undefined) continue
      const key = `${of}.${property.name.getText(file)}`
      found.add(key)
      if (ts.isPropertyAssignment(property)) noteKeys(key, property.initializer, depth - 1)
    }
  }
}
