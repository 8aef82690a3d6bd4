// Runs whatever must hold besides the tests: `npm run gates`. ESLint takes about as long as all the others together, so that
// they run beside it. What a script prints is shown when it has ended. Ends with an error if one of them fails.
import { Buffer } from 'node:buffer'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { performance } from 'node:perf_hooks'

/** In each lane one after the other: the last three are about what `build` makes. */
const LANES = [
  ['lint'],
  ['typecheck', 'format:check', 'knip', 'openapi:lint', 'build', 'package:lint', 'size', 'packed'],
]

const failed = []

async function run(script) {
  const began = performance.now()
  const child = spawn('npm', ['run', script], { stdio: ['ignore', 'pipe', 'pipe'] })
  const printed = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => printed.push(data))
  const [code] = await once(child, 'close')
  process.stdout.write(Buffer.concat(printed))
  console.log(`\n${script}: ${Math.round((performance.now() - began) / 1_000)} s`)
  if (code !== 0) failed.push(script)
  return code === 0
}

/** What comes after a script that failed is not run, as it may need what that one makes. */
async function runLane(scripts) {
  for (const script of scripts) if (!(await run(script))) return
}

await Promise.all(LANES.map(runLane))
for (const script of failed) console.log(`FAILED: npm run ${script}`)
process.exitCode = failed.length === 0 ? 0 : 1
