// Adds up test reports: `node scripts/totals.mjs 20=report.json 22=report.json -- a step that failed`. It prints the
// tests that ran on fewer versions by name, the failed steps and tests with their causes, one line for each Node, and
// the sum as the last line, so that a truncated record still shows the failures. The file `report.json.log` beside a
// report may hold the printed output; its end is shown for a step that failed without a failed test. Exits with an
// error if anything did not pass.
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
  const [node, path] = argument.split('=')
  const total = { passed: 0, failed: 0, skipped: 0 }
  const names = new Set()
  const failures = []
  const fail = (name, messages) => {
    total.failed++
    failures.push(`failed on Node ${node}: ${name}\n${cause(messages)}`)
  }
  for (const { name, status, message, assertionResults } of read(path)) {
    const file = relative('.', name)
    // A test file that could not be loaded, or a missing report, is a failure of its own.
    if (status === 'failed' && !assertionResults.some((test) => test.status === 'failed'))
      fail(file, [message ?? ''])
    for (const test of assertionResults) {
      if (test.status === 'failed') fail(`${file} > ${test.fullName}`, test.failureMessages ?? [])
      else total[test.status in total ? test.status : 'skipped']++
      names.add(withoutSeed(`${file} > ${test.fullName}`))
    }
  }
  const log = failures.length === 0 && failedSteps.some((step) => step.includes(path)) ? printed(path) : []
  return { node, total, names, failures, log }
})

const line = ({ passed, failed, skipped }) => `${passed} passed, ${failed} failed, ${skipped} skipped`

for (const name of new Set(nodes.flatMap(({ names }) => [...names])).values()) {
  const on = nodes.filter(({ names }) => names.has(name)).map(({ node }) => node)
  if (on.length < nodes.length) console.log(`only on Node ${on.join(', ')}: ${name}`)
}

for (const step of failedSteps) console.log(`FAILED: ${step}`)
for (const { failures, log } of nodes) {
  for (const failure of failures) console.log(failure)
  if (log.length > 0) console.log(indented(log.slice(-30)))
}

for (const { node, total } of nodes) console.log(`Node ${node}: ${line(total)}`)

const sum = { passed: 0, failed: 0, skipped: 0 }
for (const { total } of nodes) for (const key of Object.keys(sum)) sum[key] += total[key]
console.log(line(sum))
process.exitCode = failedSteps.length + sum.failed + sum.skipped > 0 || sum.passed === 0 ? 1 : 0
