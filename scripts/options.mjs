// Writes the tables of docs/options.md from the types of the options and their doc comments. `--check` only compares.
// A doc comment says the default with `@default`, and the unit with `@unit` where the name of the option does not. A type is
// shown where it is a choice or a duration. An option that several interfaces have is shown once, and named below the others: one
// whose default is `as it is` changes what another one has set.
import { readFileSync, writeFileSync } from 'node:fs'
import ts from 'typescript'

const PAGE = 'docs/options.md'

/** The heading of each table, and whose options are in it: the entry of the package, and the name that it exports. */
const TABLES = {
  'createEngine(options)': 'index EngineOptions',
  'createEngine({ retention })': 'index RetentionOptions',
  'createEngine({ streams })': 'index StreamOptions',
  'engine.close(options)': 'index CloseOptions',
  'task(options)': 'index TaskOptions',
  'task({ schedule })': 'index TaskScheduleOptions',
  'schedules.create(options)': 'index CreateScheduleOptions',
  'schedules.update(id, change)': 'index ScheduleChange',
  'task({ queue })': 'index TaskQueueOptions',
  'task({ queue: { rate } })': 'index QueueRateOptions',
  'task({ retry })': 'index RetryOptions',
  'trigger(task, payload, options)': 'index TriggerOptions',
  debounce: 'index DebounceOptions',
  'runs.reschedule(run, options)': 'index RescheduleOptions',
  'runs.list(params)': 'index ListRunsParams',
  'runs.counts(params)': 'index CountRunsParams',
  'idempotencyKeys.create(key, options)': 'index IdempotencyKeyOptions',
  'wait.createToken(options)': 'index CreateTokenOptions',
  'wait.forToken(token, options)': 'index ForTokenOptions',
  'wait.completeToken(token, output, options)': 'index TransactionOptions',
  'wait.listTokens(params)': 'index ListTokensParams',
  'wait.subscribeToTokens(params)': 'index SubscribeToTokensParams',
  'wait.countTokens(params)': 'index CountTokensParams',
  'wait.for(options)': 'index WaitForOptions',
  'wait.until(options)': 'index WaitUntilOptions',
  'streams.read(run, key, options)': 'index ReadStreamOptions',
  'createHandler(engine, options)': 'http HandlerOptions',
  'createHandler(engine, { limits })': 'http HandlerLimits',
  'createHandler(engine, { limits: { rate } })': 'http RateLimit',
  'serve(engine, options)': 'http ServeOptions',
  'createConsole(engine, options)': 'console ConsoleOptions',
  'createClient(options)': 'client ClientOptions',
  'sqliteStorage(options)': 'sqlite SqliteOptions',
  'postgresStorage(options)': 'postgres PostgresOptions',
  'createTestEngine(options)': 'testing TestEngineOptions',
  'testClock(options)': 'testing TestClockOptions',
  'clock.until(goal, options)': 'testing UntilOptions',
  't.complete(token, output, options)': 'testing AnswerOptions',
  'explore(body, options)': 'testing ExploreOptions',
  'checkInFlight(storage, tasks, options)': 'testing CheckInFlightOptions',
  'exportRepro(storage, runId, options)': 'testing ExportReproOptions',
  'exploreHistory(history, tasks, options)': 'testing ExploreHistoryOptions',
  'replayHistory(history, tasks, options)': 'testing ReplayHistoryOptions',
  'flakyStorage(storage, options)': 'testing FlakyOptions',
  'storageConformance(open, options)': 'testing ConformanceOptions',
  'schedules(options)': 'fast-check SchedulesOptions',
}

const { config } = ts.readConfigFile('tsconfig.json', (path) => ts.sys.readFile(path))
const { options } = ts.parseJsonConfigFileContent(config, ts.sys, '.')
const page = readFileSync(PAGE, 'utf8')
const entries = [...new Set(Object.values(TABLES).map((table) => `src/${table.split(' ')[0]}.ts`))]
const program = ts.createProgram(entries, options)
const checker = program.getTypeChecker()

const problems = []
/** The heading of the table that has a row, by its text. */
const shown = new Map()
const text = page
  .split(/^(?=#)/m)
  .map((section) => withTable(section))
  .join('')
for (const heading of Object.keys(TABLES))
  if (!page.includes(` ${heading}\n`)) problems.push(`${PAGE} has no heading "${heading}"`)
for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exit(1)

if (!process.argv.includes('--check')) writeFileSync(PAGE, text)
else if (text !== page) {
  console.error(`${PAGE} is not what the types say: run \`npm run docs\``)
  process.exit(1)
}

/** A section of the page with its table, which begins with the first row, or with a line about options of other tables. */
function withTable(section) {
  const heading = /^#+ (.*)/.exec(section)?.[1]
  const table = TABLES[heading]
  if (table === undefined) return section
  const [entry, name] = table.split(' ')
  const [intro] = section.split(/\n(?=\| Option|As in \[)/)
  const isLast = page.endsWith(section)
  return `${intro}\n${tableOf(entry, name, heading)}${isLast ? '' : '\n'}`
}

/** The table of an interface that an entry of the package exports, and the options that an earlier table has. */
function tableOf(entry, name, heading) {
  const module = checker.getSymbolAtLocation(program.getSourceFile(`src/${entry}.ts`))
  const exported = checker.getExportsOfModule(module).find((symbol) => symbol.name === name)
  if (exported === undefined) {
    problems.push(`src/${entry}.ts exports no ${name}`)
    return ''
  }
  const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported
  const rows = []
  const repeated = new Map()
  for (const property of checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol))) {
    const row = rowOf(property, name)
    const before = shown.get(row) ?? headingOfChanged(row)
    if (before === undefined || before === heading) {
      shown.set(row, heading)
      rows.push(row)
    } else repeated.set(before, [...(repeated.get(before) ?? []), `\`${property.name}\``])
  }
  const table = rows.length === 0 ? [] : [`| Option | Default | |\n|---|---|---|\n${rows.join('')}`]
  const others = Array.from(repeated, ([before, names]) => sharedWith(before, names))
  return [...table, ...(others.length === 0 ? [] : [`As in ${others.join('; ')}.\n`])].join('\n')
}

/** The heading of the table whose option a row changes. */
function headingOfChanged(row) {
  const [option, about] = row.split(' | as it is | ')
  return [...shown].find(([other]) => other.startsWith(`${option} | `) && other.endsWith(` | ${about}`))?.[1]
}

/** Options that an earlier table has: by their names, or, where they are nearly all of it, by those that are not among them. */
function sharedWith(heading, names) {
  const link = `[${heading.includes('{') ? heading : heading.replace(/\(.*/, '')}](#${anchorOf(heading)})`
  const all = [...shown].filter(([, place]) => place === heading).map(([row]) => /^\| (`\w+`)/.exec(row)?.[1])
  const missing = all.filter((name) => !names.includes(name))
  return missing.length > 2 || names.length < 4
    ? `${link}: ${names.join(', ')}`
    : `${link}: all${missing.length === 0 ? '' : ` but ${missing.join(', ')}`}`
}

/** The address of a heading on its page. */
function anchorOf(heading) {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')
}

function rowOf(property, owner) {
  const [declaration] = property.declarations ?? []
  const tags = new Map(
    property.getJsDocTags(checker).map((tag) => [tag.name, ts.displayPartsToString(tag.text).trim()]),
  )
  const about = ts.displayPartsToString(property.getDocumentationComment(checker)).trim()
  const isOptional = (property.flags & ts.SymbolFlags.Optional) !== 0
  if (about === '') problems.push(`${owner}.${property.name} says nothing of itself`)
  if (isOptional !== tags.has('default'))
    problems.push(`${owner}.${property.name} needs @default exactly if it may be left out`)
  const type = typeOf(declaration)
  const unit = tags.get('unit') ?? (type.includes('Duration') ? undefined : unitOf(property.name))
  const cells = [
    `\`${property.name}\`${isTelling(type) ? `: \`${type}\`${unit === undefined ? '' : `, ${unit}`}` : ''}`,
    isOptional ? (tags.get('default') ?? '') : '**required**',
    oneLine(about),
  ]
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`
}

/** Whether the type of an option says more than its name and its text: it is a choice, or a duration. */
function isTelling(type) {
  return /\||^Duration$/.test(type) && !type.includes('=>')
}

/** A type as it is written. */
function typeOf(declaration) {
  const declared = declaration.type.getText().replaceAll(/\/\*\*.*?\*\//gs, '')
  // On one line the properties of a type are parted by semicolons.
  const parted = declared.replaceAll(/(?<![{,(|&>\s])\s*\n\s*(?=readonly )/g, '; ')
  const written = oneLine(parted).replaceAll('readonly ', '').replaceAll(/^\| /g, '')
  return written
    .replace(/ \| undefined$/, '')
    .replace(/^\((.*)\)$/, '$1')
    .replaceAll(/\( | \)/g, (bracket) => bracket.trim())
    .replaceAll(',)', ')')
}

function unitOf(name) {
  if (/Ms$/.test(name)) return 'milliseconds'
  return /Bytes$/.test(name) ? 'bytes' : undefined
}

/** Paragraphs and lists in one cell, without the page that an editor is told of. */
function oneLine(about) {
  return about
    .replaceAll(/\n\n- |\n- /g, ' · ')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/: (?:milli)?seconds, or a duration string(?=[.,])/g, '') // as its type says
    .replaceAll(/[.;] [Ss]ee `?docs\/[\w.#-]+\.md(?:#[\w-]+)?`?\./g, '.')
    .trim()
}
