import { expect } from 'vitest'
import { mostAtOnce, NARROW, type Passage } from './narrow-place.ts'
import { type Observation, observations, type Observed, type RunAtEnd } from './observer.ts'

/**
 * Holds what every process was told before it was killed against what the last one found and finished. Answers how many
 * triggers were acknowledged.
 */
export function checkAtEnd(printed: string, observationFile: string): number {
  const seen = observations(observationFile)
  expectNothingLost(readAtEnd(printed), seen)
  expect(pick(seen, 'failed')).toEqual([])
  return pick(seen, 'triggered').length
}

/** The runs that a worker printed. */
export function readAtEnd(printed: string): readonly RunAtEnd[] {
  const lines = printed.split('\n').filter((line) => line.startsWith('{'))
  // As the worker prints it.
  return lines.map((line) => JSON.parse(line) as RunAtEnd)
}

/** Nothing that anybody was told is lost, nothing was done twice, and no limit was exceeded. */
export function expectNothingLost(atEnd: readonly RunAtEnd[], seen: readonly Observed[]): void {
  const runs = new Map(atEnd.map((run) => [run.id, run]))
  const byToken = new Map(atEnd.map((run) => [run.output?.token, run]))
  for (const { run } of pick(seen, 'triggered'))
    expect(runs.get(run)?.status, `${run} was acknowledged`).toBe('COMPLETED')
  const completed = pick(seen, 'completed')
  for (const { token, value } of completed)
    expect(byToken.get(token)?.output?.value, `${token} was acknowledged`).toBe(value)
  withoutRepetition(completed.map(({ token, pid }) => [token, pid]))
  withoutRepetition(pick(seen, 'finished').map(({ run, pid }) => [run, pid]))
  for (const { run, effect } of pick(seen, 'kept')) expect(runs.get(run)?.output?.effect, run).toBe(effect)
  for (const { id, chunks } of atEnd) expect([id, areContiguous(chunks)]).toEqual([id, true])
  expect(mostAtOnce(passagesOf(seen))).toBeLessThanOrEqual(NARROW)
}

export function pick<What extends Observation['what']>(
  all: readonly Observed[],
  what: What,
): Extract<Observed, { what: What }>[] {
  return all.filter((one): one is Extract<Observed, { what: What }> => one.what === what)
}

/** Each once; who did it twice is shown. */
function withoutRepetition(all: readonly (readonly [id: string, pid: number])[]): void {
  const ids = all.map(([id]) => id)
  expect(all.filter(([id], place) => ids.indexOf(id) !== place || ids.lastIndexOf(id) !== place)).toEqual([])
}

/** The chunks of every attempt start at 0 and have no gap. */
function areContiguous(chunks: readonly string[]): boolean {
  return chunks.every((chunk, index) => {
    const [attempt, place] = chunk.split(' ').map(Number)
    if (place === 0) return true
    const [before, last] = (chunks[index - 1] ?? '').split(' ').map(Number)
    return before === attempt && last === (place ?? 0) - 1
  })
}

function passagesOf(seen: readonly Observed[]): readonly (Passage & Observed)[] {
  return seen
    .filter((one): one is Passage & Observed => 'at' in one)
    .toSorted((one, other) => one.at - other.at)
}
