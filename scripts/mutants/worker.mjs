// Judges mutants of the template: one process of `scripts/mutants.mjs`, which sends the numbers of mutants and receives verdicts.
import { readFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { transform } from 'esbuild'
import { mutantsOf, withSteps } from './mutations.mjs'
import { changed } from './values.mjs'

/** A mutant does not end in a law if it makes so many times as many calls and turns of loops as the template does, and some more. */
const PATIENCE = 4
const SOME_STEPS = 1_000

const [path, suite] = process.argv.slice(2)
const template = readFileSync(path, 'utf8')
const { storageConformance } = await import(suite)
const mutants = mutantsOf(template)

/** For each method, or change of a value, the laws that have found a mutant of it last: they find most of the others too. */
const killers = new Map()

/** Calls and turns of loops, in one law. */
let steps = 0
let mostSteps = Infinity
/** An error that no call answers, as that of a listener. */
let lost
process.on('uncaughtException', (error) => {
  lost = error
})

/** The members of the template that are called in one law. */
let called = new Set()

/**
 * For each law how many steps it may take, how long the template takes, as most mutants are found by a law that is quick, and what
 * it calls: of the rest it can say nothing.
 */
const stepsOf = new Map()
const msOf = new Map()
const calledIn = new Map()
for (const { id, run } of await lawsOf(template)) {
  steps = 0
  called = new Set()
  calledIn.set(id, called)
  const began = performance.now()
  await run()
  msOf.set(id, performance.now() - began)
  stepsOf.set(id, PATIENCE * steps + SOME_STEPS)
}

const members = new Set([...calledIn.values()].flatMap((names) => [...names]))

process.on('message', async (number) => {
  process.send({ law: await firstBroken(mutants[number]) })
})
process.send({})

/** The first law that a mutant breaks; `undefined` for a survivor. */
async function firstBroken({ name, text, value, isGap }) {
  const member = value ?? name.split(': ')[0]
  const known = killers.get(member) ?? []
  const likely = value !== undefined ? /^(values|texts)/ : isGap ? /^overlap/ : /^$/
  const rank = ({ id }) => (known.includes(id) ? 0 : likely.test(id) ? 1 : 2)
  const quickFirst = (one, other) => rank(one) - rank(other) || msOf.get(one.id) - msOf.get(other.id)
  const isCalled = ({ id }) => !members.has(member) || calledIn.get(id).has(member)
  for (const { id, run } of (await lawsOf(text)).filter(isCalled).sort(quickFirst)) {
    steps = 0
    mostSteps = stepsOf.get(id)
    lost = undefined
    const isKept = await run().then(
      () => steps <= mostSteps && lost === undefined,
      () => false,
    )
    if (isKept) continue
    killers.set(member, [id, ...known.filter((law) => law !== id)].slice(0, 8))
    return id
  }
  return undefined
}

/** The laws, as cases on a storage with this text. */
async function lawsOf(text) {
  const { TemplateStorage, TemplateDatabase } = await loaded(text)
  const databases = new WeakMap()
  const open = (database) => {
    const storage = new TemplateStorage(database)
    databases.set(storage, database)
    return storage
  }
  return storageConformance(() => open(new TemplateDatabase()), {
    crash: (storage) => open(databases.get(storage)),
    capabilities: { endlessLease: false, boundedHistory: false },
  }).cases
}

async function loaded(text) {
  const { code } = await transform(withSteps(text), { loader: 'ts', format: 'cjs' })
  const module = { exports: {} }
  new Function('module', 'exports', 'step', 'changed', code)(module, module.exports, step, changed)
  return module.exports
}

function step(member) {
  called.add(member)
  steps += 1
  if (steps > mostSteps) throw new Error('Cannot judge the mutant: it does not end')
}
