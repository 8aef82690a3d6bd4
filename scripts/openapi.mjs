// Writes docs/openapi.json, and the tables of docs/http-api.md, from the routes of the
// handler. `--check` only compares.
import { readFileSync, writeFileSync } from 'node:fs'
import { build } from 'esbuild'
import { format } from 'prettier'

const DOCUMENT = 'docs/openapi.json'
const PAGE = 'docs/http-api.md'
const TABLE = /(<!-- routes (.+?) -->\n).*?(<!-- end -->)/gs

const { outputFiles } = await build({
  entryPoints: ['src/http/openapi.ts'],
  bundle: true,
  write: false,
  format: 'esm',
  platform: 'node',
  logLevel: 'error',
})
const code = encodeURIComponent(outputFiles[0].text)
const { openApiDocument, OPERATIONS } = await import(`data:text/javascript,${code}`)

const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
const json = await format(JSON.stringify(openApiDocument(version)), { parser: 'json', printWidth: 110 })
const before = readFileSync(PAGE, 'utf8')
const page = before.replace(TABLE, (_all, begin, tag, end) => `${begin}\n${tableOf(tag)}\n${end}`)
const shown = [...before.matchAll(TABLE)].map(([, , tag]) => tag)
const missing = OPERATIONS.filter(({ tag }) => !shown.includes(tag)).map(({ id }) => id)
if (missing.length > 0) throw new Error(`${PAGE} has no table for ${missing.join(', ')}`)

for (const [path, text] of [
  [DOCUMENT, json],
  [PAGE, page],
]) {
  if (!process.argv.includes('--check')) writeFileSync(path, text)
  else if (readFileSync(path, 'utf8') !== text) {
    console.error(`${path} is not what the operations say: run \`npm run docs\``)
    process.exitCode = 1
  }
}

/** The operations of one kind. */
function tableOf(tag) {
  const rows = OPERATIONS.filter((operation) => operation.tag === tag).map((operation) => {
    const { method, path, summary, allowed } = operation
    return `| \`${method.toUpperCase()} ${path}\` | ${summary} | ${allowedBy(allowed)} |\n`
  })
  return `| Route | | Scopes |\n|---|---|---|\n${rows.join('')}`
}

function allowedBy(allowed) {
  if (allowed === 'secret key') return ''
  if (allowed.length === 3 && /^read:runs:/.test(allowed[0])) return '_reads the run_'
  if (allowed === 'any') return 'any access token'
  if (allowed === 'open') return 'no credential needed'
  return allowed === 'address' ? 'the address alone' : allowed.map((scope) => `\`${scope}\``).join(', ')
}
