// Writes src/generated from the fields of records in src/contract: `npm run records`. `--check` only compares.
import { readFileSync, writeFileSync } from 'node:fs'
import { build } from 'esbuild'

const { outputFiles } = await build({
  stdin: {
    contents: `export * from './src/contract/records.ts'; export * from './src/contract/storage.ts'`,
    resolveDir: '.',
  },
  bundle: true,
  write: false,
  format: 'esm',
  logLevel: 'error',
})
const code = encodeURIComponent(outputFiles[0].text)
const { KEY_FIELDS, LEASE_FIELDS, QUEUE_FIELDS, RATE_FIELDS, RUN_FIELDS, TOKEN_FIELDS, WAIT_FIELDS } =
  await import(`data:text/javascript,${code}`)

/** The types of columns, in SQLite and in Postgres. A name is sorted by its characters. */
const SQL_TYPES = {
  name: ['TEXT', 'text COLLATE "C"'],
  text: ['TEXT', 'text'],
  texts: ['TEXT', 'text'],
  count: ['INTEGER', 'int'],
  flag: ['INTEGER', 'int'],
  number: ['NUMERIC', 'float8'],
}
/** What has several columns. */
const PARTS = { key: KEY_FIELDS, rate: RATE_FIELDS }
/** In the table of runs, columns that storages keep beside those of a run stand before this one, which was added later, as every new one is. */
const FIRST_ADDED = 'version'
const LONGEST_LINE = 115

const snake = (name) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
const quote = (text) => `'${text}'`

/** A list in lines. */
function lines(parts, separator = ', ', indent = '    ') {
  const made = ['']
  for (const part of parts) {
    const line = made.at(-1)
    if (line === '') made[made.length - 1] = part
    else if (indent.length + line.length + part.length > LONGEST_LINE) made.push(part)
    else made[made.length - 1] += separator + part
  }
  return made.map((line) => indent + line).join(`${separator.trimEnd()}\n`)
}

/** The columns of a field with their types, and its values as they have them. */
function stored([name, field]) {
  const { type, isOptional, column = snake(name.replace(/Json$/, '')) } = field
  const value = `record.${name}`
  if (type in PARTS) {
    const parts = Object.entries(PARTS[type])
    const typed = parts.map(([part, one]) => [`${column}_${snake(part)}`, ...SQL_TYPES[one.type]])
    return { name, ...field, typed, values: parts.map(([part]) => `orNull(${value}?.${part})`) }
  }
  const constraint = isOptional || type === 'texts' ? '' : ' NOT NULL'
  const typed = [[column, ...SQL_TYPES[type].map((one) => one + constraint)]]
  const plain = isOptional ? `orNull(${value})` : value
  const texts = isOptional ? `someTextsColumn(${value})` : `textsColumn(${value})`
  const values = [{ texts, flag: `Number(${value})` }[type] ?? plain]
  return { name, ...field, typed, values }
}

const columnsOf = (fields) => fields.flatMap(({ typed }) => typed.map(([column]) => column))
const valuesOf = (fields) => `[\n${lines(fields.flatMap(({ values }) => values))},\n  ]`
const objectOf = (fields, value) =>
  `{\n${lines(fields.map((field) => `${field.name}: ${value(field)}`))},\n  }`
const assigned = (columns) =>
  `\`\n${lines(
    columns.map((column) => `${column} = ?`),
    ', ',
    '  ',
  )}\``

/** A record read from its columns, whose only writer writes values of these types. */
function readFrom(fields, record, place) {
  let at = 0
  return objectOf(fields, ({ name, type, typed, isOptional }) => {
    const values = typed.map(([column]) => place(column, at++))
    if (type in PARTS) return `${type}In(${values.join(', ')})`
    if (type === 'texts') return `${isOptional ? 'someTextsOf' : 'textsOf'}(${values})`
    if (type === 'flag') return `${values} === 1`
    if (!isOptional) return `${values} as ${record}['${name}']`
    return `${type === 'count' || type === 'number' ? 'numberOf' : 'textOf'}(${values})`
  })
}

/** The columns of a table, but for its key if that is one column, which is declared beside them. */
function tables(noun, fields, key = 'id') {
  const at = fields.findIndex(({ name }) => name === FIRST_ADDED)
  const parts =
    at < 0
      ? [['', fields]]
      : [
          ['', fields.slice(0, at)],
          ['_ADDED', fields.slice(at)],
        ]
  return ['SQLITE', 'POSTGRES']
    .flatMap((dialect, index) =>
      parts.map(([suffix, some]) => {
        const columns = some
          .filter(({ name }) => name !== key)
          .flatMap(({ typed, isSearched }) => [
            ...typed.map((one) => `${one[0]} ${one[index + 1]}`),
            ...(isSearched && index === 1 ? ['tag_list text[] COLLATE "C"'] : []),
          ])
        return `export const ${dialect}_${noun}_TABLE${suffix} = \`\n${lines(columns, ', ', '  ')}\`\n`
      }),
    )
    .join('')
}

/** What a file may import. */
const IMPORTS = {
  '../contract/columns.ts': [
    'someTextsColumn',
    'someTextsOf',
    'numberOf',
    'orNull',
    'type Row',
    'textOf',
    'textsColumn',
    'textsOf',
    'type Value',
  ],
  '../contract/records.ts': ['type KeyRecord', 'type RunRecord', 'type TokenRecord', 'type WaitRecord'],
  '../contract/storage.ts': ['type LeaseRecord', 'type QueueRate', 'type QueueSettings'],
  './parts.ts': ['keyIn', 'rateIn'],
}

/** A file: what it needs is imported. */
function file(body) {
  const needs = (name) =>
    new RegExp(`(?<!function )\\b${name.replace('type ', '')}\\b`).test(body.replaceAll(/\/\*.*?\*\//g, ''))
  const imports = Object.entries(IMPORTS).map(([from, all]) => {
    const names = all.filter(needs)
    if (names.length === 0) return ''
    const areTypes = names.every((name) => name.startsWith('type '))
    const list = names.join(', ')
    return `import ${areTypes ? `type { ${list.replaceAll('type ', '')}` : `{ ${list}`} } from '${from}'\n`
  })
  return `// Written by \`npm run records\` from src/contract, and not to be edited.\n${imports.join('')}\n${body}`
}

const draftType = (noun) => `/** A record that no other code has seen yet. */
export type ${noun}Draft = { -readonly [Field in keyof ${noun}Record]: ${noun}Record[Field] }

`

function runText() {
  const fields = Object.entries(RUN_FIELDS).map(stored)
  const rare = fields.filter(({ isRare }) => isRare)
  const [content, place] = ['content', 'place'].map((kind) =>
    fields.filter(({ changes }) => changes === kind),
  )
  const changing = fields
    .filter(({ changes }) => changes)
    .flatMap(({ typed: [[column]], isSearched }) => (isSearched ? [column, 'tag_list'] : [column]))
  const single = fields.filter(({ type }) => type !== 'key' && type !== 'texts')
  const copied = ({ name }) => (name === 'updatedAt' ? 'Math.max(record.updatedAt, now)' : `record.${name}`)
  return `${draftType('Run')}/** The columns that make a run; to ask for these only is a quarter cheaper than for all. */
export const RUN_COLUMNS =
  '${columnsOf(fields).join(', ')}'

/** The run of a row of \`RUN_COLUMNS\`, in their order. */
export function runOfValues(values: readonly Value[]): RunRecord {
  return ${readFrom(fields, 'RunRecord', (_column, at) => `values[${at}]`)}
}

/** The values of \`RUN_COLUMNS\`. */
export function runValues(record: RunRecord): readonly Value[] {
  return ${valuesOf(fields)}
}

/** The columns of the fields that have one each, and are no lists. */
export const RUN_COLUMN_OF: Readonly<Record<string, string>> = ${objectOf(single, ({ typed: [[column]] }) =>
    quote(column),
  )
    .replace(/ {2}}$/, '}')
    .replaceAll('\n    ', '\n  ')}

/** The fields that decide the place of a run in line and its holder. */
export const RUN_PLACING = [${place.map(({ name }) => quote(name)).join(', ')}] as const
export const RUN_PLACE = ${assigned(columnsOf(place))}

/** The values of \`RUN_PLACE\`. */
export function runPlaceValues(record: RunRecord): readonly Value[] {
  return ${valuesOf(place)}
}

/** The other columns that change. */
export const RUN_CONTENT = ${assigned(columnsOf(content))}

/** The values of \`RUN_CONTENT\`. */
export function runContentValues(record: RunRecord): readonly Value[] {
  return ${valuesOf(content)}
}

/** All columns that change, in a function that has the row \`r\`. */
export const RUN_FROM_ROW = \`
${lines(
  changing.map((column) => `${column} = r.${column}`),
  ', ',
  '    ',
)}\`

${tables('RUN', fields)}
/** Whether a run has nothing that only some runs have, and runs that are over. */
export function isPlainRun(record: RunRecord): boolean {
  const some =
${lines(
  rare.map(({ name }) => `record.${name}`),
  ' ?? ',
)}
  return some === undefined
}

/** A copy of a plain run, no older than \`now\`. */
export function plainRunDraft(record: RunRecord, now: number): RunDraft {
  return ${objectOf(
    fields.filter(({ isRare }) => !isRare),
    copied,
  )}
}

/** A copy of a run, no older than \`now\`. */
export function fullRunDraft(record: RunRecord, now: number): RunDraft {
  return ${objectOf(fields, copied)}
}
`
}

/** The columns and the tables of a kind of record. `key`: its column that is the key of the table. */
function recordText(record, all, key) {
  const fields = Object.entries(all).map(stored)
  const noun = record.replace(/Record$|Settings$/, '')
  const lower = noun.toLowerCase()
  const upper = noun.toUpperCase()
  return `/** The columns that make a ${lower}. */
export const ${upper}_COLUMNS =
  '${columnsOf(fields).join(', ')}'

/** The ${lower} of a row. */
export function ${lower}OfRow(row: Row): ${record} {
  return ${readFrom(fields, record, (column) => `row['${column}']`)}
}

/** The values of \`${upper}_COLUMNS\`. */
export function ${lower}Values(record: ${record}): readonly Value[] {
  return ${valuesOf(fields)}
}

${tables(upper, fields, key)}`
}

function tokenText() {
  const fields = Object.entries(TOKEN_FIELDS).map(stored)
  const [plain, rare] = [fields.filter(({ isRare }) => !isRare), fields.filter(({ isRare }) => isRare)]
  const copied = ({ name }) => `record.${name}`
  return `${draftType('Token')}${recordText('TokenRecord', TOKEN_FIELDS)}
/** A copy of a token, without room for what only some tokens have if it has none of that. */
export function tokenDraft(record: TokenRecord): TokenDraft {
  const draft: TokenDraft = ${objectOf(plain, copied)}
${rare.map((field) => `  if (${copied(field)} !== undefined) draft.${field.name} = ${copied(field)}`).join('\n')}
  return draft
}
`
}

/** What columns beside each other are together. The first of them always has a value. */
function partText(name, record) {
  const fields = Object.entries(PARTS[name]).map(stored)
  const [first] = fields
  return `/** The ${name} that columns have. */
export function ${name}In(
${lines(
  fields.map((field) => `${field.name}: Value | undefined`),
  ', ',
  '  ',
)},
): ${record} | undefined {
  if (${first.name} === undefined || ${first.name} === null) return undefined
  return ${readFrom(fields, record, (_column, at) => fields[at].name)}
}
`
}

const FILES = {
  'run-record': runText(),
  'token-record': tokenText(),
  'wait-record': recordText('WaitRecord', WAIT_FIELDS),
  'lease-record': recordText('LeaseRecord', LEASE_FIELDS, 'owner'),
  'queue-settings': recordText('QueueSettings', QUEUE_FIELDS, 'name'),
  parts: `${partText('key', 'KeyRecord')}\n${partText('rate', 'QueueRate')}`,
}

for (const [name, body] of Object.entries(FILES)) {
  const text = file(body)
  const path = `src/generated/${name}.ts`
  if (!process.argv.includes('--check')) writeFileSync(path, text)
  else if (readFileSync(path, 'utf8') !== text) {
    console.error(`${path} is not what the fields of records say: run \`npm run records\``)
    process.exitCode = 1
  }
}
