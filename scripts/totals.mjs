// Adds up test reports: `node scripts/totals.mjs 20=report.json 22=report.json -- a step that failed`. The tests that ran
// on fewer of them by name, the steps and tests that failed and why, one line for each Node, and the sum as the last line:
// a record that is cut shows what failed. Fails for anything that did not pass.
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'

const read = (path) => {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).testResults
  } catch {
    return [{ name: path, status: 'failed', message: 'There is no report.', assertionResults: [] }]
  }
}

/** A test that prints the seed it drew is the same test with another one. */
const withoutSeed = (name) => name.replace(/ \(seed [^)]*\)/, '')

/** The first lines of a failure, with neither colours nor the stack. */
const cause = (messages) =>
  messages
    .join('\n')
    // eslint-disable-next-line no-control-regex -- the colours of a terminal
    .replace(/\u001b\[[0-9;]*m/g, '')
    .split('\n')
    .filter((text) => text.trim() !== '' && !/^\s+at /.test(text))
    .slice(0, 8)
    .map((text) => `    ${text.slice(0, 200)}`)
    .join('\n')

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
    // A file that could not even be loaded, or a report that is missing, is a failure of its own.
    if (status === 'failed' && !assertionResults.some((test) => test.status === 'failed'))
      fail(file, [message ?? ''])
    for (const test of assertionResults) {
      if (test.status === 'failed') fail(`${file} > ${test.fullName}`, test.failureMessages ?? [])
      else total[test.status in total ? test.status : 'skipped']++
      names.add(withoutSeed(`${file} > ${test.fullName}`))
    }
  }
  return { node, total, names, failures }
})

const line = ({ passed, failed, skipped }) => `${passed} passed, ${failed} failed, ${skipped} skipped`

for (const name of new Set(nodes.flatMap(({ names }) => [...names])).values()) {
  const on = nodes.filter(({ names }) => names.has(name)).map(({ node }) => node)
  if (on.length < nodes.length) console.log(`only on Node ${on.join(', ')}: ${name}`)
}

for (const step of failedSteps) console.log(`FAILED: ${step}`)
for (const { failures } of nodes) for (const failure of failures) console.log(failure)

for (const { node, total } of nodes) console.log(`Node ${node}: ${line(total)}`)

const sum = { passed: 0, failed: 0, skipped: 0 }
for (const { total } of nodes) for (const key of Object.keys(sum)) sum[key] += total[key]
console.log(line(sum))
process.exitCode = failedSteps.length + sum.failed + sum.skipped > 0 || sum.passed === 0 ? 1 : 0
