import { readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { describe, expect, it } from 'vitest'

const HOSTED = readdirSync('src/hosted').map(
  (file) => import(`../../src/hosted/${basename(file, '.ts')}.ts`) as Promise<object>,
)
const FACTS = (await Promise.all(HOSTED)).flatMap((facts) =>
  Object.values(facts).filter((fact) => typeof fact === 'string'),
)

describe('the dialect of the hosted service', () => {
  const sources = readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.startsWith('hosted/'))
    .map((path) => ({ path, text: readFileSync(`src/${path}`, 'utf8') }))

  it.each(FACTS)('is written down once: %s', (fact) => {
    const copies = sources.filter(({ text }) => text.includes(`'${fact}'`))
    expect(copies.map(({ path }) => path)).toEqual([])
  })

  it('has no address that a client puts together', () => {
    const own = sources.filter(
      ({ path, text }) => path.startsWith('client/') && /['"`]\/(?:api|realtime)\//.test(text),
    )
    expect(own.map(({ path }) => path)).toEqual([])
  })
})
