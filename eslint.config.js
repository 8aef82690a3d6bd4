import js from '@eslint/js'
import { defineConfig } from 'eslint/config'
import tseslint from 'typescript-eslint'
import { plainWords } from './test/support/plain-words.js'

const syntax = {
  defaultExport: {
    selector: 'ExportDefaultDeclaration',
    message: 'Export by name: one file, one noun, the same name everywhere.',
  },
  exportAll: {
    selector: 'ExportAllDeclaration',
    message: 'Name what is exported; a reader of the entry sees the whole API.',
  },
  ambientDate: {
    selector: 'NewExpression[callee.name="Date"][arguments.length=0], CallExpression[callee.name="Date"]',
    message: 'Ask the clock: `new Date(clock.now())`.',
  },
}

const endlessMicrotasks = {
  selector:
    'WhileStatement > ExpressionStatement > AwaitExpression > CallExpression[callee.object.name="Promise"][callee.property.name="resolve"]',
  message:
    'Without a bound it starves timers and storages for ever: `until` or `microtasksUntil` of test/support/turn.ts.',
}

/**
 * Time, turns and chance come in through the clock and the injected source; only src/clock may reach for them, and one
 * file for storages that wait for another process, which is in no clock's time.
 */
const ambientGlobals = ['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask', 'performance'].map(
  (name) => ({ name, message: 'Only src/clock may use it; elsewhere take a Clock.' }),
)
const ambientProperties = [
  ['Date', 'now'],
  ['Math', 'random'],
  ['crypto', 'randomUUID'],
  ['crypto', 'getRandomValues'],
  ['process', 'nextTick'],
  ['process', 'hrtime'],
  ['AbortSignal', 'timeout'],
  ...ambientGlobals.map(({ name }) => ['globalThis', name]),
].map(([object, property]) => ({ object, property, message: 'Only src/clock may use it.' }))

const ambientImports = {
  paths: [
    ...['timers', 'timers/promises', 'perf_hooks'].flatMap((name) => [name, `node:${name}`]),
    ...['crypto', 'node:crypto'].map((name) => ({
      name,
      importNames: ['randomUUID', 'randomBytes', 'randomInt', 'randomFill', 'randomFillSync', 'webcrypto'],
      message: 'Only src/clock may use it; elsewhere take the injected source.',
    })),
  ],
}

export default defineConfig(
  {
    ignores: [
      ...[
        'dist',
        'build',
        'coverage',
        'test/.cli',
        'test/.documents',
        'test/.examples',
        'test/clients/.frameworks',
      ],
      // An app of its own, which imports the package: test/cli/init.test.ts type-checks and runs it.
      'template',
      // Servers of hosts that are not installed here: test/clients/frameworks.once.test.ts type-checks and runs them.
      'examples/servers',
      // Task files of another SDK, which are compiled with its types.
      ...[
        'test/adapters/sdk/files',
        'test/adapters/sdk/{wrong,compiled}.ts',
        'test/clients/{.task-files,.judge}',
      ],
    ],
  },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/return-await': ['error', 'in-try-catch'],
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/no-confusing-void-expression': [
        'error',
        { ignoreArrowShorthand: true, ignoreVoidReturningFunctions: true },
      ],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      // `Task<P, O>` and `streams.read<T>()` say a type once on purpose; `void promise` is how a floating one is marked.
      '@typescript-eslint/no-unnecessary-type-parameters': 'off',
      // `createDeferred<void>()` and `void | Promise<void>` say what they are.
      '@typescript-eslint/no-invalid-void-type': 'off',
      // Only an adapter may answer without a promise; an async signature without await is how the others keep the promise.
      '@typescript-eslint/require-await': 'off',
      'no-restricted-syntax': ['error', syntax.defaultExport, syntax.exportAll],
    },
  },
  {
    files: ['src/**/*.ts'],
    rules: {
      'max-params': ['error', 3],
      complexity: ['error', 15],
      'no-console': 'error',
    },
  },
  {
    files: ['src/**/*.ts'],
    ignores: ['src/clock/**', 'src/storage/real-timer.ts'],
    rules: {
      'no-restricted-syntax': ['error', ...Object.values(syntax)],
      'no-restricted-globals': ['error', ...ambientGlobals],
      'no-restricted-properties': ['error', ...ambientProperties],
      'no-restricted-imports': ['error', ambientImports],
    },
  },
  {
    files: ['test/**/*.ts', 'examples/**/*.test.ts'],
    rules: {
      'no-restricted-syntax': ['error', syntax.defaultExport, syntax.exportAll, endlessMicrotasks],
      'no-restricted-globals': [
        'error',
        { name: 'setTimeout', message: 'Tests never sleep: advance the test clock.' },
        { name: 'setInterval', message: 'Tests never sleep.' },
      ],
      'no-restricted-properties': [
        'error',
        ...['mock', 'doMock', 'useFakeTimers'].map((property) => ({
          object: 'vi',
          property,
          message: 'Real collaborators, memory storage, test clock.',
        })),
        ...['it', 'test', 'describe'].flatMap((object) =>
          ['only', 'skip', 'todo'].map((property) => ({ object, property, message: 'Every test runs.' })),
        ),
      ],
      '@typescript-eslint/no-non-null-assertion': 'off',
    },
  },
  {
    files: ['{src,test,bench,examples,scripts,site}/**/*.{ts,tsx,js,mjs}'],
    ignores: ['test/plain-words.test.ts', 'test/support/plain-words.js'],
    plugins: { waitpoint: { rules: { 'plain-words': plainWords } } },
    rules: { 'waitpoint/plain-words': 'error' },
  },
  // Pages for a browser have a tsconfig of their own: rules that need no types suffice here.
  { files: ['**/*.tsx'], extends: [tseslint.configs.strict] },
  { files: ['*.config.ts'], rules: { 'no-restricted-syntax': 'off' } },
  {
    files: ['**/*.{js,mjs}'],
    languageOptions: { globals: { console: 'readonly', process: 'readonly', URL: 'readonly' } },
  },
)
