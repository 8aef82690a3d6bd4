// Judges the task files of folders outside of this repository: `node scripts/judge.mjs FOLDER` prints a table. For each file
// that imports `@trigger.dev/sdk`: which names it imports that waitpoint/sdk does not export; which type errors it has with
// the types of waitpoint/sdk, without those it has with the published types too; whether it can be loaded; and whether a run of
// each of its tasks ends under a test engine as it does under the executor of the published SDK, with every other package and
// every variable of the environment stubbed. The published SDK is compared with where test/clients is installed.
// Each folder is an application. `--markdown` prints scripts/judge/judged-files.md, for folders `OWNER__REPOSITORY@COMMIT`.
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleAll, writeModules } from './judge/bundles.mjs'
import { page, table } from './judge/report.mjs'
import { runAll } from './judge/runs.mjs'
import { verdictOf } from './judge/verdicts.mjs'
import { checked, filesOf, importedNames } from './judge/types.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const published = join(root, 'test/clients/node_modules/@trigger.dev/sdk')
const hasPublished = existsSync(published)

const OURS = {
  folder: join(root, 'build/judge', String(process.pid)),
  sdk: join(root, 'src/sdk.ts'),
  runner: join(root, 'scripts/judge/our-runner.mjs'),
  types: join(root, 'src/sdk.ts'),
}
const PUBLISHED = {
  folder: join(root, 'test/clients/.judge', String(process.pid)),
  sdk: '@trigger.dev/sdk',
  runner: join(root, 'scripts/judge/published-runner.mjs'),
  types: join(published, 'dist/esm/v3/index.d.ts'),
}

async function judge(folders) {
  const wrong = folders.find((folder) => !existsSync(folder))
  if (folders.length === 0 || wrong !== undefined) {
    console.error(
      `Cannot judge ${wrong ?? 'nothing'}: give a folder, as in \`node scripts/judge.mjs FOLDER\``,
    )
    process.exit(1)
  }
  const sides = hasPublished ? [OURS, PUBLISHED] : [OURS]
  const apps = folders.map((folder) => ({ folder: resolve(folder), files: filesOf(resolve(folder)) }))
  const files = apps.flatMap((app) => app.files)
  const [ours, theirs] = sides.map(({ types }) => checked(files, types, root))
  try {
    for (const { folder, sdk, runner } of sides)
      await writeModules(folder, { sdk, more: `export * from ${JSON.stringify(runner)}`, root })
    const rows = []
    for (const app of apps) rows.push(...(await judged(app, { sides, ours, theirs })))
    return rows
  } finally {
    for (const { folder } of sides) rmSync(folder, { recursive: true, force: true })
  }
}

async function judged({ folder, files }, { sides, ours, theirs }) {
  const name = basename(folder)
  const bundles = await bundleAll(
    files,
    name,
    sides.map((side) => side.folder),
  )
  const modules = new Map()
  for (const [file, { module, problem }] of bundles) if (problem === undefined) modules.set(module, file)
  const [our, their] = await Promise.all(sides.map((side) => runAll(side.folder, name, modules)))
  return files.map((file) => {
    const names = importedNames(file).filter((each) => !ours.names.has(each))
    const row = { app: name, file: relative(folder, file) }
    const others = theirs === undefined ? [] : names.filter((each) => !theirs.names.has(each))
    if (others.length > 0) return { ...row, others }
    const known = new Set(theirs?.problems.get(file)?.map(({ key }) => key))
    const types = (ours.problems.get(file) ?? []).filter(({ key }) => !known.has(key))
    const load = bundles.get(file).problem ?? our.loads.get(file)
    return { ...row, names, types, load, runs: verdictOf(file, our, their) }
  })
}

const given = process.argv.slice(2)
const rows = await judge(given.filter((argument) => argument !== '--markdown'))
const lines = given.includes('--markdown') ? page(rows, versions()) : table(rows)
for (const line of lines) console.log(line)
if (!hasPublished)
  console.log('The published SDK is not installed: types have all errors, and no end is compared')

function versions() {
  const path = join(published, 'package.json')
  const sdk = hasPublished ? JSON.parse(readFileSync(path, 'utf8')).version : '(not installed)'
  return { sdk, node: process.versions.node, day: new Date().toISOString().slice(0, 10) }
}
