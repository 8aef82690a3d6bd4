import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import * as addresses from '../../src/hosted/addresses.ts'
import * as headers from '../../src/hosted/headers.ts'
import * as parameters from '../../src/hosted/list-parameters.ts'

const FACTS = [...Object.values(addresses), ...Object.values(headers), ...Object.values(parameters)].filter(
  (fact) => typeof fact === 'string',
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
