// Adds up test reports: `node scripts/totals.mjs 20=report.json 22=report.json`. One line for each Node, the tests that
// ran on fewer of them by name, and the sum as the last line. Fails for anything that did not pass.
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'

const read = (path) => {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).testResults
  } catch {
    return [{ name: path, status: 'failed', assertionResults: [] }]
  }
}

const nodes = process.argv.slice(2).map((argument) => {
  const [node, path] = argument.split('=')
  const total = { passed: 0, failed: 0, skipped: 0 }
  const names = new Set()
  for (const { name, status, assertionResults } of read(path)) {
    // A file that could not even be loaded, or a report that is missing, is a failure of its own.
    if (status === 'failed' && !assertionResults.some((test) => test.status === 'failed')) total.failed++
    for (const test of assertionResults) {
      total[test.status in total ? test.status : 'skipped']++
      names.add(`${relative('.', name)} > ${test.fullName}`)
    }
  }
  return { node, total, names }
})

const line = ({ passed, failed, skipped }) => `${passed} passed, ${failed} failed, ${skipped} skipped`

for (const { node, total } of nodes) console.log(`Node ${node}: ${line(total)}`)

for (const name of new Set(nodes.flatMap(({ names }) => [...names])).values()) {
  const on = nodes.filter(({ names }) => names.has(name)).map(({ node }) => node)
  if (on.length < nodes.length) console.log(`only on Node ${on.join(', ')}: ${name}`)
}

const sum = { passed: 0, failed: 0, skipped: 0 }
for (const { total } of nodes) for (const key of Object.keys(sum)) sum[key] += total[key]
console.log(line(sum))
process.exitCode = sum.failed > 0 || sum.skipped > 0 || sum.passed === 0 ? 1 : 0
