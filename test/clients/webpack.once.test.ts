import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BuiltPackage } from '../support/built-package.ts'

/** The part of webpack that is used here: the other checks do without it. */
type Webpack = (options: object, done: (error: Error | null, stats?: Stats) => void) => void
interface Stats {
  toJson(options: object): {
    readonly [kind in 'errors' | 'warnings']: readonly { readonly message: string }[]
  }
}
const webpack = createRequire(import.meta.url)('webpack') as Webpack

/** Bundles, and answers what was said of it. */
function bundle(options: object): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    webpack(options, (error, stats) => {
      if (stats === undefined) return reject(error ?? new Error('webpack says nothing'))
      const { errors, warnings } = stats.toJson({ all: false, errors: true, warnings: true })
      resolve([...errors, ...warnings].map(({ message }) => message))
    })
  })
}

/** A server that has its runs in SQLite, and would have them in Postgres: no server listens there. */
const SERVER = `
  import { createEngine, task } from 'waitpoint'
  import { postgresStorage } from 'waitpoint/postgres'
  import { sqliteStorage } from 'waitpoint/sqlite'

  const double = task({ id: 'double', run: async (n) => n * 2 })
  async function main() {
    const engine = createEngine({ tasks: [double], storage: sqliteStorage('app.db') })
    const run = await engine.trigger(double, 21)
    const said = [await run.result(), typeof run.publicAccessToken]
    await engine.close()
    const other = createEngine({ tasks: [double], storage: postgresStorage('postgres://127.0.0.1:1/app') })
    said.push(await other.ready().catch((error) => error.message))
    await other.close()
    console.log(JSON.stringify(said))
  }
  main()
`

let built: BuiltPackage
beforeAll(async () => {
  built = await BuiltPackage.create()
  writeFileSync(join(built.folder, 'server.mjs'), SERVER)
})
afterAll(() => built[Symbol.dispose]())

describe('a server that webpack bundles', () => {
  it.each([
    ['development', 'eval'],
    ['production', false],
  ] as const)('opens SQLite and finds the driver of Postgres, for %s', async (mode, devtool) => {
    const said = await bundle({
      mode,
      devtool,
      target: 'node',
      context: built.folder,
      entry: './server.mjs',
      // What a minifier does is tried with esbuild.
      optimization: { minimize: false },
      output: { path: join(built.folder, mode), filename: 'server.cjs' },
      // The paths of the project that this one lies in lead to sources.
      resolve: { tsconfig: false },
    })
    expect(said).toEqual([])
    expect(JSON.parse(await built.run(join(built.folder, mode, 'server.cjs')))).toEqual([
      42,
      'string',
      expect.stringContaining('no server listens there'),
    ])
  })
})
