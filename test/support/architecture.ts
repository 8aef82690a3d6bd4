import ts from 'typescript'
import { ambientUses } from './ambient.ts'
import { codeLines, descendants, parse, type Module } from './modules.ts'

/** What each folder below src may import, besides packages and itself. */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  primitives: [],
  clock: ['contract', 'primitives'],
  storage: ['contract', 'primitives'],
  core: ['contract', 'primitives'],
  http: ['core', 'contract', 'primitives'],
  client: ['core', 'contract', 'primitives'],
  testing: ['core', 'contract', 'primitives', 'clock', 'storage', 'http'],
}

/** The composition roots are the places that know the defaults. */
const COMPOSITION_ROOTS: Readonly<Record<string, readonly string[]>> = {
  'src/core/create-engine.ts': ['clock', 'storage'],
  'src/client/client.ts': ['clock'],
}

/** What a client shares with the engine at run time: of all else in core it sees the types. */
const LOADED_BY_CLIENTS = [
  'cursor-page',
  'errors',
  'retry',
  'run-failure',
  'run-status',
  'stream-reading',
].map((name) => `src/core/${name}.ts`)

/** What another process does is in no clock's time: a storage that waits for it has real timers, in this file. */
const REAL_TIMER = 'src/storage/real-timer.ts'

const LIMITS = { file: 320, function: 50, members: 15 }

/** Everything that is wrong with a source tree (path to text), one sentence each; empty when nothing is. */
export function violations(sources: ReadonlyMap<string, string>): string[] {
  const modules = [...sources].map(([path, text]) => parse(path, text))
  const each = [names, layers, clientLoads, entriesAndBarrels, exportForms, ambience, sizes]
  const found = modules.flatMap((module) =>
    each.flatMap((rule) => rule(module)).map((problem) => `${module.path}: ${problem}`),
  )
  return [...found, ...cycles(modules)]
}

function names({ path }: Module): string[] {
  const name = path.slice(path.lastIndexOf('/') + 1)
  if (/^(utils?|types?|helpers?|common|misc|index)\.ts$/.test(name) && path !== 'src/index.ts')
    return ['is named after nothing: one file, one noun']
  return /^[a-z][a-z0-9]*(-[a-z0-9]+)*\.ts$/.test(name) ? [] : ['is not kebab-case']
}

function layers({ path, layer, imports }: Module): string[] {
  if (layer !== undefined && !(layer in LAYERS)) return [`is in "${layer}", which is no layer`]
  const own = layer === undefined ? Object.keys(LAYERS) : [layer, ...(LAYERS[layer] ?? [])]
  const visible = [...own, ...(COMPOSITION_ROOTS[path] ?? [])]
  return imports.flatMap(({ specifier, target }) => {
    if (/^waitpoint(\/|$)/.test(specifier)) return [`imports its own package, "${specifier}"`]
    if (target === undefined) return []
    if (!target.endsWith('.ts')) return [`imports "${specifier}" without its extension`]
    const [root, folder = '', ...rest] = target.split('/')
    if (root !== 'src' || rest.length === 0) return [`imports ${target}, which is not below a layer`]
    return visible.includes(folder) ? [] : [`imports ${target}, but may see only ${visible.join(', ')}`]
  })
}

function clientLoads({ path, imports }: Module): string[] {
  if (!path.startsWith('src/client/') && !LOADED_BY_CLIENTS.includes(path)) return []
  return imports.flatMap(({ target, specifier, isTypeOnly }) => {
    if (isTypeOnly) return []
    if (specifier.startsWith('node:')) return [`loads ${specifier}, which no browser has`]
    const isEngine = target?.startsWith('src/core/') === true && !LOADED_BY_CLIENTS.includes(target)
    return isEngine ? [`loads ${target}: of core a client may load only ${LOADED_BY_CLIENTS.join(', ')}`] : []
  })
}

function entriesAndBarrels({ layer, file }: Module): string[] {
  const isReExport = (statement: ts.Statement): boolean =>
    ts.isExportDeclaration(statement) && statement.moduleSpecifier !== undefined
  const onlyReExports = file.statements.length > 0 && file.statements.every(isReExport)
  if (layer === undefined) return onlyReExports ? [] : ['is an entry and must only re-export']
  return onlyReExports ? ['is a barrel: import from the file that defines it'] : []
}

function exportForms({ file }: Module): string[] {
  return file.statements.flatMap((statement) => {
    const modifiers = ts.canHaveModifiers(statement) ? (ts.getModifiers(statement) ?? []) : []
    const isDefault =
      ts.isExportAssignment(statement) || modifiers.some(({ kind }) => kind === ts.SyntaxKind.DefaultKeyword)
    if (isDefault || exportsNamed(statement, 'default')) return ['has a default export']
    if (
      ts.isExportDeclaration(statement) &&
      !(statement.exportClause && ts.isNamedExports(statement.exportClause))
    )
      return ['has an "export *"']
    return ts.isImportDeclaration(statement) && !statement.importClause ? ['imports for a side effect'] : []
  })
}

function exportsNamed(statement: ts.Statement, name: string): boolean {
  if (!ts.isExportDeclaration(statement) || !statement.exportClause) return false
  return (
    ts.isNamedExports(statement.exportClause) &&
    statement.exportClause.elements.some((element) => element.name.text === name)
  )
}

function ambience({ path, layer, file }: Module): string[] {
  if (layer === 'clock' || path === REAL_TIMER) return []
  return ambientUses(file).map((use) => `uses ${use}, which only src/clock may`)
}

function sizes({ file }: Module): string[] {
  const problems = descendants(file).flatMap((node) => {
    const lines = ts.isFunctionLike(node) ? codeLines(node, file) : 0
    if (lines > LIMITS.function) return [`has a function of ${lines} lines at line ${lineOf(node, file)}`]
    const members = ts.isClassLike(node) ? publicMembers(node).size : 0
    return members > LIMITS.members
      ? [`has a class of ${members} public members at line ${lineOf(node, file)}`]
      : []
  })
  const lines = codeLines(file, file)
  return lines > LIMITS.file ? [`has ${lines} lines of code`, ...problems] : problems
}

function publicMembers(node: ts.ClassLikeDeclaration): Set<string> {
  const names = node.members.flatMap((member) => {
    if (!member.name || ts.isPrivateIdentifier(member.name)) return []
    const hidden =
      ts.getCombinedModifierFlags(member) & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)
    return hidden ? [] : [member.name.getText()]
  })
  return new Set(names)
}

const lineOf = (node: ts.Node, file: ts.SourceFile): number =>
  file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1

function cycles(modules: readonly Module[]): string[] {
  const byPath = new Map(modules.map((module) => [module.path, module]))
  const cleared = new Set<string>()
  const found: string[] = []
  const visit = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) {
      found.push(`import cycle: ${[...trail.slice(trail.indexOf(path)), path].join(' → ')}`)
      return
    }
    if (cleared.has(path)) return
    for (const { target } of byPath.get(path)?.imports ?? []) if (target) visit(target, [...trail, path])
    cleared.add(path)
  }
  for (const path of byPath.keys()) visit(path, [])
  return found
}

/** The three lists that must name the same entries. */
export interface EntryLists {
  /** `exports` of package.json. */
  readonly exportsMap: Readonly<Record<string, unknown>>
  /** `src/*.ts` on disk. */
  readonly files: readonly string[]
  /** What the build is told to build. */
  readonly built: readonly string[]
}

/** Where the exports map, the files directly below src and the build disagree. */
export function entryDisagreements({ exportsMap, files, built }: EntryLists): string[] {
  const expected = Object.fromEntries(
    files.map((file) => {
      const name = file.replace(/^src\/(.*)\.ts$/, '$1')
      const output = { types: `./dist/${name}.d.ts`, default: `./dist/${name}.js` }
      return [name === 'index' ? '.' : `./${name}`, output]
    }),
  )
  const keys = new Set(
    [...Object.keys(exportsMap), ...Object.keys(expected)].filter((key) => key !== './package.json'),
  )
  const wrong = [...keys].filter((key) => JSON.stringify(exportsMap[key]) !== JSON.stringify(expected[key]))
  const unbuilt = files.filter((file) => !built.includes(file))
  const stray = built.filter((file) => !files.includes(file))
  return [
    ...wrong.map(
      (key) => `exports["${key}"] should be ${expected[key] ? JSON.stringify(expected[key]) : 'absent'}`,
    ),
    ...unbuilt.map((file) => `${file} is not built`),
    ...stray.map((file) => `${file} is built but not directly below src`),
  ]
}
