// Mutants of a TypeScript file: its text with one small mistake. `mutantsOf` lists them in the order of the text, each with a name
// that stays while the text around it changes: the member that it is in, the kind of the mistake, and what became of what.
import { readFileSync } from 'node:fs'
import ts from 'typescript'
import { changesOf } from './values.mjs'

/** Gives control away, as a storage does that reads and writes without a transaction. */
const TURN = 'await new Promise((resolve) => setImmediate(resolve));'

const OPERATORS = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '+': '-',
  '-': '+',
  '&&': '||',
  '||': '&&',
  '+=': '-=',
}
const METHODS = { some: 'every', every: 'some', min: 'max', max: 'min' }
/** Calls without which their object has the same type. */
const FILTERS = ['filter', 'sort', 'slice']
/** Texts of one kind are mistaken for each other. */
const TEXTS = [
  ['EXECUTING', 'WAITING'],
  ['QUEUED', 'DELAYED'],
  ['PENDING_VERSION', 'EXECUTING'],
  ['COMPLETED', 'TIMED_OUT'],
  ['CRASHED', 'COMPLETED'],
  ['EXPIRED', 'COMPLETED'],
  ['MANUAL', 'SLEEP'],
  ['SLEEP', 'MANUAL'],
]

/**
 * Every mutant of a file: `{ name, text }`. `isGap`: it only gives control away between two statements of an asynchronous method.
 * `value`: it only changes a value, and how.
 */
export function mutantsOf(source) {
  const file = ts.createSourceFile('source.ts', source, ts.ScriptTarget.Latest, true)
  const counts = new Map()
  const mutants = []
  const found = (node, kind, { start = node.getStart(file), end = node.getEnd(), becomes }) => {
    const change = `${line(source.slice(start, end))} -> ${line(becomes)}`
    const name = `${memberOf(node)}: ${kind}${becomes === TURN ? '' : `: ${change}`}`
    const count = (counts.get(name) ?? 0) + 1
    counts.set(name, count)
    mutants.push({
      name: count === 1 ? name : `${name} (${count})`,
      isGap: becomes === TURN,
      text: source.slice(0, start) + becomes + source.slice(end),
    })
  }
  const visit = (node) => {
    if (ts.isTypeNode(node) || ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) return
    if (ts.isImportDeclaration(node)) return
    for (const mutate of MUTATIONS) mutate(node, (kind, change) => found(change.of ?? node, kind, change))
    ts.forEachChild(node, visit)
  }
  visit(file)
  return [...mutants, ...valueMutants(file)]
}

/** The tables of records that calls are given or answer. What the others have follows from these, or is counted. */
const RECORDS = ['runs', 'tokens', 'streams', 'chunks', 'writers', 'settings']

/** Of some tables no more than this is answered: the rest names the row. */
const ANSWERED = { chunks: ['text'], writers: ['last'] }
/** Of these there are lists. */
const LISTED = ['runs', 'tokens']

/** Those that change a field of a record in a table, as it is stored or as it is read: `readonly runs: Table<RunRecord> = new Table()`. */
function valueMutants(file) {
  const source = file.text
  const contract = ['records', 'storage'].map((name) => {
    const text = readFileSync(new URL(`../../src/contract/${name}.ts`, import.meta.url), 'utf8')
    return ts.createSourceFile(`${name}.ts`, text, ts.ScriptTarget.Latest, true)
  })
  const types = new Map(
    [...contract, file]
      .flatMap(({ statements }) => statements)
      .filter((one) => ts.isInterfaceDeclaration(one) || ts.isTypeAliasDeclaration(one))
      .map((one) => [one.name.text, one]),
  )
  const database = file.statements.find((one) => one.name?.text === 'TemplateDatabase')
  const tables = database.members.filter(({ name }) => RECORDS.includes(name?.getText()))
  return tables.flatMap(({ name, type, initializer }) => {
    const table = name.getText()
    const isUsed = (method) => new RegExp(`#db\\.${table}(\\.${method}\\(|[,\\]])`).test(source)
    const methods = ['put', 'get', ...(LISTED.includes(table) ? ['where'] : [])].filter(isUsed)
    const isAnswered = ({ path }) => ANSWERED[table]?.includes(path[0]) ?? true
    return fieldsOf(type.typeArguments[0], types)
      .filter(isAnswered)
      .flatMap((field) =>
        methods.flatMap((method) =>
          changesOf(field, method).map((value) => {
            const change = JSON.stringify({ path: field.path, name: value })
            const becomes = `changed(${initializer.getText()}, '${method}', ${change})`
            const text =
              source.slice(0, initializer.getStart()) + becomes + source.slice(initializer.getEnd())
            return {
              name: `${table}: ${method} ${field.path.join('.')}: ${value}`,
              text,
              isGap: false,
              value,
            }
          }),
        ),
      )
  })
}

/** The texts, numbers and lists in a type: `{ path, kind, isOptional }`. A status is none: it is one of a few. */
function fieldsOf(type, types, { path = [], isOptional = false } = {}) {
  const inside = (node, more = {}) => fieldsOf(node, types, { path, isOptional, ...more })
  if (type === undefined) return []
  if (type.kind === ts.SyntaxKind.StringKeyword) return [{ path, kind: 'text', isOptional }]
  if (type.kind === ts.SyntaxKind.NumberKeyword) return [{ path, kind: 'number', isOptional }]
  if (ts.isTypeOperatorNode(type)) return inside(type.type)
  if (ts.isArrayTypeNode(type)) {
    const items = inside(type.elementType, { path: [...path, '[]'], isOptional: false })
    return [{ path, kind: items[0]?.kind === 'text' ? 'names' : 'list', isOptional }, ...items]
  }
  if (ts.isUnionTypeNode(type) || ts.isIntersectionTypeNode(type))
    return type.types.flatMap((one) => inside(one))
  if (ts.isTypeReferenceNode(type)) {
    const found = types.get(type.typeName.getText())
    return found === undefined ? [] : inside(found.type ?? found)
  }
  return (type.members ?? []).flatMap((member) =>
    inside(member.type, {
      path: [...path, member.name.getText()],
      isOptional: member.questionToken !== undefined,
    }),
  )
}

/**
 * Adds a call of `step` with the name of the member to each turn of a loop, and to each method: what does not end can be stopped,
 * and it is known what is called.
 */
export function withSteps(text) {
  const file = ts.createSourceFile('source.ts', text, ts.ScriptTarget.Latest, true)
  const inserts = []
  const visit = (node) => {
    const isLoop = ts.isIterationStatement(node, false)
    const body = isLoop ? node.statement : isMember(node) || isAsync(node) ? node.body : undefined
    const step = body && `step('${memberOf(body)}')`
    if (body !== undefined && ts.isBlock(body)) inserts.push([body.getStart(file) + 1, `${step};`])
    else if (isLoop) inserts.push([body.getStart(file), `{${step};`], [body.getEnd(), '}'])
    else if (body !== undefined) inserts.push([body.getStart(file), `(${step}, `], [body.getEnd(), ')'])
    ts.forEachChild(node, visit)
  }
  visit(file)
  let stepped = text
  for (const [at, more] of inserts.sort(([one], [other]) => other - one))
    stepped = stepped.slice(0, at) + more + stepped.slice(at)
  return stepped
}

const MUTATIONS = [
  function gaps(node, found) {
    if (!isAsync(node) || !ts.isBlock(node.body)) return
    // Between two uses of what is stored: before the first one and after the last one nothing can be seen of it.
    const all = statementsOf(node.body)
    const isUse = (statement) => statement.getText().includes('this.')
    for (const statement of all.slice(all.findIndex(isUse) + 1, all.findLastIndex(isUse) + 1)) {
      const first = line(statement.getText().split('\n')[0])
      found(`gap before ${first}`, { of: statement, end: statement.getStart(), becomes: TURN })
    }
  },
  function operators(node, found) {
    if (!ts.isBinaryExpression(node)) return
    const { left, right, operatorToken } = node
    const operator = operatorToken.getText()
    const other = OPERATORS[operator]
    if (other !== undefined) found('operator', { becomes: `${left.getText()} ${other} ${right.getText()}` })
    if (isOfIds(node)) found('order', { becomes: node.getText().replaceAll('.id', '.createdAt') })
    if (operator === '&&' || operator === '||' || operator === '??') {
      if (operator !== '??' || !isNone(right)) found('drop right', { becomes: left.getText() })
      found('drop left', { becomes: right.getText() })
    }
  },
  function conditions(node, found) {
    if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken)
      found('negate', { becomes: node.operand.getText() })
    if (ts.isIfStatement(node))
      for (const becomes of ['true', 'false'])
        found('condition', { of: node.expression, ...at(node.expression), becomes })
    if (ts.isConditionalExpression(node))
      for (const branch of [node.whenTrue, node.whenFalse])
        found('branch', { becomes: `(${branch.getText()})` })
  },
  function constants(node, found) {
    if (node.kind === ts.SyntaxKind.TrueKeyword) found('constant', { becomes: 'false' })
    if (node.kind === ts.SyntaxKind.FalseKeyword) found('constant', { becomes: 'true' })
    if (ts.isNumericLiteral(node) && !isSign(node))
      found('off by one', { becomes: `${Number(node.text) + 1}` })
    if (ts.isIdentifier(node) && node.text === 'Infinity' && !ts.isPrefixUnaryExpression(node.parent))
      found('constant', { becomes: '0' })
    if (!ts.isStringLiteral(node)) return
    const other = TEXTS.find(([text]) => text === node.text)?.[1]
    if (other !== undefined) found('constant', { becomes: `'${other}'` })
  },
  function statements(node, found) {
    const isDropped =
      ts.isExpressionStatement(node) ||
      ts.isForOfStatement(node) ||
      ts.isBreakStatement(node) ||
      ts.isContinueStatement(node)
    if (isDropped) found('drop', { becomes: ';' })
  },
  function properties(node, found) {
    if (!ts.isObjectLiteralExpression(node) || node.properties.length < 2) return
    for (const property of node.properties)
      if (property.getText().length < 60 && !isAsync(property.initializer))
        found('drop', { of: property, ...at(property), becomes: '...{}' })
  },
  function calls(node, found) {
    if (!ts.isCallExpression(node)) return
    const args = node.arguments
    for (const [index, argument] of args.entries()) {
      const next = args[(index + 1) % args.length]
      if (next !== argument && isPlain(argument) && isPlain(next))
        found('argument', { of: argument, ...at(argument), becomes: next.getText() })
    }
    if (!ts.isPropertyAccessExpression(node.expression)) return
    const { name, expression } = node.expression
    const other = METHODS[name.text]
    if (other !== undefined) found('method', { of: name, ...at(name), becomes: other })
    if (FILTERS.includes(name.text)) found('drop', { becomes: expression.getText() })
    if (name.text === 'slice')
      for (const argument of args)
        found('off by one', { of: argument, ...at(argument), becomes: `${argument.getText()} + 1` })
  },
  function elements(node, found) {
    if (!ts.isArrayLiteralExpression(node) || node.elements.length < 2) return
    for (const element of node.elements) found('drop', { of: element, ...at(element), becomes: '...[]' })
  },
  function fields(node, found) {
    // Of two records or requests at hand one is mistaken for the other.
    if (!ts.isPropertyAccessExpression(node) || node.questionDotToken !== undefined) return
    const other = FIELDS.find(([name]) => name === node.name.text)?.[1]
    if (other !== undefined) found('field', { of: node.name, ...at(node.name), becomes: other })
  },
]

/** Fields with values of one kind. */
const FIELDS = [
  ['createdAt', 'updatedAt'],
  ['finishedAt', 'startedAt'],
  ['wakeAt', 'createdAt'],
  ['timeoutAt', 'createdAt'],
  ['slotUntil', 'updatedAt'],
  ['runId', 'tokenId'],
  ['tokenId', 'runId'],
  ['scope', 'value'],
  ['attempt', 'epoch'],
  ['policyAttempt', 'attempt'],
  ['epoch', 'attempt'],
  ['interruptions', 'attempt'],
]

/** The statements of a block and of the blocks in it. */
function statementsOf(block) {
  return block.statements.flatMap((statement) => {
    const isLoop = ts.isIterationStatement(statement, false)
    const inner = isLoop
      ? [statement.statement]
      : ts.isIfStatement(statement)
        ? [statement.thenStatement]
        : []
    return [statement, ...inner.filter(ts.isBlock).flatMap(statementsOf)]
  })
}

function isAsync(node) {
  return (
    node?.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.AsyncKeyword) === true &&
    node.body !== undefined
  )
}

/** Whether a default is what `undefined` stands for in most places: without it only the types are wrong. */
function isNone(node) {
  return ['Infinity', '-Infinity', '[]', '{}', "''"].includes(node.getText())
}

/** Whether a number is only greater or less than 0, as the answer of a comparison. */
function isSign({ parent }) {
  return (
    ts.isConditionalExpression(parent) ||
    (ts.isPrefixUnaryExpression(parent) && ts.isConditionalExpression(parent.parent))
  )
}

/** Whether two records are compared by their ids. */
function isOfIds({ left, right }) {
  return [left, right].every((side) => ts.isPropertyAccessExpression(side) && side.name.text === 'id')
}

/** Whether an argument can be taken for another one. */
function isPlain(node) {
  return !ts.isArrowFunction(node) && !ts.isObjectLiteralExpression(node) && !ts.isSpreadElement(node)
}

function at(node) {
  return { start: node.getStart(), end: node.getEnd() }
}

/** The method or function that holds a node, with its store. */
function memberOf(node) {
  const names = []
  for (let each = node; each !== undefined; each = each.parent) {
    const isStore = ts.isPropertyDeclaration(each)
    const isCall = ts.isPropertyAssignment(each) && isAsync(each.initializer)
    if (isStore || isCall || isMember(each)) names.unshift(each.name?.getText() ?? 'constructor')
  }
  return names.join('.') || 'file'
}

function isMember(node) {
  return ts.isMethodDeclaration(node) || ts.isFunctionDeclaration(node) || ts.isConstructorDeclaration(node)
}

function line(text) {
  const one = text.replace(/\s+/g, ' ')
  return one.length <= 90 ? one : `${one.slice(0, 60)}…${one.slice(-29)}`
}
