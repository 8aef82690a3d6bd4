// Writes the tables of docs/options.md from the types of the options and their doc comments. `--check` only compares.
// A doc comment says the default with `@default`, and the unit with `@unit` where the name of the option does not. A type is
// shown where it is a choice or a duration. An option that several interfaces have is shown once, and named below the others.
import { readFileSync, writeFileSync } from 'node:fs'
import ts from 'typescript'

const PAGE = 'docs/options.md'
const TABLE = /(<!-- options (\S+) (\w+) -->\n).*?(<!-- end -->)/gs

const { config } = ts.readConfigFile('tsconfig.json', (path) => ts.sys.readFile(path))
const { options } = ts.parseJsonConfigFileContent(config, ts.sys, '.')
const page = readFileSync(PAGE, 'utf8')
const entries = [...new Set([...page.matchAll(TABLE)].map(([, , entry]) => `src/${entry}.ts`))]
const program = ts.createProgram(entries, options)
const checker = program.getTypeChecker()

const problems = []
/** The heading of the table that has a row, by its text. */
const shown = new Map()
const text = page.replace(
  TABLE,
  (_all, begin, entry, name, end, offset) =>
    `${begin}\n${tableOf(entry, name, headingBefore(offset))}\n${end}`,
)
for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exit(1)

if (!process.argv.includes('--check')) writeFileSync(PAGE, text)
else if (text !== page) {
  console.error(`${PAGE} is not what the types say: run \`npm run docs\``)
  process.exit(1)
}

/** The last heading before a place of the page. */
function headingBefore(offset) {
  return [...page.slice(0, offset).matchAll(/^#+ (.*)$/gm)].at(-1)?.[1] ?? ''
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
    const before = shown.get(row)
    if (before === undefined || before === heading) {
      shown.set(row, heading)
      rows.push(row)
    } else repeated.set(before, [...(repeated.get(before) ?? []), `\`${property.name}\``])
  }
  const table = rows.length === 0 ? [] : [`| Option | Default | |\n|---|---|---|\n${rows.join('')}`]
  const others = Array.from(
    repeated,
    ([before, names]) => `As in [${before}](#${anchorOf(before)}): ${names.join(', ')}.\n`,
  )
  return [...table, ...others].join('\n')
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
    .replaceAll(/[.;] [Ss]ee `?docs\/[\w.#-]+\.md(?:#[\w-]+)?`?\./g, '.')
    .trim()
}
