import { posix } from 'node:path'
import ts from 'typescript'
import { ambientUses } from './ambient.ts'
import { descendants, type ImportedName, type Module, parse } from './modules.ts'

/** The layers below `src`, and which others each may import, besides packages and itself. */
export const LAYERS: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  primitives: [],
  api: ['contract', 'primitives'],
  hosted: ['api', 'contract', 'primitives'],
  clock: ['contract', 'primitives'],
  generated: ['contract'],
  storage: ['generated', 'contract', 'primitives'],
  questions: ['api', 'contract', 'primitives'],
  core: ['questions', 'hosted', 'api', 'contract', 'primitives'],
  client: ['hosted', 'api', 'contract', 'primitives'],
  react: ['client', 'api', 'contract', 'primitives'],
  'answer-page': ['api', 'contract', 'primitives'],
  http: ['core', 'answer-page', 'questions', 'hosted', 'api', 'contract', 'primitives'],
  console: ['http', 'core', 'answer-page', 'questions', 'api', 'contract', 'primitives'],
  testing: ['http', 'core', 'questions', 'api', 'clock', 'storage', 'contract', 'primitives'],
  adapters: ['core', 'hosted', 'api', 'clock', 'contract', 'primitives'],
  cli: [
    'adapters',
    'testing',
    'console',
    'http',
    'client',
    'core',
    'storage',
    'clock',
    'hosted',
    'api',
    'contract',
    'primitives',
  ],
}

/** Layers that use the engine as an application does: of these others they see what the entries export. */
const PUBLIC_ONLY: Readonly<Record<string, readonly string[]>> = {
  adapters: ['core', 'clock', 'hosted', 'api', 'contract'],
}
/**
 * What adapters see besides. `plainClock`: `Date` and `setTimeout`, which an application has without the package. The rest is how
 * `waitpoint/sdk` and the engine know each other's values and tasks, and says nothing of the engine's inside.
 */
const SEEN_BESIDES: Readonly<Record<string, readonly string[]>> = {
  'src/clock/plain.ts': ['plainClock'],
  'src/contract/queue-limits.ts': ['MOST_QUEUE_LIMIT'],
  'src/hosted/headers.ts': ['RATE_RESET'],
  'src/hosted/queue-item.ts': ['HostedQueueName', 'queueItem', 'queueNameOf'],
  'src/hosted/statuses.ts': ['OTHER_STATUSES'],
  'src/api/cursor-page.ts': ['Cursor', 'cursorPages', 'LoadedPage'],
  'src/api/duration-boundaries.ts': ['CALL_BOUNDARIES', 'RUN_BOUNDARIES'],
  'src/api/errors.ts': ['StoredError'],
  'src/api/noted-value.ts': ['asStored', 'notesOf', 'plainValue', 'TAKES_NOTES', 'TakesNotes', 'withNotes'],
  'src/api/queue.ts': ['DECLARED_LIMITS', 'DeclaresLimits'],
  'src/api/retry.ts': ['checkRetry', 'retryDelayMs'],
  'src/api/run-place.ts': ['CALL_END', 'CallEnd', 'callingRun', 'HasRunPlace', 'RunPlace', 'SettlesCalls'],
  'src/api/shown-run.ts': ['PollsAs'],
  'src/api/standard-schema.ts': ['SchemaResult'],
  'src/api/trigger-marks.ts': ['BatchMark', 'TriggerMarks', 'withMarks'],
}
/** Layers that stand beside the engine: of its rooms they see what `src/index.ts` exports, and the inner door. */
const BESIDE_ENGINE: readonly string[] = ['http', 'console', 'testing', 'cli']
const INNER_DOOR = 'src/core/inside.ts'
/** Has all of `src/core` there that is loaded late. */
const ALL_LOADED = 'src/core/all-loaded.ts'

/**
 * The rooms of a layer, folders and files alike, from the ground floor up: each may import only those before it. Every
 * entry of a folder that is listed here has its place.
 */
export const ROOMS: Readonly<Record<string, readonly string[]>> = {
  'src/clock': [
    'timer-callback',
    'real-io',
    'macrotask-turn',
    'crypto-random',
    'seeded-random',
    'patience',
    'stall-watch',
    'stopped',
    'next-frame',
    'plain',
    'system',
    'virtual',
    'test',
  ],
  'src/storage': [
    'run-draft',
    'suspect-claim',
    'hint-board',
    'made-id',
    'stream-writers',
    'sql-rows',
    'inspection',
    'real-timer',
    'memory',
    'sqlite',
    'postgres',
  ],
  'src/core': [
    'diagnostics',
    'attempt',
    'upcalls',
    'host',
    'views',
    'changes',
    'slots',
    'waits',
    'door',
    'streams',
    'execution',
    'kernel',
    'reading',
    'namespaces',
    'schedules',
    'ambient',
    'shutdown',
    'engine',
    'create-engine',
    'observed',
    'inside',
    'all-loaded',
  ],
  'src/client': ['namespaces', 'connection', 'wire', 'following', 'calls', 'client'],
  'src/react': ['subscriptions', 'sources', 'provider', 'following', 'calls', 'question', 'conversation'],
  'src/http': [
    'limits',
    'refusal',
    'live-request',
    'node-listener',
    'connections',
    'operation',
    'batches',
    'requests',
    'page-body',
    'access',
    'answer-form',
    'answer-pages',
    'route-context',
    'route',
    'events',
    'runs',
    'tokens',
    'answer-routes',
    'streams',
    'shapes',
    'schedules',
    'queues',
    'probes',
    'access-routes',
    'routes',
    'openapi',
    'create-handler',
    'serve',
  ],
  'src/answer-page': ['form', 'texts', 'values', 'data', 'accent', 'style', 'controls', 'page'],
  'src/console': [
    'values',
    'segments',
    'style',
    'script',
    'marks',
    'page',
    'refused',
    'options',
    'signed-text',
    'session',
    'key-attempts',
    'login-link',
    'form',
    'outcome',
    'last-day',
    'visit',
    'sought',
    'records',
    'filters',
    'search',
    'pages',
    'actions',
    'many',
    'events',
    'handler',
  ],
  'src/testing': [
    'test-error',
    'storages',
    'conformance',
    'witness',
    'test-clock',
    'fixture',
    'create-test-engine',
    'exploration',
    'explore',
    'outcomes',
    'in-flight',
    'check-in-flight',
    'history',
    'replay-history',
    'explore-history',
    'export-repro',
    'arbitraries',
    'vitest',
  ],
  'src/cli': [
    'exit',
    'signature',
    'given',
    'output',
    'command',
    'words',
    'present',
    'secret-key',
    'loading',
    'reach',
    'doctor',
    'dev',
    'commands',
    'help',
    'program',
    'main',
  ],
  'src/adapters': ['sdk', 'otel', 'ai'],
  'src/adapters/ai': [
    'refused-chat',
    'turn',
    'history',
    'approval',
    'part',
    'chat-request',
    'chat-stream',
    'chat-task',
    'chat-handler',
  ],
  'src/adapters/otel': ['attributes', 'due-at', 'traces', 'metrics', 'log-records', 'telemetry'],
  'src/adapters/sdk': [
    'untyped',
    'hosted-only',
    'error-code',
    'engine-pattern',
    'page',
    'service-only',
    'service-errors',
    'option-types',
    'request-options',
    'body-filter',
    'cache',
    'told-once',
    'values',
    'json-source',
    'stored',
    'unchecked',
    'schema',
    'context',
    'hooks',
    'config',
    'current-run',
    'jitter',
    'lifecycle',
    'queue',
    'timeout',
    'idempotency-keys',
    'trigger-options',
    'task-types',
    'catalogue',
    'triggering',
    'define-task',
    'tasks',
    'wait',
    'retry',
    'metadata',
    'input-streams',
    'streams',
    'hosted-run',
    'run-list',
    'runs',
    'batch',
    'offset-page',
    'queues',
    'schedules',
    'tags',
    'locals',
    'logger',
    'usage',
    'envvars',
    'auth',
    'process-life',
  ],
}

/** The programs that are built beside the entries, by their names in `bin` of package.json. */
const PROGRAMS: Readonly<Record<string, string>> = { waitpoint: 'src/cli/main.ts' }

/** The composition roots are the places that know the defaults. */
const COMPOSITION_ROOTS: Readonly<Record<string, readonly string[]>> = {
  'src/core/create-engine.ts': ['clock', 'storage'],
  'src/client/client.ts': ['clock'],
  'src/react/provider.ts': ['clock'],
  'src/http/serve.ts': ['console'],
}

/** Real time of another process is in no clock: a storage that waits for one has real timers, in this file. */
const REAL_TIMER = 'src/storage/real-timer.ts'

/** Everything that is wrong with a source tree (path to text), one sentence each; empty when nothing is. */
export function violations(sources: ReadonlyMap<string, string>): string[] {
  const modules = [...sources].map(([path, text]) => parse(path, text))
  const each = [names, layers, rooms, entriesAndBarrels, exportForms, ambience]
  const found = modules.flatMap((module) =>
    each.flatMap((rule) => rule(module)).map((problem) => `${module.path}: ${problem}`),
  )
  return [
    ...found,
    ...publicNames(modules),
    ...innerReaches(modules),
    ...namesOfStorages(modules),
    ...hiddenParts(modules),
    ...lateImports(modules),
    ...repeatedNames(modules),
    ...browserLoads(modules),
    ...cycles(modules),
    ...roomCycles(modules),
  ]
}

/** Attempts are below the parts of the engine, and may call what their kernel has. */
const CALLED_BY_ATTEMPTS = 'AttemptKernel'

/**
 * A part of the engine names the classes of the parts that it is given: then no circle of imports means no circle of calls. An interface that
 * says what a part looks like would hide one.
 */
function hiddenParts(modules: readonly Module[]): string[] {
  return modules.flatMap(({ path, file }) => {
    if (!path.startsWith('src/core/')) return []
    return file.statements
      .filter((statement) => ts.isInterfaceDeclaration(statement))
      .filter(({ name: { text } }) => /(Parts|.Kernel)$/.test(text) && text !== CALLED_BY_ATTEMPTS)
      .filter(({ name, members }) => name.text.endsWith('Kernel') || !members.every(namesAType))
      .map(({ name }) => `${path}: ${name.text} hides parts of the engine: name their classes`)
  })
}

/** Virtual time must not wait for a file: what an engine imports when it is called is a `Late`, and there from the beginning in tests. */
function lateImports(modules: readonly Module[]): string[] {
  const provided = new Set(
    modules.find(({ path }) => path === ALL_LOADED)?.imports.map(({ target }) => target),
  )
  return modules
    .filter(({ layer }) => layer === 'core')
    .flatMap(({ path, file }) =>
      descendants(file)
        .filter((node) => ts.isCallExpression(node))
        .filter(({ expression }) => expression.kind === ts.SyntaxKind.ImportKeyword)
        .flatMap((call) => {
          const said = `${path}: ${call.getText(file)}`
          if (!isLate(call)) return [`${said} is no late(() => import(…))`]
          const [given] = call.arguments
          const specifier = given !== undefined && ts.isStringLiteral(given) ? given.text : ''
          if (!specifier.startsWith('.')) return []
          const target = posix.join(posix.dirname(path), specifier)
          return provided.has(target) ? [] : [`${said} is not in ${ALL_LOADED}`]
        }),
    )
}

function isLate({ parent }: ts.CallExpression): boolean {
  const made = ts.isArrowFunction(parent) ? parent.parent : parent
  return ts.isCallExpression(made) && made.expression.getText() === 'late'
}

function namesAType(member: ts.TypeElement): boolean {
  return ts.isPropertySignature(member) && member.type !== undefined && ts.isTypeReferenceNode(member.type)
}

function names({ path }: Module): string[] {
  const folders = path.split('/').slice(1, -1)
  const name = path.slice(path.lastIndexOf('/') + 1)
  if (/^(utils?|types?|helpers?|common|misc|index)\.ts$/.test(name) && path !== 'src/index.ts')
    return ['is named after nothing: one file, one noun']
  if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*\.ts$/.test(name)) return ['is not kebab-case']
  const repeated = folders.find((folder) => saysAgain(name.slice(0, -'.ts'.length), folder))
  return repeated === undefined ? [] : [`says the name of its folder "${repeated}" again`]
}

/** `tokens/token-list` says "token" again; `tokens/list` does not, nor does the noun a folder is named after. */
function saysAgain(name: string, folder: string): boolean {
  const singular = folder.replace(/e?s$/, '')
  const isNounOfFolder = name === folder || `${name}s` === folder || `${name}es` === folder
  return !isNounOfFolder && name.split('-').some((word) => word === folder || word === singular)
}

/** A reader who looks for an exported name finds one declaration; a re-export declares nothing. */
function repeatedNames(modules: readonly Module[]): string[] {
  const declaredIn = new Map<string, Set<string>>()
  for (const { path, file } of modules)
    for (const name of file.statements.flatMap(exportedNames))
      declaredIn.set(name, (declaredIn.get(name) ?? new Set()).add(path))
  return [...declaredIn]
    .filter(([, paths]) => paths.size > 1)
    .map(([name, paths]) => `"${name}" is declared in ${[...paths].join(' and ')}: two things, two names`)
}

/** The names that a statement declares and exports. */
function exportedNames(statement: ts.Statement): string[] {
  const modifiers = ts.canHaveModifiers(statement) ? (ts.getModifiers(statement) ?? []) : []
  if (!modifiers.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) return []
  const declared = ts.isVariableStatement(statement) ? statement.declarationList.declarations : [statement]
  return declared.flatMap((declaration) => {
    const { name } = declaration as ts.NamedDeclaration
    return name !== undefined && ts.isIdentifier(name) ? [name.text] : []
  })
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

/** What a layer that uses the engine from outside imports of its inside. */
function publicNames(modules: readonly Module[]): string[] {
  const entries = modules.filter(({ layer }) => layer === undefined)
  const seen = new Set(entries.flatMap(({ imported }) => imported.map(pathAndName)))
  for (const [target, names] of Object.entries(SEEN_BESIDES))
    for (const name of names) seen.add(pathAndName({ target, name }))
  return modules.flatMap(({ path, layer = '', imported }) =>
    imported
      .filter(({ target = '' }) => PUBLIC_ONLY[layer]?.some((other) => target.startsWith(`src/${other}/`)))
      .filter((one) => !seen.has(pathAndName(one)))
      .map(({ target = '', name }) => `${path}: imports ${name} of ${target}, which no entry exports`),
  )
}

function pathAndName({ target = '', name }: ImportedName): string {
  return `${target} ${name}`
}

/** The names that the main entry exports, each after the path of its file. */
function namesOfPackage(modules: readonly Module[]): Set<string> {
  const entry = modules.find(({ path }) => path === 'src/index.ts')
  return new Set(entry?.imported.map(pathAndName))
}

/** The pairs of files of which one stands beside the engine and reaches past its inner door, with the names that it takes. */
function innerReaches(modules: readonly Module[]): string[] {
  const exported = namesOfPackage(modules)
  const pairs = new Map<string, Set<string>>()
  for (const { path, layer = '', imported, imports } of modules) {
    if (!BESIDE_ENGINE.includes(layer)) continue
    const named = new Set(imported.map(({ target }) => target))
    // An `import()` takes everything.
    const whole = imports
      .filter(({ target }) => !named.has(target))
      .map(({ target }) => ({ target, name: '*' }))
    for (const { target = '', name } of [...imported, ...whole]) {
      if (!target.startsWith('src/core/') || target === INNER_DOOR || target === ALL_LOADED) continue
      if (exported.has(`${target} ${name}`)) continue
      const pair = `${path}: reaches past ${INNER_DOOR} into ${target}`
      pairs.set(pair, (pairs.get(pair) ?? new Set()).add(name))
    }
  }
  return Array.from(pairs, ([pair, names]) => `${pair}: ${[...names].join(', ')}`)
}

/** Records and calls of storages that the main entry exports although nothing else that it exports mentions them. */
function namesOfStorages(modules: readonly Module[]): string[] {
  const entry = modules.find(({ path }) => path === 'src/index.ts')
  const exported = entry?.imported.map(({ target, name }) => `${target ?? ''} ${name}`) ?? []
  const seen = new Set(entry?.imported.map(({ target }) => target))
  const mentioned = new Set(
    modules
      .filter(({ path }) => seen.has(path) && !path.startsWith('src/contract/'))
      .flatMap(({ imported }) => imported.map(({ target, name }) => `${target ?? ''} ${name}`)),
  )
  return exported
    .filter((each) => /^src\/contract\/(records|storage)\.ts /.test(each) && !mentioned.has(each))
    .map((each) => `src/index.ts: exports ${each}, which only storages use: src/storage.ts exports it`)
}

/** Inside a folder with floors, imports go down. */
function rooms({ path, imports }: Module): string[] {
  const [folder, floors] = Object.entries(ROOMS).find(([name]) => path.startsWith(`${name}/`)) ?? []
  if (folder === undefined || floors === undefined) return []
  const own = entryOf(path, folder)
  if (!floors.includes(own)) return [`is in no room of ${folder}: give "${own}" its place`]
  return imports.flatMap(({ target }) => {
    if (target?.startsWith(`${folder}/`) !== true) return []
    const other = entryOf(target, folder)
    if (other === own || floors.indexOf(other) < floors.indexOf(own)) return []
    return [`imports ${target}: "${other}" is above "${own}" in ${folder}`]
  })
}

/** The file or folder directly below `folder` that a path leads into. */
function entryOf(path: string, folder: string): string {
  return path
    .slice(folder.length + 1)
    .replace(/\.ts$/, '')
    .replace(/\/.*$/, '')
}

/** Modules that load `node:` packages and that a client loads with them. */
function browserLoads(modules: readonly Module[]): string[] {
  const byPath = new Map(modules.map((module) => [module.path, module]))
  const loaded = new Set<string>()
  const visit = (path: string): void => {
    if (loaded.has(path)) return
    loaded.add(path)
    for (const { target, isTypeOnly } of byPath.get(path)?.imports ?? [])
      if (target !== undefined && !isTypeOnly) visit(target)
  }
  for (const { path } of modules) if (/^src\/(client|api)\//.test(path)) visit(path)
  return [...loaded].flatMap((path) =>
    (byPath.get(path)?.imports ?? [])
      .filter(({ specifier, isTypeOnly }) => !isTypeOnly && specifier.startsWith('node:'))
      .map(({ specifier }) => `${path}: loads ${specifier}, which no browser has`),
  )
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

function cycles(modules: readonly Module[]): string[] {
  const arrows = modules.flatMap(({ path, imports }) =>
    imports.flatMap(({ target }) => (target === undefined ? [] : [[path, target] as const])),
  )
  return loopsIn(arrows).map((loop) => `import cycle: ${loop.join(' → ')}`)
}

/** At each level, folders and files import each other in one direction. */
function roomCycles(modules: readonly Module[]): string[] {
  const folders = new Set(modules.flatMap(({ path }) => foldersAbove(path)))
  return [...folders].flatMap((folder) => {
    const inside = modules.filter(({ path }) => path.startsWith(`${folder}/`))
    const arrows = inside.flatMap(({ path, imports }) =>
      imports.flatMap(({ target }) =>
        target?.startsWith(`${folder}/`) === true
          ? [[entryOf(path, folder), entryOf(target, folder)] as const]
          : [],
      ),
    )
    const between = arrows.filter(([from, to]) => from !== to)
    return loopsIn(between).map((loop) => {
      const files = inside.filter(({ path, imports }) => {
        const after = loop[loop.indexOf(entryOf(path, folder)) + 1]
        const leadsOn = (target = ''): boolean => target.startsWith(`${folder}/${after ?? ''}`)
        return loop.includes(entryOf(path, folder)) && imports.some(({ target }) => leadsOn(target))
      })
      const paths = files.map(({ path }) => path).join(', ')
      return `${folder}: rooms in a cycle: ${loop.join(' → ')} (${paths})`
    })
  })
}

/** `src/core` and `src/core/waits` for `src/core/waits/waiter.ts`; entries see all layers and are no room. */
function foldersAbove(path: string): string[] {
  const parts = path.split('/').slice(0, -1)
  return parts.map((_, index) => parts.slice(0, index + 1).join('/')).slice(1)
}

/** Each closed walk that a depth-first search meets, once. */
function loopsIn(arrows: readonly (readonly [from: string, to: string])[]): string[][] {
  const next = new Map<string, string[]>()
  for (const [from, to] of arrows) next.set(from, [...(next.get(from) ?? []), to])
  const cleared = new Set<string>()
  const loops: string[][] = []
  const visit = (entry: string, trail: readonly string[]): void => {
    if (trail.includes(entry)) {
      loops.push([...trail.slice(trail.indexOf(entry)), entry])
      return
    }
    if (cleared.has(entry)) return
    for (const to of next.get(entry) ?? []) visit(to, [...trail, entry])
    cleared.add(entry)
  }
  for (const from of next.keys()) visit(from, [])
  return loops
}

/** The three lists that must name the same entries. */
export interface EntryLists {
  /** `exports` of package.json. */
  readonly exportsMap: Readonly<Record<string, unknown>>
  /** `src/*.ts` on disk. */
  readonly files: readonly string[]
  /** What the build is told to build. */
  readonly built: readonly string[]
  /** `bin` of package.json. */
  readonly bin?: Readonly<Record<string, string>>
}

/** Where the exports map, the files directly below src and the build disagree. */
export function entryDisagreements({ exportsMap, files, built, bin = {} }: EntryLists): string[] {
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
  const programs = Object.keys(bin).map((name) => PROGRAMS[name] ?? name)
  const unbuilt = [...files, ...programs].filter((file) => !built.includes(file))
  const stray = built.filter((file) => !files.includes(file) && !programs.includes(file))
  const lost = Object.entries(bin).filter(
    ([name, path]) => path !== `./${PROGRAMS[name]?.replace(/^src/, 'dist').replace(/ts$/, 'js')}`,
  )
  return [
    ...wrong.map(
      (key) => `exports["${key}"] should be ${expected[key] ? JSON.stringify(expected[key]) : 'absent'}`,
    ),
    ...unbuilt.map((file) => `${file} is not built`),
    ...stray.map((file) => `${file} is built but not directly below src`),
    ...lost.map(([name, path]) => `bin["${name}"] leads to ${path}, which is no program`),
  ]
}
