import { describe, expect, it } from 'vitest'
import { modelLaw } from '../../../../src/testing/conformance/laws/model.ts'
import { Mismatch } from '../../../../src/testing/conformance/sameness.ts'
import { Subject } from '../../../../src/testing/conformance/subject.ts'
import { type Break, openBroken } from '../broken/broken-storage.ts'

/** What the programs say of a broken storage. */
async function verdict(breaks: Break): Promise<unknown> {
  const another = (): Promise<Subject> => Subject.open(() => openBroken(breaks), 0)
  const subject = await another()
  return modelLaw.check(subject, another).catch((error: unknown) => error)
}

describe('modelLaw', () => {
  it.each<[string, RegExp, Break]>([
    [
      'a list that forgets its tags behind a cursor',
      /runs\.list/,
      ({ runs }) => ({
        runs: {
          list: (filter, page) =>
            runs.list(page.after === undefined ? filter : { ...filter, tags: undefined }, page),
        },
      }),
    ],
    [
      'a list of tokens that takes its last bound for exclusive',
      /tokens\.list/,
      ({ tokens }) => ({
        tokens: {
          list: (filter, page, now) =>
            tokens.list({ ...filter, ...(filter.to !== undefined && { to: filter.to - 1 }) }, page, now),
        },
      }),
    ],
    [
      'a read that counts from the segment of the last attempt',
      /chunks\.read/,
      ({ chunks }) => ({
        chunks: {
          read(request) {
            const read = chunks.read(request)
            const first = read?.stream.segments.at(-1)?.first ?? 0
            return first > request.from ? chunks.read({ ...request, from: first }) : read
          },
        },
      }),
    ],
    [
      'an append that loses what follows a repetition',
      /chunks\.append|chunks\.read/,
      ({ chunks }) => ({
        chunks: {
          append(request) {
            const known = chunks.read({ ...request, from: request.first, limit: 2 })?.chunks.length ?? 0
            return chunks.append(known < 2 ? request : { ...request, chunks: request.chunks.slice(0, known) })
          },
        },
      }),
    ],
    [
      'a prune that stops one record early',
      /prune/,
      (memory) => ({ prune: (request) => (request.limit === 1 ? 0 : memory.prune(request)) }),
    ],
  ])('finds %s', async (_what, step, breaks) => {
    const failure = await verdict(breaks)
    expect(failure).toBeInstanceOf(Mismatch)
    expect(String(failure).split('\n').at(-2)).toMatch(step)
  })

  it('finds nothing wrong with the storage in memory', async () => {
    expect(await verdict(() => ({}))).toBeUndefined()
  })
})
