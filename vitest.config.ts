import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig, type TestProjectInlineConfiguration, type ViteUserConfigFnObject } from 'vitest/config'
import { SlowFirst } from './test/support/slow-first.ts'

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** Whatever drives an engine: these files run once per storage, so that no path is only shipped or only tested. */
const core = ['test/{core,http,client,testing,scenarios}/**/*.test.ts']

/**
 * Of these, what differs by the storage below the engine: `src/http` and `src/client` reach it through the engine alone, and never ask
 * whether an answer is there already. They run in memory, and on Postgres.
 */
const whereStorageMatters = ['test/{core,testing,scenarios}/**/*.test.ts']

/** What has a storage of its own, whatever is asked for, or says nothing of it: it runs in one project only. So does what explores schedules. */
const once = ['**/*.once{,.slow}.test.ts', 'test/testing/{conformance,exploration,witness}/**']

/**
 * What also runs on a storage that is away, slow or full at random. A call of a run then waits for its storage by the clock of
 * its engine, and a tick or a claim that failed is made again after a second of that clock. Single tests take
 * `steadyStorage()`: those that name instants, count events or calls, or hold a clock or a promise that the wait needs. Others do
 * not run on it whose clock stands still between their steps, which fail calls themselves, count errors, work or turns, or abandon
 * an engine in the middle of a write.
 */
const onOutages = ['test/{core,testing,scenarios}/**/*.outages.test.ts']

/** `npm test` runs these in the mode `quick`, which does without what takes more than five seconds by itself. */
const OF_NPM_TEST = ['core', 'core-async', 'rest']

/** The projects in a mode: `slow` is everything that `npm test` leaves out. */
function inMode(
  mode: string,
  projects: readonly TestProjectInlineConfiguration[],
): TestProjectInlineConfiguration[] {
  const leftOut = (name: unknown): readonly string[] => {
    if (mode === 'quick') return ['**/*.slow.test.ts']
    const isOfNpmTest = OF_NPM_TEST.some((one) => one === name)
    return mode === 'slow' && isOfNpmTest ? ['**/!(*.slow).test.ts'] : []
  }
  return projects.map(({ test = {}, ...project }) => ({
    ...project,
    test: { ...test, exclude: [...(test.exclude ?? []), ...leftOut(test.name)] },
  }))
}

/** One file after the other in one process: to import all modules anew for each file takes as long as its tests. */
const inOneProcess = { isolate: false }

/**
 * What waits for servers, processes and connections for more than half of its time, after all that does not: one and a half as many
 * at once as there are cores.
 */
const waiting = { maxWorkers: Math.ceil(1.5 * availableParallelism()), sequence: { groupOrder: 1 } }

/**
 * What needs the drivers of databases, some of it a server too. What is slow at the top is what compiles, bundles or executes
 * everything that there is.
 */
const databases = [
  'test/{bench,cli,databases,examples}/**/*.test.ts',
  'test/storage/sqlite/**/*.test.ts',
  'test/*.slow.test.ts',
]

/** What runs against published packages of others, with packages of its own: each folder is a project. */
const apart = ['test/{ai,clients,browser}/**']

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
/** AI SDK 7 needs Node 22. */
const ai = (file: string): string =>
  here(
    major >= 22 ? `test/ai/node_modules/ai-7/dist/${file}.js` : `test/ai/node_modules/ai-6/dist/${file}.mjs`,
  )
/** From here on Node has SQLite built in, and the engine is driven on it too. */
const hasSqlite = major > 22 || (major === 22 && minor >= 13)
const onSqlite = {
  extends: true as const,
  test: {
    name: 'core-sqlite',
    ...inOneProcess,
    include: whereStorageMatters,
    exclude: once,
    env: { WAITPOINT_STORAGE: 'sqlite' },
  },
}

/** `WAITPOINT_STORAGE=postgres npm run test:all` drives the engine on the Postgres server of the run as well. */
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
    setupFiles: here('test/databases/postgres/take-back.ts'),
    // A statement that was planned once is planned for all files of a process.
    ...inOneProcess,
    ...waiting,
  },
}

/** What takes the longest takes a quarter of a minute on a machine that has nothing else to do. */
const PATIENCE_MS = 600_000

const config: ViteUserConfigFnObject = defineConfig(({ mode }) => ({
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
    setupFiles: here('test/support/property-seed.ts'),
    maxWorkers: '100%',
    sequence: { sequencer: SlowFirst },
    projects: inMode(mode, [
      {
        extends: true,
        test: {
          name: 'core',
          ...inOneProcess,
          include: core,
          env: { WAITPOINT_STORAGE: 'memory' },
        },
      },
      {
        extends: true,
        test: {
          name: 'core-async',
          ...inOneProcess,
          include: whereStorageMatters,
          exclude: once,
          env: { WAITPOINT_STORAGE: 'memory-async' },
        },
      },
      {
        extends: true,
        // The seed of a flaky storage is that of its process: a file must not depend on those before it.
        test: { name: 'core-flaky', include: onOutages, env: { WAITPOINT_STORAGE: 'flaky' } },
      },
      ...(hasSqlite ? [onSqlite] : []),
      ...(asksForPostgres ? [onPostgres] : []),
      {
        extends: true,
        // Task files of the hosted service, as docs/hosted-task-files.md points their import.
        resolve: { alias: [{ find: /^@trigger\.dev\/sdk(\/v3)?$/, replacement: here('src/sdk.ts') }] },
        test: {
          name: 'rest',
          ...inOneProcess,
          include: ['{test,examples}/**/*.test.ts'],
          exclude: [...core, ...databases, ...apart, 'test/.documents/**', '**/node_modules/**'],
        },
      },
      {
        extends: true,
        test: {
          name: 'databases',
          ...waiting,
          include: databases,
          exclude: ['**/node_modules/**'],
          globalSetup: ['test/databases/install.ts', 'test/databases/postgres/setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'clients',
          ...waiting,
          include: ['test/clients/*.test.ts'],
          env: { WAITPOINT_CLIENT: '@trigger.dev/sdk' },
          globalSetup: ['test/clients/install.ts', 'test/databases/install.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'clients-4.5',
          ...waiting,
          include: ['test/clients/*.test.ts'],
          exclude: once,
          env: { WAITPOINT_CLIENT: 'trigger-sdk-4.5' },
          globalSetup: 'test/clients/install.ts',
        },
      },
      {
        extends: true,
        resolve: {
          alias: [
            { find: /^ai$/, replacement: ai('index') },
            { find: /^ai\/test$/, replacement: ai('test/index') },
          ],
        },
        test: {
          name: 'ai',
          ...waiting,
          include: ['test/ai/*.test.ts'],
          globalSetup: ['test/ai/install.ts', 'test/databases/install.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'browser',
          ...waiting,
          include: ['test/browser/*.test.ts'],
          globalSetup: 'test/browser/install.ts',
        },
      },
    ]),
  },
}))

export default config
