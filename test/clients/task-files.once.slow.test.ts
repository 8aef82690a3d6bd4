import { readdirSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import * as sdk from 'waitpoint/sdk'
import { exportedNames, typeProblems, type TypeProblem } from '../support/type-check.ts'

const FOLDER = 'test/adapters/sdk/files'
const files = readdirSync(FOLDER).map((name) => `${FOLDER}/${name}`)

describe.each([
  ['those of the published SDK', 'test/clients/node_modules/@trigger.dev/sdk/dist/esm/v3/index.d.ts'],
  ['those of waitpoint/sdk', 'src/sdk.ts'],
])('with the types that are %s', (_whose, types) => {
  let problems: readonly TypeProblem[] = []
  beforeAll(() => {
    const path = `./${types}`
    problems = typeProblems(files, { '@trigger.dev/sdk': path, '@trigger.dev/sdk/v3': path })
  })

  it.each(files)('%s compiles', (file) => {
    expect(problems.filter(({ path }) => path === file)).toEqual([])
  })
})

describe('the types of waitpoint/sdk', () => {
  const path = './src/sdk.ts'
  const wrong = 'test/adapters/sdk/wrong.ts'

  it('find the mistakes that the published types find', () => {
    const found = (types: string): readonly number[] =>
      typeProblems([wrong], { '@trigger.dev/sdk': types }).map(({ line }) => line)
    const published = found('./test/clients/node_modules/@trigger.dev/sdk/dist/esm/v3/index.d.ts')
    expect(published.length).toBeGreaterThan(5)
    expect(found(path)).toEqual(published)
  })

  it('take a configuration with hooks and steps of a build, and readers of runs, as the published types do', () => {
    for (const types of ['./test/clients/node_modules/@trigger.dev/sdk/dist/esm/v3/index.d.ts', path])
      expect(typeProblems(['test/adapters/sdk/compiled.ts'], { '@trigger.dev/sdk': types })).toEqual([])
  })
})

/** Types that only exports have that are refused, as docs/hosted-task-files.md says, and functions that are exported as types. */
const WITHOUT_TYPES = [
  /webhook|ProviderProducers|ChatEvent|Session|Query|RunsTableRow|RunFriendlyStatus|Dashboard|Deployment/i,
  /^(BulkAction|TriggerClientConfig)$|ForTests$/,
  /^(on[A-Z]\w*|middleware)$/,
]

describe('the exports of waitpoint/sdk', () => {
  it('have the types of the published SDK', () => {
    const [published, own] = exportedNames([
      'test/clients/node_modules/@trigger.dev/sdk/dist/esm/v3/index.d.ts',
      'src/sdk.ts',
    ])
    expect(published?.length).toBeGreaterThan(150)
    const missing = published?.filter(
      (name) => own?.includes(name) !== true && !WITHOUT_TYPES.some((pattern) => pattern.test(name)),
    )
    expect(missing).toEqual([])
  })

  it('are those of the published SDK', async () => {
    const path: string = './node_modules/@trigger.dev/sdk/dist/esm/v3/index.js'
    const published = Object.keys((await import(path)) as object)
    const missing = published.filter((name) => !Object.hasOwn(sdk, name))
    // A class that is no option of anything, and what only the tests of the SDK and its chat call.
    expect(missing.toSorted()).toEqual([
      'ManualWaitpointPromise',
      '__setSessionCloseImplForTests',
      '__setSessionOpenImplForTests',
      '__setSessionStartImplForTests',
    ])
  })
})
