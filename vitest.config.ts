import { fileURLToPath } from 'node:url'
import { defineConfig, type ViteUserConfig } from 'vitest/config'
import { LongestFirst } from './test/support/longest-first.ts'

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** Whatever drives an engine: these files run once per storage, so that no path is only shipped or only tested. */
const core = ['test/{core,http,client,testing,scenarios}/**/*.test.ts']

/** Of these, what has a storage of its own, whatever is asked for, or none: once is enough. */
const once = [
  'test/testing/{arbitraries,explore,outcomes,planted,planted-worlds}.test.ts',
  'test/testing/storages/{async,observed,process-end}.test.ts',
  'test/testing/witness/*.test.ts',
  'test/testing/{conformance,exploration}/**/*.test.ts',
  'test/testing/history/replay-programs.test.ts',
  'test/scenarios/{every-schedule,http-stalled-reader,linear-work,many-waits,process-exit}.test.ts',
  'test/{client,http,testing}/{import-graph,openapi}.test.ts',
  'test/http/request-{cost,turns}.property.test.ts',
]

/**
 * What also runs on a storage that is away, slow or full at random. A call of a run then waits for its storage by the clock of
 * its engine, and a tick or a claim that failed is made again after a second of that clock. Single tests take
 * `steadyStorage()`: those that name instants, count events or calls, or hold a clock or a promise that the wait needs.
 */
const flaky = [
  'test/core/ambient/{current-engine,define-task,idempotency-keys}.test.ts',
  'test/core/{engine-options,wrong-input}.test.ts',
  'test/core/namespaces/{metadata,new-run,once,streams,token-list}.test.ts',
  'test/core/reading/{followed-streams,run-results,stream-pages,stream-reader,subscription}.test.ts',
  'test/scenarios/{answers-and-questions,late-registration}.test.ts',
  'test/testing/fixture/token-post.test.ts',
  'test/testing/foreign-sources.test.ts',
]

// What does not run on it, and why:
// - The clock stands still between the steps of most tests, so that no call is made again before the next step:
//   core/{shutdown,changes/{events,retention},execution/{executor,slots,ticker},waits/waitpoints},
//   core/namespaces/{reschedule,runs,tasks,wait}, core/views/token,
//   scenarios/{abandon-and-recover,approval,cancel-while-waiting,deadlines-and-leases,interruption,parallel-waits},
//   testing/{create-test-engine,fixture/*,vitest/run-matchers}, and http/*, whose requests move no clock either.
// - It fails calls itself, and says which ones: core/{execution/claimer,host/outage,streams/channel}, api/retry,
//   scenarios/{failing-calls,lost-*,named-hints,stale-attempt}.
// - Its tests name the instants at which runs go on, or count the errors that an engine reports:
//   core/execution/{execution-limit,task-call,unknown-tasks}, core/streams/{pipe,registry}, testing/storages/resuming,
//   testing/vitest/task-test.
// - It abandons engines in the middle of a write, so that what a flaky storage has not taken yet is lost:
//   scenarios/{debounced-children,interruption,random-programs,streams-over-attempts}.
// - It counts work or turns, or compares the answers of two engines side by side: core/execution/backlog,
//   scenarios/{follow-from-another-engine,http-subscribers,slots,slow-subscriber,stream-longer-than-60s}, client/*.
// - It drives no engine: core/{attempt,host}/* and others.

/** One file after the other in one process: to import all modules anew for each file takes as long as its tests. */
const inOneProcess = { isolate: false }

/** What runs against the published client, with packages of its own: each folder is a project. */
const apart = ['test/{clients,browser}/**']

/** From here on Node has SQLite built in, and the engine is driven on it too. */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
const hasSqlite = major > 22 || (major === 22 && minor >= 13)
const onSqlite = {
  extends: true as const,
  test: {
    name: 'core-sqlite',
    ...inOneProcess,
    include: core,
    exclude: once,
    env: { WAITPOINT_STORAGE: 'sqlite' },
  },
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
    // A statement that was planned once is planned for all files of a process.
    ...inOneProcess,
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
    setupFiles: here('test/support/property-seed.ts'),
    // Half of the time of many is spent on waiting for processes, disks and servers.
    maxWorkers: '100%',
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: { name: 'core', ...inOneProcess, include: core, env: { WAITPOINT_STORAGE: 'memory' } },
      },
      {
        extends: true,
        test: {
          name: 'core-async',
          ...inOneProcess,
          include: core,
          exclude: once,
          env: { WAITPOINT_STORAGE: 'memory-async' },
        },
      },
      {
        extends: true,
        // The seed of a flaky storage is that of its process: a file must not depend on those before it.
        test: { name: 'core-flaky', include: flaky, env: { WAITPOINT_STORAGE: 'flaky' } },
      },
      ...(hasSqlite ? [onSqlite] : []),
      ...(asksForPostgres ? [onPostgres] : []),
      {
        extends: true,
        // Task files of the hosted service, as docs/hosted-task-files.md points their import.
        resolve: { alias: [{ find: /^@trigger\.dev\/sdk(\/v3)?$/, replacement: here('src/sdk.ts') }] },
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
          globalSetup: ['test/clients/install.ts', 'test/databases/install.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'clients-4.5',
          include: ['test/clients/*.test.ts'],
          exclude: [
            'test/clients/{environment,explored-express,express,frameworks,judge,task-executor,task-files,webpack}.test.ts',
          ],
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
