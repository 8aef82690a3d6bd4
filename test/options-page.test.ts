import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { createEngine } from 'waitpoint'
import { readClientOptions } from '../src/client/connection/options.ts'
import { plainClock } from '../src/clock/plain.ts'
import { seededRandom } from '../src/clock/seeded-random.ts'
import { readEngineOptions } from '../src/api/engine-options.ts'
import { readLimits } from '../src/http/limits.ts'
import { readPostgresOptions } from '../src/storage/postgres/options.ts'
import { readSqliteOptions } from '../src/storage/sqlite/options.ts'

const PAGE = readFileSync('docs/options.md', 'utf8')

it('docs/options.md is what the types of the options and their comments say', () => {
  expect(execFileSync(process.execPath, ['scripts/options.mjs', '--check'], { encoding: 'utf8' })).toBe('')
})

/** The defaults that the table of a heading gives as a value; a sentence is none. */
function defaultsOf(heading: string): ReadonlyMap<string, unknown> {
  const table = PAGE.split(/^#+ /m).find((section) => section.startsWith(`${heading}\n`)) ?? ''
  const rows = table.matchAll(/^\| `(\w+)`(?:: .*?)? \| `([^`|]+)`(?: \([^)|]*\))? \| /gm)
  const values = Array.from(rows, ([, option = '', text = '']) => [option, valueOf(text)] as const)
  return new Map(values)
}

function valueOf(text: string): unknown {
  const json = text.replaceAll("'", '"').replaceAll(/(?<=\d)_(?=\d)/g, '')
  return JSON.parse(json) as unknown
}

const clock = plainClock()
const random = seededRandom(1)
const client = readClientOptions({ baseUrl: 'http://localhost', accessToken: 'x' }, { clock, random })
const { historyChunks, historyBytes, unreadInputs, ...engine } = readEngineOptions({})

it.each([
  ['createEngine(options)', engine],
  ['createEngine({ streams })', { historyChunks, historyBytes, unreadInputs }],
  ['createHandler(engine, { limits })', readLimits()],
  ['sqliteStorage(options)', readSqliteOptions({ path: 'app.db' })],
  ['postgresStorage(options)', readPostgresOptions({ connectionString: 'postgres://localhost' })],
])('the defaults of %s are those of the code', (name, actual) => {
  const said = defaultsOf(name)
  expect(said.size).toBeGreaterThan(0)
  expect(Object.fromEntries(said)).toEqual(
    Object.fromEntries([...said.keys()].map((option) => [option, Reflect.get(actual, option)])),
  )
})

it('the defaults of a client are those of the code', () => {
  expect(defaultsOf('createClient(options)').get('timeout')).toBe(`${client.timeoutMs / 1_000}s`)
  const { maxAttempts, minTimeoutInMs, maxTimeoutInMs } = client.retry
  expect(PAGE).toContain(
    `${maxAttempts} attempts, from ${minTimeoutInMs} ms on, twice as long each time, at most ${maxTimeoutInMs / 1_000} s`,
  )
})

it('the default deadline of a token is that of the code', async () => {
  await using own = createEngine()
  const { createdAt, timeoutAt } = await own.wait.retrieveToken(await own.wait.createToken())
  expect(defaultsOf('wait.createToken(options)').get('timeout')).toBe(
    `${(timeoutAt.getTime() - createdAt.getTime()) / 60_000}m`,
  )
})
