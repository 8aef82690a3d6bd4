// Judges the conformance suite of storages by mutants of the template, examples/storage/template-storage.ts: each has one small
// mistake, and a law has to find it. Mutants that no law finds are listed in scripts/mutants/survivors.json, each with the reason why
// it is no mistake; less than 2 % may be.
//
//   node scripts/mutants.mjs                  judges all but those listed
//   node scripts/mutants.mjs --all            and looks whether those listed are still not found
//   node scripts/mutants.mjs '#settle' park   judges those whose names contain one of the texts, and prints each verdict
import { fork } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { clearTimeout, setTimeout } from 'node:timers'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { mutantsOf } from './mutants/mutations.mjs'

/** So many of a hundred may survive, or fewer. */
const MOST_SURVIVORS = 2
/** What a mutant may take that waits for ever; all others end by themselves. */
const PATIENCE_MS = 120_000

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const template = join(root, 'examples/storage/template-storage.ts')
const reasons = JSON.parse(readFileSync(join(root, 'scripts/mutants/survivors.json'), 'utf8'))
const isFull = process.argv.includes('--all')
const texts = process.argv.slice(2).filter((argument) => argument !== '--all')

const mutants = mutantsOf(readFileSync(template, 'utf8'))
const chosen = [...mutants.keys()].filter((number) => {
  const { name } = mutants[number]
  if (texts.length > 0) return texts.some((text) => name.includes(text))
  return isFull || reasons[name] === undefined
})

const folder = mkdtempSync(join(tmpdir(), 'waitpoint-mutants-'))
try {
  const suite = join(folder, 'suite.mjs')
  await build({
    entryPoints: [join(root, 'src/testing/conformance/suite.ts')],
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile: suite,
    logLevel: 'error',
  })
  report(await judged(suite))
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** The law that found each mutant, by its number; `undefined` where none did. */
async function judged(suite) {
  const laws = new Map()
  const left = [...chosen]
  const judge = async () => {
    while (left.length > 0) await inOneProcess(suite, { left, laws })
  }
  await Promise.all(Array.from({ length: Math.min(4, availableParallelism()) }, judge))
  return laws
}

/** Judges in a process of its own, until nothing is left or a mutant hangs in it. */
function inOneProcess(suite, { left, laws }) {
  return new Promise((resolve, reject) => {
    const child = fork(join(root, 'scripts/mutants/worker.mjs'), [template, suite])
    let number
    let patience
    const note = (law) => {
      laws.set(number, law)
      if (texts.length > 0) console.log(`${law ?? 'none'}  ${mutants[number].name}`)
    }
    // The first message says that it is ready, each other one which law has found the mutant that it was sent.
    child.on('message', ({ law }) => {
      clearTimeout(patience)
      if (number !== undefined) note(law)
      number = left.shift()
      if (number === undefined) return child.disconnect()
      child.send(number)
      patience = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS)
    })
    child.on('error', reject)
    child.on('exit', (code, signal) => {
      clearTimeout(patience)
      if (signal === 'SIGKILL' && number !== undefined) note('its process does not end')
      else if (code !== 0 || (number === undefined && left.length > 0))
        return reject(
          new Error(`Cannot judge ${mutants[number]?.name ?? 'mutants: does the template keep all laws?'}`),
        )
      resolve()
    })
  })
}

function report(laws) {
  const survive = (number) => laws.get(number) === undefined
  const survivors = chosen.filter(survive).map((number) => mutants[number].name)
  const found = chosen.filter((number) => !survive(number)).map((number) => mutants[number].name)
  const names = new Set(mutants.map(({ name }) => name))

  const faults = [
    ...survivors.filter((name) => reasons[name] === undefined).map((name) => `No law finds it: ${name}`),
    ...found
      .filter((name) => reasons[name] !== undefined)
      .map((name) => `Listed, but a law finds it: ${name}`),
    ...Object.keys(reasons)
      .filter((name) => !names.has(name))
      .map((name) => `Listed, but there is no such mutant: ${name}`),
  ]
  const listed = Object.keys(reasons).length
  const share = (100 * listed) / mutants.length
  if (share >= MOST_SURVIVORS) faults.push(`Too many are listed: ${MOST_SURVIVORS} % or more`)
  for (const fault of faults) console.log(fault)

  const gaps = mutants.filter(({ isGap }) => isGap).length
  console.log(
    `${mutants.length} mutants, of which ${gaps} only give control away; ${listed} are listed (${share.toFixed(1)} %)`,
  )
  console.log(`${chosen.length} judged: laws find ${found.length}, and ${survivors.length} survive`)
  if (faults.length > 0) process.exitCode = 1
}
