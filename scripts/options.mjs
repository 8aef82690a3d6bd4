// Writes the tables of docs/options.md from the types of the options and their doc comments. `--check` only compares.
// A doc comment says the default with `@default`, and the unit with `@unit` where the name of the option does not.
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
const text = page.replace(
  TABLE,
  (_all, begin, entry, name, end) => `${begin}\n${tableOf(entry, name)}\n${end}`,
)
for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exit(1)

if (!process.argv.includes('--check')) writeFileSync(PAGE, text)
else if (text !== page) {
  console.error(`${PAGE} is not what the types say: run \`npm run docs\``)
  process.exit(1)
}

/** The table of an interface that an entry of the package exports. */
function tableOf(entry, name) {
  const module = checker.getSymbolAtLocation(program.getSourceFile(`src/${entry}.ts`))
  const exported = checker.getExportsOfModule(module).find((symbol) => symbol.name === name)
  if (exported === undefined) {
    problems.push(`src/${entry}.ts exports no ${name}`)
    return ''
  }
  const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported
  const rows = checker
    .getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol))
    .map((property) => rowOf(property, name))
  return `| Option | Type | Default | |\n|---|---|---|---|\n${rows.join('')}`
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
    `\`${property.name}\``,
    `\`${type}\`${unit === undefined ? '' : `, ${unit}`}`,
    isOptional ? (tags.get('default') ?? '') : '**required**',
    oneLine(about),
  ]
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`
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

/** Paragraphs and lists in one cell. */
function oneLine(about) {
  return about
    .replaceAll(/\n\n- |\n- /g, ' · ')
    .replaceAll(/\s+/g, ' ')
    .trim()
}
