// Tests the package as users get it: packs it, installs the tarball in an empty folder without any development
// dependency, type-checks test/consumer/main.ts against its declarations (every .d.ts included) and runs it.
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import ts from 'typescript'

const EXPECTED =
  /^(dist\/[\w.-]+\.(js|d\.ts)|dist\/cli\/main\.js|docs\/[\w./-]+\.(md|svg|json)|examples\/[\w./-]+\.(md|ts|mjs)|template\/[\w./-]+|(bench\/README|README|CHANGELOG|THIRD-PARTY-NOTICES)\.md|llms\.txt|LICENSE|package\.json)$/
/** The peers of entries that are not named after them. */
const PEERS = { './otel': '@opentelemetry/api' }
/** It is not for the peer of its name: it takes what the caller has made of it, or of another driver. */
const OF_NO_PEER = './postgres'
/** A package registry shows no more of the README. */
const README_LIMIT = 65_536
/** What an installation fetches, compressed. */
const TARBALL_LIMIT = 1_075_000
/** The pages for users, together: what is told twice, or to readers of the code alone, goes first. */
const PAGES_LIMIT = 266_950

const here = resolve('.')
const folder = mkdtempSync(join(tmpdir(), 'waitpoint-packed-'))
const run = (command, ...args) =>
  execFileSync(command, args, { cwd: folder, encoding: 'utf8', stdio: 'pipe' })

function install() {
  const report = JSON.parse(run('npm', 'pack', here, '--json', '--ignore-scripts'))
  const [{ filename, files, size }] = Array.isArray(report) ? report : Object.values(report)
  const stray = files.map(({ path }) => path).filter((path) => !EXPECTED.test(path))
  if (stray.length > 0) throw new Error(`Cannot publish these files: ${stray.join(', ')}`)
  const missing = ['README.md', 'docs/README.md', 'llms.txt', 'template/server.ts'].filter(
    (name) => !files.some(({ path }) => path === name),
  )
  if (missing.length > 0) throw new Error(`Cannot publish without ${missing.join(', ')}`)
  if (size > TARBALL_LIMIT)
    throw new Error(`Cannot publish ${size} bytes packed: the limit is ${TARBALL_LIMIT}`)
  const pages = files
    .filter(({ path }) => /^docs\/[\w-]+\.md$/.test(path))
    .reduce((sum, page) => sum + page.size, 0)
  if (pages > PAGES_LIMIT)
    throw new Error(`Cannot publish pages of ${pages} bytes: the limit of docs/*.md is ${PAGES_LIMIT}`)
  const readme = files.find(({ path }) => path === 'README.md')
  if (readme.size >= README_LIMIT)
    throw new Error(`Cannot publish a README of ${readme.size} bytes: the limit is ${README_LIMIT}`)
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
  run('npm', 'install', '--omit=dev', '--no-audit', '--no-fund', '--prefer-offline', `./${filename}`)
  return `${files.length} files, ${size} bytes packed`
}

function typeCheck() {
  copyFileSync('test/consumer/main.ts', join(folder, 'main.ts'))
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    target: 'es2022',
    lib: ['es2023', 'esnext.disposable'],
    module: 'nodenext',
    types: ['node'],
    typeRoots: [join(here, 'node_modules/@types')],
    noEmit: true,
    skipLibCheck: false,
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['main.ts'] }))
  run(process.execPath, join(here, 'node_modules/typescript/bin/tsc'), '-p', folder)
}

function runConsumer() {
  const source = readFileSync(join(folder, 'main.ts'), 'utf8')
  const { outputText } = ts.transpileModule(source, {
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
  })
  writeFileSync(join(folder, 'main.js'), outputText)
  return run(process.execPath, 'main.js').trim()
}

/**
 * Checks that every entry of the exports map can be imported and exports something. An entry that is for a peer asks for
 * that peer.
 */
function importEntries() {
  const { name, exports, peerDependencies = {} } = JSON.parse(readFileSync('package.json', 'utf8'))
  const peerOf = (key) => PEERS[key] ?? key.slice('./'.length)
  const isOfPeer = (key) => key !== OF_NO_PEER && peerOf(key) in peerDependencies
  const keys = Object.keys(exports).filter((key) => key !== './package.json')
  for (const key of keys.filter(isOfPeer)) {
    const peer = peerOf(key)
    const script = `await import('${name}${key.slice(1)}').then(() => { throw new Error('${peer} is there') }, (error) => { if (!error.message.includes("'${peer}'")) throw error })`
    run(process.execPath, '--input-type=module', '--eval', script)
  }
  const entries = keys.filter((key) => !isOfPeer(key))
  for (const entry of entries.map((key) => name + key.slice(1))) {
    const script = `const n = Object.keys(await import('${entry}')).length; if (n === 0) throw new Error('nothing in ${entry}')`
    run(process.execPath, '--input-type=module', '--eval', script)
  }
  return entries.length
}

/** Runs the program of `bin` as a stranger does: by its name, in a folder without a storage. */
function runProgram() {
  const help = run('npx', '--no-install', 'waitpoint', '--help')
  if (!help.includes('Usage: waitpoint <command>')) throw new Error(`The program says: ${help}`)
  expectRefused(2, 'name a place', 'runs', 'list')
  expectRefused(4, 'npm install pg', 'runs', 'list', '--postgres', 'postgres://127.0.0.1/none')
  const { files: written } = JSON.parse(run('npx', '--no-install', 'waitpoint', 'init', 'app', '--json'))
  const absent = ['.gitignore', '.env', 'package.json', 'tasks/publish.ts'].filter(
    (file) => !written.includes(file),
  )
  if (absent.length > 0) throw new Error(`The program writes an app without ${absent.join(', ')}`)
  return run('npx', '--no-install', 'waitpoint', '--version').trim()
}

/** A place that cannot be reached ends the program with a sentence that says what to do. */
function expectRefused(status, sentence, ...words) {
  let refused = { status: 0, stderr: '' }
  try {
    run('npx', '--no-install', 'waitpoint', ...words)
  } catch (error) {
    refused = error
  }
  if (refused.status !== status || !refused.stderr.includes(sentence))
    throw new Error(`The program ends with ${refused.status}: ${refused.stderr}`)
}

try {
  const packed = install()
  typeCheck()
  const entries = importEntries()
  const version = runProgram()
  const said = runConsumer()
  console.log(
    `Node ${process.versions.node}: ${packed}, ${entries} entries imported, the program is ${version}, the consumer says "${said}"`,
  )
} catch (error) {
  console.error(error.message, error.stdout ?? '')
  process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
