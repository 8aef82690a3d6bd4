import ts from 'typescript'
import { descendants } from './modules.ts'

const GLOBALS = ['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask', 'performance', 'globalThis']

const PROPERTIES = [
  'Date.now',
  'Math.random',
  'crypto.randomUUID',
  'crypto.randomBytes',
  'crypto.getRandomValues',
  'process.nextTick',
  'process.hrtime',
  'AbortSignal.timeout',
]

const IMPORTS: Readonly<Record<string, RegExp>> = {
  timers: /^/,
  'timers/promises': /^/,
  perf_hooks: /^/,
  crypto: /^(random|getRandomValues|webcrypto)/,
}

/** Every use of the world's time, turns and randomness in a file. */
export function ambientUses(file: ts.SourceFile): string[] {
  return descendants(file).flatMap((node) => {
    if (ts.isImportDeclaration(node)) return ambientImports(node)
    if (ts.isPropertyAccessExpression(node))
      return PROPERTIES.filter((property) => property === node.getText())
    if (isDateOfNow(node)) return ['new Date()']
    return ts.isIdentifier(node) && GLOBALS.includes(node.text) && isReference(node) ? [node.text] : []
  })
}

function isDateOfNow(node: ts.Node): boolean {
  if (ts.isCallExpression(node)) return node.expression.getText() === 'Date'
  return (
    ts.isNewExpression(node) && node.expression.getText() === 'Date' && (node.arguments ?? []).length === 0
  )
}

/** Not the name of a member or a declaration of ours, such as `clock.setTimeout` or `{ performance: 1 }`. */
function isReference(node: ts.Identifier): boolean {
  return (node.parent as { readonly name?: unknown }).name !== node
}

function ambientImports(node: ts.ImportDeclaration): string[] {
  const module = (node.moduleSpecifier as ts.StringLiteral).text.replace(/^node:/, '')
  const banned = IMPORTS[module]
  const bindings = node.importClause?.namedBindings
  if (!banned || !bindings || !ts.isNamedImports(bindings)) return banned?.test('') ? [module] : []
  const names = bindings.elements.map((element) => (element.propertyName ?? element.name).text)
  return names.filter((name) => banned.test(name)).map((name) => `${name} of ${module}`)
}
