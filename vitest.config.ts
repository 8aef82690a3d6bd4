import { fileURLToPath } from 'node:url'
import { defineConfig, type ViteUserConfig } from 'vitest/config'

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** Whatever drives an engine: these files run once per storage, so that no path is only shipped or only tested. */
const core = ['test/{core,http,client,testing,scenarios}/**/*.test.ts']

/** Of these, what has a storage of its own, whatever is asked for, or none: once is enough. */
const once = [
  'test/testing/{arbitraries,explore,outcomes,planted}.test.ts',
  'test/testing/storages/{async,observed,process-end}.test.ts',
  'test/testing/witness/*.test.ts',
  'test/testing/{conformance,exploration}/**/*.test.ts',
  'test/scenarios/{every-schedule,http-stalled-reader,many-waits,process-exit}.test.ts',
  'test/{client,http,testing}/{import-graph,openapi}.test.ts',
]

/** What runs against the published client, with packages of its own: each folder is a project. */
const apart = ['test/{clients,browser}/**']

/** From here on Node has SQLite built in, and the engine is driven on it too. */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
const hasSqlite = major > 22 || (major === 22 && minor >= 13)
const onSqlite = {
  extends: true as const,
  test: { name: 'core-sqlite', include: core, exclude: once, env: { WAITPOINT_STORAGE: 'sqlite' } },
}

/** `WAITPOINT_STORAGE=postgres npm test` drives the engine on the Postgres server of the run as well. */
const asksForPostgres = process.env['WAITPOINT_STORAGE'] === 'postgres'
// Each project says for itself what it is driven on.
delete process.env['WAITPOINT_STORAGE']
const onPostgres = {
  extends: true as const,
  test: {
    name: 'core-postgres',
    include: core,
    exclude: once,
    env: { WAITPOINT_STORAGE: 'postgres' },
    globalSetup: 'test/databases/postgres/setup.ts',
    // One file after the other in one process: a statement that was planned once is planned for all of them.
    isolate: false,
    // While one waits for the server another one works. In a group of its own: the others have as many as are usual.
    maxWorkers: 2,
    sequence: { groupOrder: 1 },
  },
}

/** What takes the longest takes a quarter of a minute on a machine that has nothing else to do. */
const PATIENCE_MS = 600_000

const config: ViteUserConfig = defineConfig({
  resolve: {
    // The package by its own name, as users import it, without a build.
    alias: [
      { find: /^waitpoint$/, replacement: here('src/index.ts') },
      { find: /^waitpoint\/([a-z-]+)$/, replacement: here('src/$1.ts') },
    ],
  },
  test: {
    // Nothing is measured by these: they end what hangs, also on a machine that is busy with other things.
    testTimeout: PATIENCE_MS,
    hookTimeout: PATIENCE_MS,
    teardownTimeout: PATIENCE_MS,
    allowOnly: false,
    // Half of the time of many is spent on waiting for processes, disks and servers.
    maxWorkers: '100%',
    projects: [
      { extends: true, test: { name: 'core', include: core, env: { WAITPOINT_STORAGE: 'memory' } } },
      {
        extends: true,
        test: {
          name: 'core-async',
          include: core,
          exclude: once,
          env: { WAITPOINT_STORAGE: 'memory-async' },
        },
      },
      ...(hasSqlite ? [onSqlite] : []),
      ...(asksForPostgres ? [onPostgres] : []),
      {
        extends: true,
        test: {
          name: 'rest',
          include: ['test/**/*.test.ts'],
          exclude: [...core, ...apart, 'test/.documents/**', '**/node_modules/**'],
          globalSetup: ['test/databases/install.ts', 'test/databases/postgres/setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'clients',
          include: ['test/clients/*.test.ts'],
          env: { WAITPOINT_CLIENT: '@trigger.dev/sdk' },
          globalSetup: 'test/clients/install.ts',
        },
      },
      {
        extends: true,
        test: {
          name: 'clients-4.5',
          include: ['test/clients/*.test.ts'],
          exclude: ['test/clients/{express,frameworks}.test.ts'],
          env: { WAITPOINT_CLIENT: 'trigger-sdk-4.5' },
          globalSetup: 'test/clients/install.ts',
        },
      },
      {
        extends: true,
        test: {
          name: 'browser',
          include: ['test/browser/*.test.ts'],
          globalSetup: 'test/browser/install.ts',
        },
      },
    ],
  },
})

export default config
