import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { fencedBlocks } from './support/walks.ts'

const pages = readdirSync('docs').filter((name) => name.endsWith('.md'))

/** The program code of a page. */
function codeOf(page: string): string {
  return fencedBlocks(readFileSync(`docs/${page}`, 'utf8'), 'ts').join('\n')
}

/** The pages whose code has this. */
function pagesWith(pattern: RegExp): readonly string[] {
  return pages.filter((page) => pattern.test(codeOf(page)))
}

describe('the pages of docs', () => {
  it('trigger with engine.trigger, but for a client, and for task files of the hosted service', () => {
    expect(pagesWith(/\bengine\.trigger\(/).length).toBeGreaterThan(9)
    expect(pagesWith(/(?<!client\.)\btasks\.trigger\b/)).toEqual(['hosted-task-files.md'])
  })

  it('show one way to tell waits apart each', () => {
    const named = pagesWith(/\bwait\.[^\n]*\bname: /)
    const keyed = pagesWith(/\b(?:wait\.[^\n]*|const options = \{ )\bidempotencyKey\b/)
    expect([named.length, keyed.length].every((count) => count > 0)).toBe(true)
    expect(named.filter((page) => keyed.includes(page))).toEqual([])
  })
})
