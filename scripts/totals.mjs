// Adds up test reports: `node scripts/totals.mjs 20=report.json,another.json 22=report.json -- a step that failed`. It prints
// what ran on fewer versions, whole files by their names and numbers of tests, the failed steps and tests with their causes, one line
// for each Node, and the sum as the last line, so that a truncated record still shows the failures. The file `report.json.log`
// beside a report may hold the printed output; its end is shown for a step that failed without a failed test. Exits with
// an error if anything did not pass.
import { existsSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'

const read = (path) => {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).testResults
  } catch {
    return [{ name: path, status: 'failed', message: 'There is no report.', assertionResults: [] }]
  }
}

/** A test that prints its random seed is one test, whatever the seed. */
const withoutSeed = (name) => name.replace(/ \(seed [^)]*\)/, '')

/** The lines shown by a terminal, without colours. */
const linesOf = (text) =>
  stripVTControlCharacters(text)
    .split('\n')
    .filter((line) => line.trim() !== '')

const indented = (lines) => lines.map((text) => `    ${text.slice(0, 200)}`).join('\n')

/** The first lines of a failure, without the stack. */
const cause = (messages) =>
  indented(
    linesOf(messages.join('\n'))
      .filter((text) => !/^\s+at /.test(text))
      .slice(0, 8),
  )

/** The end of the output printed with a report, which has the errors outside of tests. */
const printed = (path) => (existsSync(`${path}.log`) ? linesOf(readFileSync(`${path}.log`, 'utf8')) : [])

const given = process.argv.slice(2)
const end = given.includes('--') ? given.indexOf('--') : given.length
const failedSteps = given.slice(end + 1)

const nodes = given.slice(0, end).map((argument) => {
  const [node, list] = argument.split('=')
  const paths = list.split(',')
  const total = { passed: 0, failed: 0, skipped: 0 }
  const tests = new Map()
  const failures = []
  const fail = (name, messages) => {
    total.failed++
    failures.push(`failed on Node ${node}: ${name}\n${cause(messages)}`)
  }
  for (const { name, status, message, assertionResults } of paths.flatMap(read)) {
    const file = relative('.', name)
    // A test file that could not be loaded, or a missing report, is a failure of its own.
    if (status === 'failed' && !assertionResults.some((test) => test.status === 'failed'))
      fail(file, [message ?? ''])
    for (const test of assertionResults) {
      if (test.status === 'failed') fail(`${file} > ${test.fullName}`, test.failureMessages ?? [])
      else total[test.status in total ? test.status : 'skipped']++
      tests.set(withoutSeed(`${file} > ${test.fullName}`), file)
    }
  }
  const stopped = paths.filter((path) => failedSteps.some((step) => step.includes(path)))
  const log = failures.length === 0 ? stopped.flatMap((path) => printed(path).slice(-30)) : []
  return { node, total, tests, failures, log }
})

const line = ({ passed, failed, skipped }) => `${passed} passed, ${failed} failed, ${skipped} skipped`

/** For each file, its tests by the versions on which they ran. */
const files = new Map()
for (const [name, file] of new Map(nodes.flatMap(({ tests }) => [...tests]))) {
  const on = nodes.filter(({ tests }) => tests.has(name)).map(({ node }) => node)
  if (!files.has(file)) files.set(file, new Map())
  const versions = files.get(file)
  versions.set(on.join(', '), [...(versions.get(on.join(', ')) ?? []), name])
}
const everywhere = nodes.map(({ node }) => node).join(', ')
for (const [file, versions] of files)
  for (const [on, names] of versions) {
    if (on === everywhere) continue
    const shown = versions.size === 1 ? [`${file} (${names.length})`] : names
    for (const name of shown) console.log(`only on Node ${on}: ${name}`)
  }

for (const step of failedSteps) console.log(`FAILED: ${step}`)
for (const { failures, log } of nodes) {
  for (const failure of failures) console.log(failure)
  if (log.length > 0) console.log(indented(log))
}

for (const { node, total } of nodes) console.log(`Node ${node}: ${line(total)}`)

const sum = { passed: 0, failed: 0, skipped: 0 }
for (const { total } of nodes) for (const key of Object.keys(sum)) sum[key] += total[key]
console.log(line(sum))
process.exitCode = failedSteps.length + sum.failed + sum.skipped > 0 || sum.passed === 0 ? 1 : 0
