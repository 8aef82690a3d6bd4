// Measures the size of each entry in an application: bundled with its dependencies, minified, gzipped. Some have a
// limit. What an entry loads later, if at all, is counted apart.
import { Buffer } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

// For `waitpoint` the goal was 15,000; docs/decisions/size-and-package.md has the reasons why it is more. The limit keeps it from growing unseen.
// A task file loads `waitpoint/sdk` beside `waitpoint`, with which it shares most of its code.
// The client is for pages: it must bundle for a browser. Its goal is 8,000; checks, durations and event streams are half of it.
const LIMITS = { '.': 90_520, './client': 21_580, './sdk': 34_250, './ai': 13_600, './react': 4_000 }
const IN_BROWSERS = ['./client', './react']
/** What is counted without another entry, which a user of it has in any case. */
const BESIDE = { './react': './client' }
/** How many files `import 'waitpoint'` loads: each costs half a millisecond of a start (docs/decisions/size-and-package.md). */
const MOST_FILES = { '.': 4 }

const { exports, peerDependencies = {} } = JSON.parse(readFileSync('package.json', 'utf8'))
const entries = Object.entries(exports).filter(([, target]) => target.default)

const rows = await Promise.all(
  entries.map(async ([name, target]) => {
    const { outputFiles, metafile } = await build({
      entryPoints: [target.default, ...(BESIDE[name] ? [exports[BESIDE[name]].default] : [])],
      bundle: true,
      minify: true,
      write: false,
      outdir: 'build',
      splitting: true,
      metafile: true,
      format: 'esm',
      ...(IN_BROWSERS.includes(name)
        ? { platform: 'browser', target: 'es2022' }
        : { platform: 'node', target: 'node20' }),
      // The package that an entry is for is installed in any case.
      external: Object.keys(peerDependencies),
      logLevel: 'error',
    })
    const loaded = loadedAtOnce(metafile.outputs, relative('', target.default))
    const beside = BESIDE[name] && relative('', exports[BESIDE[name]].default)
    const counted = beside ? loadedAtOnce(metafile.outputs, beside) : new Set()
    for (const path of counted) loaded.delete(path)
    const isLoaded = ({ path }) => loaded.has(relative('', path))
    const code = Buffer.concat(outputFiles.filter(isLoaded).map(({ contents }) => contents))
    const isLater = (file) => !isLoaded(file) && !counted.has(relative('', file.path))
    const later = Buffer.concat(outputFiles.filter(isLater).map(({ contents }) => contents))
    const gzipped = sizeOf(code)
    const limit = LIMITS[name]
    const files = filesAtOnce(metafile.inputs, relative('', target.default))
    const ok = (!limit || gzipped <= limit) && !(files > MOST_FILES[name])
    return {
      entry: name,
      minified: code.length,
      gzipped,
      later: sizeOf(later),
      limit: limit ?? '',
      files,
      ok,
    }
  }),
)

console.table(rows)
for (const { entry, gzipped, limit, files } of rows.filter(({ ok }) => !ok)) {
  const most = MOST_FILES[entry] ?? files
  console.error(
    `Cannot accept "${entry}": ${gzipped} bytes gzipped in ${files} files, the limits are ${limit} and ${most}`,
  )
  process.exitCode = 1
}

/** The files that an entry imports, not those that it may load later. */
function loadedAtOnce(outputs, source) {
  // What is loaded later has an entry point too.
  const [entry] = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === source)
  const loaded = new Set([entry])
  for (const path of loaded)
    for (const { path: imported, kind, external } of outputs[path].imports)
      if (kind === 'import-statement' && !external) loaded.add(imported)
  return loaded
}

/** How many files of the package Node reads for an entry. */
function filesAtOnce(inputs, source) {
  const files = new Set([source])
  for (const file of files)
    for (const { path, kind, external } of inputs[file].imports)
      if (kind === 'import-statement' && !external) files.add(path)
  return [...files].filter((file) => file.startsWith('dist/')).length
}

function sizeOf(code) {
  return code.length === 0 ? 0 : gzipSync(code, { level: 9 }).length
}
