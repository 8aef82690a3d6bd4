import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import type { Figure } from '../lab.ts'
import type { Goal, Series } from '../measurement.ts'

const OUT = 'build/bench/package'
const BUILT = { bundle: true, format: 'esm', platform: 'node', target: 'node20' } as const
const NS_PER_US = 1e3
const QUICK: Goal = { kind: 'over', most: 15e6 }
const MOST_GZIPPED = 15_000

/** A process that prints, for one import, the elapsed time and the CPU time in nanoseconds. */
const IMPORTER = `
  const cpu = process.cpuUsage()
  const start = process.hrtime.bigint()
  await import(process.argv[1])
  const end = process.hrtime.bigint()
  const { user, system } = process.cpuUsage(cpu)
  console.log(JSON.stringify([Number(end - start), (user + system) * ${NS_PER_US}]))
`

/** The cost before an application's first run: the imports of the built package, and its size in a bundle. */
export const startUp: Figure = {
  name: 'start-up',
  contests: [],
  async measure(lab) {
    const { entry, sdk, empty } = await buildPackage()
    const rounds = lab.rounds(25)
    return [
      { ...(await measureImport(entry, { empty, rounds })), what: "import 'waitpoint'", goal: QUICK },
      { ...(await measureImport(sdk, { empty, rounds })), what: "import 'waitpoint/sdk'", goal: QUICK },
      {
        what: 'its size, minified and gzipped',
        unit: 'bytes',
        count: 1,
        ours: { values: [await gzippedSize()] },
        goal: { kind: 'value', most: MOST_GZIPPED },
      },
    ]
  },
}

interface Built {
  readonly entry: string
  readonly sdk: string
  /** A module without anything. */
  readonly empty: string
}

/** The import of a file in a process of its own, beside the import of an empty one, by turns. */
async function measureImport(
  file: string,
  { empty, rounds }: Pick<Built, 'empty'> & { readonly rounds: number },
) {
  const ours: ImportTime[] = []
  const bare: ImportTime[] = []
  for (let round = 0; round < rounds; round++) {
    ours.push(await importTime(file))
    bare.push(await importTime(empty))
  }
  return { unit: 'ns', count: 1, ours: seriesOf(ours), bare: seriesOf(bare) } as const
}

/** Builds the package as `npm run build` does, without types: a start costs as much as its files, and how they are cut. */
async function buildPackage(): Promise<Built> {
  const tsup = resolve('node_modules/tsup/dist/cli-default.js')
  await promisify(execFile)(process.execPath, [tsup, '--silent', '--no-dts', '--out-dir', OUT])
  await writeFile(`${OUT}/empty.js`, 'export {}\n')
  return { entry: `${OUT}/index.js`, sdk: `${OUT}/sdk.js`, empty: `${OUT}/empty.js` }
}

/** The size, counted like `npm run size`. */
async function gzippedSize(): Promise<number> {
  const bundle = await build({ ...BUILT, entryPoints: ['src/index.ts'], minify: true, write: false })
  return gzipSync(bundle.outputFiles[0]?.contents ?? '', { level: 9 }).length
}

type ImportTime = readonly [wallNs: number, cpuNs: number]

async function importTime(file: string): Promise<ImportTime> {
  const url = pathToFileURL(resolve(file)).href
  const run = promisify(execFile)
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', IMPORTER, url])
  // Printed by IMPORTER.
  return JSON.parse(stdout) as ImportTime
}

function seriesOf(times: readonly ImportTime[]): Series {
  return { values: times.map(([wall]) => wall), cpu: times.map(([, cpu]) => cpu) }
}
