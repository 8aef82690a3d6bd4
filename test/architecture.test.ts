import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import build from '../tsup.config.ts'
import { entryDisagreements, LAYERS, ROOMS, violations } from './support/architecture.ts'
import { fencedBlocks } from './support/walks.ts'
import { readSources } from './support/modules.ts'

/** A small tree that keeps every rule; each case below breaks one. */
const sound = {
  'src/index.ts': `export { createEngine, type Engine } from './core/create-engine.ts'`,
  'src/contract/clock.ts': `export interface Clock { now(): number; setTimeout: unknown }`,
  'src/primitives/ring-buffer.ts': `import ms from 'ms'\nexport const size = ms('1s')`,
  'src/primitives/id.ts': `import { size } from './ring-buffer.ts'\nexport const id = size`,
  'src/clock/system.ts': `import type { Clock } from '../contract/clock.ts'
    export const systemClock = (): Clock => ({ now: () => Date.now(), setTimeout })`,
  'src/core/engine.ts': `import { createHmac } from 'node:crypto'
    import { size } from '../primitives/ring-buffer.ts'
    /** Never calls Date.now() or new Date(). */
    export const at = (clock: { now(): number }) => [new Date(clock.now()), size, createHmac('sha256', 'setTimeout')]`,
  'src/core/create-engine.ts': `import { systemClock } from '../clock/system.ts'\nexport const createEngine = systemClock`,
  'src/api/errors.ts': `export class WaitpointError extends Error {}`,
  'src/contract/clock/a.ts': `import type { B } from '../storage/c.ts'\nexport type A = B`,
  'src/client/client.ts': `import { systemClock } from '../clock/system.ts'
    import { WaitpointError } from '../api/errors.ts'
    export const createClient = (): unknown[] => [systemClock, WaitpointError]`,
  'src/core/waits/waiter.ts': `export const waiter = 1`,
  'src/testing/fixture/engine.ts': `import { systemClock } from '../../clock/system.ts'\nexport const fixture = systemClock`,
}

const broken: readonly (readonly [rule: string, path: string, text: string, problem: string])[] = [
  [
    'contract sees nothing of ours',
    'src/contract/clock.ts',
    `import { id } from '../primitives/id.ts'`,
    'may see only contract',
  ],
  [
    'primitives see no contract',
    'src/primitives/id.ts',
    `import type { Clock } from '../contract/clock.ts'`,
    'may see only primitives',
  ],
  [
    'a type import counts',
    'src/clock/system.ts',
    `import type { at } from '../core/engine.ts'`,
    'may see only clock, contract, primitives',
  ],
  [
    'so does an import type',
    'src/clock/a.ts',
    `export type A = import('../core/engine.ts').A`,
    'imports src/core/engine.ts',
  ],
  [
    'so does a dynamic import',
    'src/storage/a.ts',
    `export const a = () => import('../core/engine.ts')`,
    'imports src/core/engine.ts',
  ],
  [
    'so does a re-export',
    'src/storage/a.ts',
    `export { at } from '../core/engine.ts'\nexport const b = 1`,
    'imports src/core/engine.ts',
  ],
  [
    'storage does not see the clock',
    'src/storage/memory/memory.ts',
    `import { systemClock } from '../../clock/system.ts'`,
    'imports src/clock',
  ],
  [
    'only create-engine knows the defaults',
    'src/core/engine.ts',
    `import { systemClock } from '../clock/system.ts'`,
    'may see only core',
  ],
  [
    'http sees no storage',
    'src/http/handler.ts',
    `import { memory } from '../storage/memory.ts'`,
    'imports src/storage',
  ],
  [
    'no file imports an entry',
    'src/http/handler.ts',
    `import { createEngine } from '../index.ts'`,
    'not below a layer',
  ],
  [
    'no file imports the package by its name',
    'src/http/handler.ts',
    `import { createEngine } from 'waitpoint'`,
    'its own package',
  ],
  [
    'a client sees no engine',
    'src/client/wire/a.ts',
    `import type { at } from '../../core/engine.ts'`,
    'imports src/core/engine.ts',
  ],
  ['a client loads nothing of Node', 'src/client/a.ts', `import { inspect } from 'node:util'`, 'no browser'],
  [
    'nor does what it shares with the engine',
    'src/api/errors.ts',
    `import { createHmac } from 'node:crypto'\nexport const a = createHmac`,
    'loads node:crypto',
  ],
  [
    'a client sees no HTTP handler',
    'src/client/a.ts',
    `import type { handler } from '../http/handler.ts'`,
    'imports src/http',
  ],
  [
    'no import leaves src',
    'src/testing/fixture/a.ts',
    `import { x } from '../../../test/x.ts'`,
    'not below a layer',
  ],
  ['every folder is a layer', 'src/lib/thing.ts', `export const a = 1`, 'no layer'],
  ['imports carry the extension', 'src/core/a.ts', `import { at } from './engine'`, 'without its extension'],
  [
    'no cycle',
    'src/core/engine.ts',
    `import './create-engine.ts'\nimport { at } from './engine.ts'`,
    'import cycle: src/core/engine.ts → src/core/engine.ts',
  ],
  ['no cycle of types', 'src/primitives/ring-buffer.ts', `import type { id } from './id.ts'`, 'import cycle'],
  ['no import for a side effect', 'src/core/a.ts', `import './engine.ts'`, 'side effect'],
  ['an entry only re-exports', 'src/index.ts', `export const a = 1`, 'must only re-export'],
  ['an entry is not empty', 'src/http.ts', ``, 'must only re-export'],
  ['no barrel below src', 'src/core/all.ts', `export { at } from './engine.ts'`, 'barrel'],
  ['no utils.ts', 'src/core/utils.ts', `export const a = 1`, 'named after nothing'],
  ['no types.ts', 'src/contract/types.ts', `export type A = 1`, 'named after nothing'],
  ['kebab-case', 'src/core/runScope.ts', `export const a = 1`, 'kebab-case'],
  ['no default export', 'src/core/a.ts', `export default 1`, 'default export'],
  ['no default function', 'src/core/a.ts', `export default function a() {}`, 'default export'],
  ['no renamed default', 'src/core/a.ts', `const a = 1\nexport { a as default }`, 'default export'],
  ['no export *', 'src/index.ts', `export * from './core/engine.ts'`, 'export *'],
  ['no export * as', 'src/core/a.ts', `export * as a from './engine.ts'\nexport const b = 1`, 'export *'],
  ...[
    ['Date.now()', 'Date.now'],
    ['new Date()', 'new Date()'],
    ['new Date', 'new Date()'],
    ['Date()', 'new Date()'],
    ['setTimeout(f, 1)', 'setTimeout'],
    ['globalThis.setTimeout(f, 1)', 'globalThis'],
    ['[setInterval]', 'setInterval'],
    ['setImmediate(f)', 'setImmediate'],
    ['queueMicrotask(f)', 'queueMicrotask'],
    ['Math.random()', 'Math.random'],
    ['crypto.randomUUID()', 'crypto.randomUUID'],
    ['process.nextTick(f)', 'process.nextTick'],
    ['performance.now()', 'performance'],
    ['AbortSignal.timeout(1)', 'AbortSignal.timeout'],
  ].map(
    ([code, use]) =>
      [`no ${code}`, 'src/core/a.ts', `export const a = (f) => ${code}`, `uses ${use}`] as const,
  ),
  [
    'no timers module',
    'src/core/a.ts',
    `import { setTimeout } from 'node:timers/promises'`,
    'uses setTimeout of timers',
  ],
  [
    'no random bytes',
    'src/core/a.ts',
    `import { randomBytes as b } from 'node:crypto'`,
    'uses randomBytes of crypto',
  ],
  [
    'a room sees no room above it',
    'src/core/waits/a.ts',
    `import { at } from '../engine.ts'`,
    '"engine" is above "waits" in src/core',
  ],
  [
    'a type import counts between rooms',
    'src/core/kernel.ts',
    `import type { at } from './engine.ts'`,
    'above',
  ],
  ['a file outside of every room', 'src/core/heap.ts', `export const a = 1`, 'is in no room of src/core'],
  [
    'no cycle between rooms, though no file is in one',
    'src/contract/storage/b.ts',
    `export type { A } from '../clock/c.ts'\nexport type B = 1`,
    'src/contract: rooms in a cycle: clock → storage → clock',
  ],
  [
    'a name that is exported twice',
    'src/http/a.ts',
    `export class WaitpointError {}`,
    '"WaitpointError" is declared in src/api/errors.ts and src/http/a.ts',
  ],
  [
    'a variable and a type of one name in two files',
    'src/http/a.ts',
    `export interface id {}`,
    '"id" is declared in',
  ],
  [
    'adapters see of the engine what the package exports',
    'src/adapters/sdk/values.ts',
    `import { at } from '../../core/engine.ts'`,
    'imports at of src/core/engine.ts, which no entry exports',
  ],
  [
    'adapters see of what lies below the engine what an entry exports, too',
    'src/adapters/sdk/values.ts',
    `import { WaitpointError } from '../../api/errors.ts'`,
    'imports WaitpointError of src/api/errors.ts, which no entry exports',
  ],
  [
    'the main entry exports of the contract of storages what an application sees',
    'src/index.ts',
    `export type { ChunkRecord } from './contract/records.ts'`,
    'exports src/contract/records.ts ChunkRecord, which only storages use',
  ],
  [
    'a type of the inside counts, and so does all of it',
    'src/adapters/sdk/values.ts',
    `import type * as engine from '../../core/engine.ts'`,
    'imports * of src/core/engine.ts',
  ],
  [
    'a part of the engine names the classes of its parts',
    'src/core/waits/a.ts',
    `interface Parts { readonly slots: { wake(): void } }\nexport const b = 1`,
    'Parts hides parts of the engine',
  ],
  [
    'a kernel as a part would like it',
    'src/core/waits/a.ts',
    `export interface WaitKernel { readonly waiter: string }`,
    'WaitKernel hides parts of the engine',
  ],
  [
    'beside the engine, inner names are out of reach',
    'src/http/a.ts',
    `import { at, waiter as w } from '../core/engine.ts'`,
    'reaches past src/core/inside.ts into src/core/engine.ts: at, waiter',
  ],
  [
    'inner types, too',
    'src/cli/a.ts',
    `import type { at } from '../core/engine.ts'`,
    'reaches past src/core/inside.ts into src/core/engine.ts: at',
  ],
  [
    'and what an import() loads',
    'src/testing/a.ts',
    `export const a = () => import('../core/engine.ts')`,
    'reaches past src/core/inside.ts into src/core/engine.ts: *',
  ],
  [
    'an import() of the engine is a late()',
    'src/core/a.ts',
    `export const a = () => import('./engine.ts')`,
    "import('./engine.ts') is no late",
  ],
  [
    'what is loaded late is there in tests',
    'src/core/a.ts',
    `export const a = late(() => import('./engine.ts'))`,
    'is not in src/core/all-loaded.ts',
  ],
  ['a name that says its folder again', 'src/core/waits/wait-key.ts', `export const a = 1`, '"waits" again'],
  [
    'a name that says a folder further up',
    'src/core/waits/core-key.ts',
    `export const a = 1`,
    '"core" again',
  ],
]

const allowed: readonly (readonly [what: string, path: string, text: string])[] = [
  ['the noun that its folder is named after', 'src/core/waits/wait.ts', `export const a = 1`],
  [
    'overloads and a re-export of one name',
    'src/storage/memory/b.ts',
    `export { size } from '../../primitives/ring-buffer.ts'
    export function b(): void
    export function b(a = 1) {}`,
  ],
  [
    'a room below',
    'src/core/kernel.ts',
    `import { waiter } from './waits/waiter.ts'\nexport const b = waiter`,
  ],
  [
    'the world in src/clock',
    'src/clock/virtual/a.ts',
    `export const a = () => [setTimeout, Math.random(), new Date()]`,
  ],
  [
    'real timers of storages in one file',
    'src/storage/real-timer.ts',
    `export const a = () => setTimeout(() => undefined, 5)`,
  ],
  [
    'what the package exports, in adapters',
    'src/adapters/sdk/values.ts',
    `import { createEngine } from '../../core/create-engine.ts'\nexport const b = createEngine`,
  ],
  [
    'what the package exports, beside the engine',
    'src/testing/fixture/b.ts',
    `import { createEngine } from '../../core/create-engine.ts'\nexport const b = createEngine`,
  ],
  [
    'the inner door, beside the engine',
    'src/testing/fixture/b.ts',
    `import { inside } from '../../core/inside.ts'\nexport const b = inside`,
  ],
  [
    'http in testing',
    'src/testing/fixture/a.ts',
    `import { createHandler } from '../../http/routes.ts'\nexport const a = createHandler`,
  ],
]

describe('architecture', () => {
  it('holds in src', () => {
    const sources = readSources('src')
    expect(sources.size).toBeGreaterThan(0)
    expect(violations(sources)).toEqual([])
  })

  it('has one list of entries: the exports map, src/*.ts and the build', () => {
    const { exports: exportsMap, bin } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      exports: object
      bin: Record<string, string>
    }
    const files = [...readSources('src').keys()].filter((path) => path.split('/').length === 2)
    expect(
      entryDisagreements({ exportsMap: { ...exportsMap }, files, built: build.entry as string[], bin }),
    ).toEqual([])
  })
})

describe('ARCHITECTURE.md', () => {
  const text = readFileSync('ARCHITECTURE.md', 'utf8')

  it('draws the layers that are checked', () => {
    const [block = ''] = fencedBlocks(text, 'layers')
    const drawn = block.split('\n').map((line) => line.split('→').map((part) => part.trim()))
    expect(drawn.map(([layer, below = '']) => [layer, below === '' ? [] : below.split(', ')])).toEqual(
      Object.entries(LAYERS),
    )
  })

  it('draws the rooms that are checked', () => {
    const [block = ''] = fencedBlocks(text, 'rooms')
    const drawn = block.split(/\n(?! )/).map((line) => line.split(': '))
    expect(drawn.map(([folder, rooms = '']) => [folder, rooms.split(/\s+·\s+/)])).toEqual(
      Object.entries(ROOMS),
    )
  })
})

describe('violations', () => {
  it('finds nothing in a sound tree', () => {
    expect(violations(new Map(Object.entries(sound)))).toEqual([])
  })

  it.each(allowed)('allows %s', (_what, path, text) => {
    expect(violations(new Map(Object.entries({ ...sound, [path]: text })))).toEqual([])
  })

  it.each(broken)('says so: %s', (_rule, path, text, problem) => {
    const found = violations(new Map(Object.entries({ ...sound, [path]: text })))
    expect(found).toContainEqual(expect.stringContaining(problem))
    expect(found).toContainEqual(expect.stringContaining(path))
  })
})

describe('entryDisagreements', () => {
  const exportsMap = {
    '.': { types: './dist/index.d.ts', default: './dist/index.js' },
    './package.json': './package.json',
  }
  const agreeing = { exportsMap, files: ['src/index.ts'], built: ['src/index.ts'] }

  it('finds nothing when the three agree', () => {
    expect(entryDisagreements(agreeing)).toEqual([])
    const built = ['src/index.ts', 'src/cli/main.ts']
    expect(entryDisagreements({ ...agreeing, built, bin: { waitpoint: './dist/cli/main.js' } })).toEqual([])
  })

  it.each([
    [
      'an entry that is not exported',
      { files: ['src/index.ts', 'src/http.ts'], built: ['src/index.ts', 'src/http.ts'] },
    ],
    ['an export without a file', { exportsMap: { ...exportsMap, './http': exportsMap['.'] } }],
    ['an export of another file', { exportsMap: { '.': './dist/main.js' } }],
    ['an entry that is not built', { built: [] }],
    ['something else that is built', { built: ['src/index.ts', 'src/core/engine.ts'] }],
    ['a program that is not built', { bin: { waitpoint: './dist/cli/main.js' } }],
    [
      'a program that is elsewhere',
      { built: ['src/index.ts', 'src/cli/main.ts'], bin: { waitpoint: './dist/main.js' } },
    ],
  ])('finds %s', (_what, change) => {
    expect(entryDisagreements({ ...agreeing, ...change })).toHaveLength(1)
  })
})
